// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many connections, and few descriptors to look at them with. A process has one limit, so its
//! tests take turns.
//!
//! The test program is its own helper: `EBB_TEST_ROLE` says what it is to do.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_sockets::{
    CopiedSocket, Direction, Flow, Governor, Kind, Note, Options, Root, Terms, sockets_of,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

const NO_CLAMP_BYTES: u32 = 1 << 30;
/// Below it is Ebb's first window only.
const LIMITED_BYTES: u32 = 1 << 15;
/// There are more than twice as many connections.
const FEW: u64 = 256;
const PROGRAMS: usize = 3;
const OF_ONE: usize = 200;
const PATIENCE: Duration = Duration::from_secs(60);

static TURN: Mutex<()> = Mutex::new(());

/// Not a test: what the helper processes do until their standard input ends.
#[test]
fn play_a_role() {
    let Ok(role) = std::env::var("EBB_TEST_ROLE") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut streams: Vec<TcpStream> = Vec::new();
    if role == "serve" {
        println!("\n{}", listener.local_addr().unwrap());
        for _ in 0..PROGRAMS * OF_ONE {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&[1; 1_000]).unwrap();
            streams.push(stream);
        }
    } else {
        println!("\nready");
        let _ = std::io::stdin().read(&mut [0]);
        streams.extend((0..OF_ONE).map(|_| TcpStream::connect(&role).unwrap()));
        // The server has accepted those that it has written to: both ends are somebody's.
        for stream in &streams {
            stream.peek(&mut [0]).unwrap();
        }
        println!("\nconnected");
    }
    let _ = std::io::stdin().read(&mut [0]);
    std::process::exit(0);
}

/// Ends with the test.
struct Helper {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Helper {
    fn start(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["play_a_role", "--exact", "--nocapture"]);
        command.env("EBB_TEST_ROLE", role);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut says = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = says.by_ref().map_while(Result::ok);
        let is_said = |line: &String| line.starts_with("127.0.0.1") || line == "ready";
        let address = lines.into_iter().find(is_said).unwrap();
        Self {
            child,
            says,
            address,
        }
    }

    fn connect(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(&[1]).unwrap();
        let mut lines = self.says.by_ref().map_while(Result::ok);
        assert!(lines.any(|line| line == "connected"));
    }

    fn connected(server: &Self) -> Self {
        let mut helper = Self::start(&server.address);
        helper.connect();
        helper
    }

    fn clamps(&self) -> Vec<u32> {
        let sockets = sockets_of(self.child.id()).into_iter().flatten();
        let clamp = |socket: ebb_sockets::CopiedSocket| socket.window_clamp().unwrap();
        let is_open = |socket: &ebb_sockets::CopiedSocket| {
            socket.kind() == Kind::Tcp && socket.ends().is_some()
        };
        sockets.filter(is_open).map(clamp).collect()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The limit of this process, put back at the end.
struct Limit(u64, u64);

impl Limit {
    fn of(most: u64) -> Self {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, most, hard).unwrap();
        Self(soft, hard)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        setrlimit(Resource::RLIMIT_NOFILE, self.0, self.1).unwrap();
    }
}

/// What a guardian would be told.
type Heard = Arc<Mutex<HashSet<u64>>>;

fn governor(root: Root, port: u16) -> (Governor, Heard) {
    let heard = Heard::default();
    let told = heard.clone();
    let options = Options {
        download: Some(Policy::receiver("sampled").unwrap()),
        upload: Some(Policy::sender("paced").unwrap()),
        filter: Some(Box::new(move |(_, peer, _)| peer.1 == port)),
        journal: Some(Box::new(move |note| {
            let mut held = told.lock().unwrap();
            match note {
                Note::Held(hold) => held.insert(hold.cookie),
                Note::Free(cookie) => held.remove(&cookie),
            };
        })),
        includes_loopback: true,
        ..Options::default()
    };
    (Governor::new(root, options).unwrap(), heard)
}

fn until(governor: &mut Governor, what: &str, mut is_so: impl FnMut(&Governor) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let next = governor.tick();
        if is_so(governor) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "not within {PATIENCE:?}: {what}; {} connections, {:?}",
            governor.connections(),
            governor.counters()
        );
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn port_of(server: &Helper) -> u16 {
    server.address.rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn six_hundred_connections_are_governed_with_256_descriptors_and_none_stays_clamped() {
    let _turn = turn();
    let server = Helper::start("serve");
    let clients: Vec<Helper> = (0..PROGRAMS).map(|_| Helper::connected(&server)).collect();
    let limit = Limit::of(FEW);
    let (mut governor, heard) = governor(Root::DescendantsOf(std::process::id()), port_of(&server));
    let all = PROGRAMS * OF_ONE;
    let clamps = || clients.iter().flat_map(Helper::clamps).collect::<Vec<_>>();
    let is_limited = |flow: &Flow| flow.direction == Direction::Down && flow.is_limited;
    until(&mut governor, "limited", |governor| {
        governor.flows().into_iter().filter(is_limited).count() == all
    });
    assert!(clamps().iter().any(|clamp| *clamp < LIMITED_BYTES));
    let counters = governor.counters().clone();
    assert_eq!((counters.connections, counters.unreached), (600, 0));
    assert_eq!(heard.lock().unwrap().len(), all);
    governor.release();
    assert_eq!(clamps(), vec![NO_CLAMP_BYTES; all]);
    assert!(heard.lock().unwrap().is_empty());
    assert_eq!(governor.take_notices(), Vec::<String>::new());
    drop(limit);
}

/// The machine may run out of them as well, which is nobody's fault here.
#[test]
fn without_any_descriptor_nothing_is_let_go_unsaid_and_what_is_missed_is_counted() {
    let _turn = turn();
    let server = Helper::start("serve");
    let first = Helper::connected(&server);
    let mut second = Helper::start(&server.address);
    let (mut governor, heard) = governor(Root::DescendantsOf(std::process::id()), port_of(&server));
    let is_free = |helper: &Helper| helper.clamps().iter().all(|it| *it >= LIMITED_BYTES);
    until(&mut governor, "limited", |governor| {
        governor.connections() == OF_ONE && !is_free(&first)
    });
    let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;

    let limit = Limit::of(0);
    second.connect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let next = governor.tick();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    // The server's ends as well: without a look nobody knows that they are not meant.
    assert_eq!(governor.counters().unreached, 2 * OF_ONE as u64);
    governor.release();
    assert_eq!(governor.connections(), OF_ONE, "limits cannot be lifted");
    assert_eq!(heard.lock().unwrap().len(), OF_ONE, "nor is it said");
    let notices = governor.take_notices();
    assert!(
        notices.len() == 1 && notices[0].contains("ulimit -n"),
        "{notices:?}"
    );
    drop(limit);
    assert!(used < FEW && !is_free(&first), "{used} descriptors");

    // Once there are some again it goes on.
    until(&mut governor, "the others", |governor| {
        governor.connections() == 2 * OF_ONE && governor.counters().unreached == 0
    });
    governor.release();
    assert!(is_free(&first) && is_free(&second));
    assert!(heard.lock().unwrap().is_empty());
}

#[test]
fn what_could_not_be_let_go_without_descriptors_is_soon_when_nothing_else_is_given() {
    let _turn = turn();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    other.write_all(&[1; 1_000]).unwrap();
    assert!(own.peek(&mut [0; 1_000]).unwrap() > 0);
    let options = Options {
        includes_loopback: true,
        ..Options::default()
    };
    let mut governor = Governor::new(Root::Own, options).unwrap();
    let terms = Terms {
        download: Some(Policy::receiver("sampled").unwrap()),
        ..Terms::default()
    };
    let clamp = || {
        let copy = CopiedSocket::from_own(own.as_raw_fd()).unwrap();
        copy.window_clamp().unwrap()
    };
    governor.give(own.as_fd(), terms).unwrap();
    until(&mut governor, "limited", |_| clamp() < LIMITED_BYTES);

    // All that are below are used; below three none would be asked for.
    let free = own.try_clone().unwrap();
    let limit = Limit::of(free.as_raw_fd().unsigned_abs().into());
    drop(free);
    assert!(governor.take_back(own.as_fd()).unwrap());
    // It is not lifted, and is to be tried again.
    assert!(governor.has_given());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        governor.tick();
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(limit);
    assert!(governor.has_given() && clamp() < LIMITED_BYTES);
    let began = Instant::now();
    while clamp() != NO_CLAMP_BYTES && began.elapsed() < Duration::from_secs(3) {
        governor.tick();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(clamp(), NO_CLAMP_BYTES);
    assert!(!governor.has_given());
}
