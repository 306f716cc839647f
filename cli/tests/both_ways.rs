// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer that goes both ways at once yields both ways, on one connection and on two, under
//! both backends: what a fetch beside a push, a backup with its checks, or a mirror does.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{DirectionReport, EmulatorReport, Path, SERVER_IPV4, Testbed};
use ebb_lab::judging::judge;
use ebb_link::{Class, Nanos};
use greedy::{Others, serve, talk_both_ways};
use support::Ebb;
use transfers::{attempt, home_link, path_with, program, words};

mod support;
mod transfers;

#[path = "transfers/greedy.rs"]
mod greedy;

/// Sends and receives as fast as it may, on one connection or on one for each way.
const BOTH_WAYS: &str = "
import socket, sys, threading
where = (sys.argv[1], int(sys.argv[2]))
def send(s):
    while True:
        s.sendall(bytes(65536))
def receive(s):
    while s.recv(65536):
        pass
sending = socket.create_connection(where)
receiving = sending if sys.argv[3] == 'one' else socket.create_connection(where)
print('ready', flush=True)
threading.Thread(target=send, args=(sending,), daemon=True).start()
threading.Thread(target=receive, args=(receiving,), daemon=True).start()
sys.stdin.read()
";

/// Less than best effort: what runs under Ebb.
const OURS: u16 = 8_081;
/// Best effort: everybody else, three transfers each way, from the fourth second on after all
/// that runs under Ebb is connected.
const OTHERS: u16 = 8_080;
const OTHERS_BEGIN: Duration = Duration::from_secs(4);
const END: Duration = Duration::from_secs(14);

struct Yielding(Child);

impl Yielding {
    fn start(path: &Path, ebb: &Ebb, backend: &str, connections: &str) -> Self {
        let (address, port) = (SERVER_IPV4.to_string(), OURS.to_string());
        let own = env!("CARGO_BIN_EXE_ebb");
        let all = words([
            own,
            "run",
            "--backend",
            backend,
            "--",
            "python3",
            "-c",
            BOTH_WAYS,
            &address,
            &port,
            connections,
        ]);
        let mut command = program(path.client(), &all);
        command.envs(ebb.environment());
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(streams.spawn().unwrap())
    }

    /// Waits until it is connected.
    fn wait(&mut self) {
        let mut line = [0; 6];
        let output = self.0.stdout.as_mut().unwrap();
        output.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
    }
}

impl Drop for Yielding {
    fn drop(&mut self) {
        // It reads its input to the end.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

const RUNS: [(&str, &str); 4] = [
    ("kernel", "one"),
    ("kernel", "two"),
    ("user", "one"),
    ("user", "two"),
];

/// Also answers when all that runs under Ebb was connected, since the emulator began.
fn measure() -> (EmulatorReport, Duration) {
    let testbed = Testbed::start(vec![path_with(home_link()); RUNS.len()]).unwrap();
    let ebb = Ebb::new();
    let mut yielding = Vec::new();
    for (path, (backend, connections)) in testbed.paths().iter().zip(RUNS) {
        path.set_class(OURS, Class::LessThanBestEffort);
        serve(path.server(), (SERVER_IPV4, OURS), talk_both_ways);
        Others::expect(path, OTHERS);
        yielding.push(Yielding::start(path, &ebb, backend, connections));
    }
    yielding.iter_mut().for_each(Yielding::wait);
    let began = Instant::now();
    let wait_until =
        |at| std::thread::sleep((began + at).saturating_duration_since(Instant::now()));
    wait_until(OTHERS_BEGIN);
    let paths = testbed.paths().iter();
    let others: Vec<Others> = paths.map(|path| Others::begin(path, OTHERS)).collect();
    wait_until(END);
    let began = began - testbed.epoch_instant();
    let report = testbed.stop().unwrap();
    drop(others);
    (report, began)
}

/// Mean rate in Mbit/s of a class between two times since the emulator began.
fn rate(direction: &DirectionReport, class: Class, [from, until]: [Duration; 2]) -> f64 {
    let series = &direction.series;
    let at = |time: Duration| series.epoch + Nanos(time.as_nanos() as u64);
    let bytes = series.between(class, at(from), at(until)).sent_bytes;
    bytes as f64 * 8.0 / 1e6 / (until - from).as_secs_f64()
}

#[test]
fn what_goes_both_ways_at_once_yields_both_ways() {
    let name = "what_goes_both_ways_at_once_yields_both_ways";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let (report, began) = measure();
        let span = |from_s, until_s| [from_s, until_s].map(|s| began + Duration::from_secs(s));
        let (before, beside_others) = (span(2, 4), span(9, 14));
        let mut wrong = Vec::new();
        for (path, (backend, connections)) in report.paths.iter().zip(RUNS) {
            let mut both_alone = 0.0;
            for (way, direction) in [("down", &path.forward), ("up", &path.reverse)] {
                let alone = rate(direction, Class::LessThanBestEffort, before);
                let beside = rate(direction, Class::LessThanBestEffort, beside_others);
                let others = rate(direction, Class::BestEffort, beside_others);
                let told = format!(
                    "{backend} backend, {connections}, {way}: alone {alone:.2} Mbit/s, beside others \
                     {beside:.2}, those {others:.2}"
                );
                eprintln!("{told}");
                both_alone += alone;
                if beside + others > FULL && beside > LARGEST_PART * others {
                    wrong.push(told);
                }
            }
            if both_alone < ALONE {
                wrong.push(format!(
                    "{backend} backend, {connections}: alone {both_alone:.2} Mbit/s"
                ));
            }
        }
        attempt(wrong, &report)
    });
}

/// Of 10 Mbit/s each way: what both ways have alone after two seconds.
const ALONE: f64 = 3.0;
/// From here on the link is full. It need not be: three transfers overshoot together, and wait for
/// acknowledgements behind the queue of the other way; whoever yields takes what they leave.
const FULL: f64 = 8.5;
/// What is ours of a full link, as a part of what is theirs: one more like them would have a third.
const LARGEST_PART: f64 = 0.25;
