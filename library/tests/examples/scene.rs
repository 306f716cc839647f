// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A link for each program, a server that has more than anybody wants, and somebody else.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_host::{TcpInfo, copies_of_sockets};
use ebb_lab::emulator::CLIENT_IPV4;
use ebb_lab::emulator::{Path, PathReport, PathSpec, SERVER_IPV4, Testbed};
use ebb_lab::judging::Attempt;
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};

use crate::greedy::{Others, send, serve};

/// Less than best effort: the program.
const OURS: u16 = 8_081;
/// Best effort: one greedy download.
const OTHERS: u16 = 8_080;

/// Somebody's constant stream, which loses nothing and lets nobody else lose anything. When it ends
/// the program is taken to the foreground.
const STREAM: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(10)];
/// Alone in the background, once the start is over.
const ALONE: [Duration; 2] = [Duration::from_secs(4), STREAM[0]];
/// Five round trips later.
const FOREGROUND: [Duration; 2] = [Duration::from_millis(10_500), Duration::from_secs(12)];
/// In the background again, as in the case "greedy, BE second" of ebb/user others come to who was
/// alone. What was granted in the foreground is used up by then: Linux grants two segments more for
/// each that comes, so that takes twice as long as the foreground did, at the most.
const BESIDE: [Duration; 2] = [Duration::from_secs(17), Duration::from_secs(29)];
/// Once others have found their rate.
const SETTLED: [Duration; 2] = [Duration::from_secs(21), BESIDE[1]];
/// In the foreground beside them, five round trips after it was taken there.
const SHARED: [Duration; 2] = [Duration::from_millis(29_500), Duration::from_secs(33)];
/// The report's last bins may be short.
const END: Duration = Duration::from_millis(33_200);

/// The user backend's bound, of 60 s (docs/user-backend.md): what others have of the payload. Here
/// it holds once they are settled, and what is taken from them until then is no more than in 60 s.
const OTHERS_SHARE: f64 = 0.97;
const OTHERS_SHARE_OVER_S: f64 = 60.0;
/// Of the link, alone in the background.
const ALONE_SHARE: f64 = 0.95;
/// In the foreground, of the link, or of what the sender's congestion window was of the link's when the
/// connection was taken there, if that was less: a plain receiver would get no more from there. It
/// does not grow while the connection is held back, and each loss takes 0.3 of it.
const FOREGROUND_SHARE: f64 = 0.95;
/// In the foreground beside a greedy flow, of the link. It is on its way to half of it, which takes
/// CUBIC longer from a window as small as that of who yielded.
const SHARED_SHARE: f64 = 0.1;
/// What is advertised by then: more than the link carries in a round trip, so that it is the sender
/// who decides.
const FOREGROUND_WINDOW_BYTES: u32 = 150_000;
const STREAM_MBIT_PER_S: f64 = 8.0;
const LINK_MBIT_PER_S: f64 = 10.0;
const RTT_S: f64 = 0.1;

/// A program that fetches from HOST:PORT, which is its last argument: it says `ready`, and goes to
/// the `foreground` and to the `background` as lines on its standard input say, which it repeats.
#[derive(Clone)]
pub struct Program {
    name: String,
    words: Vec<String>,
}

impl Program {
    /// An example of this crate, as `cargo test` builds it.
    #[allow(dead_code, reason = "each test program has this module for itself")]
    pub fn example(name: &str) -> Self {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap();
        let example: PathBuf = built.join("examples").join(name);
        assert!(
            example.exists(),
            "{}: 'cargo test --test' does not build it: cargo build -p ebb-library --examples",
            example.display()
        );
        Self::new(name, &[example.to_str().unwrap()])
    }

    /// Any program.
    pub fn new(name: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let name = name.to_owned();
        Self { name, words }
    }
}

/// Runs all side by side, and tells what is wrong.
pub fn measure(programs: &[Program]) -> Attempt {
    let testbed = Testbed::start(vec![path(); programs.len()]).unwrap();
    let started = testbed.paths().iter().zip(programs);
    let mut fetching: Vec<Fetching> = started
        .map(|(path, program)| Fetching::start(path, program))
        .collect();
    fetching.iter_mut().for_each(|it| it.expect("ready\n"));
    let began = Instant::now();
    wait_until(began + STREAM[0]);
    let streams: Vec<Stream> = testbed.paths().iter().map(Stream::begin).collect();
    wait_until(began + STREAM[1]);
    drop(streams);
    let allowed: Vec<f64> = fetching.iter().map(Fetching::share_of_sender).collect();
    fetching.iter_mut().for_each(|it| it.go("foreground\n"));
    wait_until(began + FOREGROUND[0]);
    let windows: Vec<u32> = fetching.iter().map(Fetching::window_bytes).collect();
    wait_until(began + FOREGROUND[1]);
    fetching.iter_mut().for_each(|it| it.go("background\n"));
    wait_until(began + BESIDE[0]);
    let paths = testbed.paths().iter();
    let others: Vec<Others> = paths.map(|it| Others::begin_download(it, OTHERS)).collect();
    wait_until(began + BESIDE[1]);
    fetching.iter_mut().for_each(|it| it.go("foreground\n"));
    wait_until(began + END);
    let began = began - testbed.epoch_instant();
    let report = testbed.stop().unwrap();
    drop((fetching, others));
    eprintln!("{}", report.summary());
    let free = windows.into_iter().zip(allowed);
    let seen = report.paths.iter().zip(programs).zip(free);
    let wrong = seen.flat_map(|((path, it), free)| what_is_wrong(&it.name, path, began, free));
    Attempt::over(&report, wrong.collect())
}

/// The last argument is what is advertised in the foreground, and what the sender allowed when it was
/// taken there.
fn what_is_wrong(
    name: &str,
    path: &PathReport,
    began: Duration,
    (window_bytes, allowed): (u32, f64),
) -> Vec<String> {
    let rate = |class, span: [Duration; 2]| mbit_per_s(path, class, span.map(|at| began + at));
    let ours = |span| rate(Class::LessThanBestEffort, span) / LINK_MBIT_PER_S;
    let (alone, foreground, shared) = (ours(ALONE), ours(FOREGROUND), ours(SHARED));
    let theirs = rate(Class::BestEffort, SETTLED) / LINK_MBIT_PER_S;
    let share = theirs / (theirs + ours(SETTLED));
    let taken_s = ours(BESIDE) * (BESIDE[1] - BESIDE[0]).as_secs_f64();
    let told = format!(
        "{name}: {alone:.3} of the link alone, {foreground:.3} in the foreground, with a window of \
         {window_bytes} and {allowed:.3} by the sender's; others had {share:.3}, {taken_s:.2} s were \
         taken from them; {shared:.3} in the foreground beside them"
    );
    eprintln!("{told}");
    let yields = share >= OTHERS_SHARE && taken_s <= (1.0 - OTHERS_SHARE) * OTHERS_SHARE_OVER_S;
    let is_free = foreground >= FOREGROUND_SHARE * allowed
        && window_bytes >= FOREGROUND_WINDOW_BYTES
        && shared >= SHARED_SHARE;
    let is_right = yields && alone >= ALONE_SHARE && is_free;
    (!is_right).then_some(told).into_iter().collect()
}

fn mbit_per_s(path: &PathReport, class: Class, [from, until]: [Duration; 2]) -> f64 {
    let series = &path.forward.series;
    let at = |time: Duration| series.epoch + Nanos(time.as_nanos() as u64);
    let bytes = series.between(class, at(from), at(until)).sent_bytes;
    bytes as f64 * 8e-6 / (until - from).as_secs_f64()
}

/// The link of the figures: 10 Mbit/s with a queue of 86 packets and RTT 100 ms.
fn path() -> PathSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
    let link = || LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link(), link())
    }
}

/// Answers any request with more than anybody wants.
fn answer(mut stream: &TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        request.push(byte[0]);
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
                Connection: close\r\n\r\n";
    if stream.write_all(head.as_bytes()).is_ok() {
        send(stream);
    }
}

struct Fetching {
    name: String,
    child: Child,
    /// The server's end of its connection.
    sender: Arc<Mutex<Option<TcpStream>>>,
}

impl Fetching {
    fn start(path: &Path, program: &Program) -> Self {
        path.set_class(OURS, Class::LessThanBestEffort);
        let sender = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&sender);
        serve(path.server(), (SERVER_IPV4, OURS), move |stream| {
            *kept.lock().unwrap() = stream.try_clone().ok();
            answer(stream);
        });
        let mut command = path.client().command(&program.words[0]);
        let command = command.args(&program.words[1..]);
        let command = command.arg(format!("{SERVER_IPV4}:{OURS}"));
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self {
            name: program.name.clone(),
            child: streams.spawn().unwrap(),
            sender,
        }
    }

    /// Has it do something, which it tells when it is done.
    fn go(&mut self, where_to: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(where_to.as_bytes()).unwrap();
        self.expect(where_to);
    }

    /// Of the link, what the sender's congestion window would let it have without a queue.
    fn share_of_sender(&self) -> f64 {
        let sender = self.sender.lock().unwrap();
        let socket = sender.as_ref().expect("it was fetching before");
        let info = TcpInfo::read(socket.as_fd()).unwrap();
        let bytes = f64::from(info.snd_cwnd) * f64::from(info.pmtu);
        (bytes * 8e-6 / RTT_S / LINK_MBIT_PER_S).min(1.0)
    }

    /// What its connection advertises.
    fn window_bytes(&self) -> u32 {
        let sockets = copies_of_sockets(self.child.id()).unwrap();
        let infos = sockets.filter_map(|it| TcpInfo::read(it.as_fd()).ok());
        let windows = infos.map(|info| info.rcv_wnd);
        windows.max().unwrap_or(0)
    }

    fn expect(&mut self, said: &str) {
        let mut line = vec![0; said.len()];
        let output = self.child.stdout.as_mut().unwrap();
        let read = output.read_exact(&mut line);
        read.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(line, said.as_bytes(), "{}", self.name);
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        // They end with their input; the one that does not is ended.
        drop(self.child.stdin.take());
        std::thread::sleep(Duration::from_millis(100));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Datagrams at a constant rate, until it is dropped.
struct Stream(Option<JoinHandle<()>>, Arc<AtomicBool>);

impl Stream {
    fn begin(path: &Path) -> Self {
        let socket = path
            .server()
            .run_in(|| UdpSocket::bind((SERVER_IPV4, OTHERS)));
        let socket = socket.unwrap().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let payload = [0; 1_472];
        let gap_s = 1_500.0 * 8e-6 / STREAM_MBIT_PER_S;
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            for number in 0.. {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                wait_until(began + Duration::from_secs_f64(gap_s * f64::from(number)));
                // Nobody listens: what comes back is no matter.
                let _ = socket.send_to(&payload, (CLIENT_IPV4, OTHERS));
            }
        });
        Self(Some(thread), is_over)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
        let _ = self.0.take().map(JoinHandle::join);
    }
}

fn wait_until(time: Instant) {
    std::thread::sleep(time.saturating_duration_since(Instant::now()));
}
