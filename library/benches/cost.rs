// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the library costs a program: the time of each call, processor time of its thread and memory
//! for 100 sockets that move and for 100 that do not. Needs no privilege where users may have
//! namespaces of their own:
//!
//! ```text
//! cargo bench -p ebb-library --bench cost
//! ```

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use ebb_lab::namespace::NamespaceHandle;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect as connect_to, socket,
};

const CONNECTIONS: usize = 100;
/// Everybody reads so much so often: about 1 Mbit/s each.
const PIECE_BYTES: usize = 12_500;
const PAUSE: Duration = Duration::from_millis(100);
const MEASURED: Duration = Duration::from_secs(8);
/// Each call is made so often for each socket.
const ROUNDS: u32 = 20;
/// What is allowed.
const MOST_CALL_US: f64 = 10.0;
const MOST_CPU: f64 = 0.01;
const MOST_MEMORY_KB: u64 = 1_000;

/// Both are of this machine, but not of the loopback device's own network, which is left alone.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

fn main() {
    enter_network();
    let listener = TcpListener::bind((SERVER, 0)).expect("an address of ours");
    let port = listener.local_addr().expect("bound").port();
    let pairs: Vec<(TcpStream, TcpStream)> = (0..CONNECTIONS)
        .map(|_| {
            let client = connect(port);
            (client, listener.accept().expect("connected").0)
        })
        .collect();
    let mut piece = vec![0; PIECE_BYTES];
    move_for(Duration::from_secs(1), &pairs, &mut piece);
    let memory_before_kb = memory_kb();
    for (client, _) in &pairs {
        ebb::background(client).expect("a TCP socket");
    }
    move_for(Duration::from_secs(1), &pairs, &mut piece);
    let moving = share(|| move_for(MEASURED, &pairs, &mut piece));
    let memory_kb = memory_kb().saturating_sub(memory_before_kb);
    let calls_us = calls(&pairs);
    let idle = share(|| thread::sleep(MEASURED));
    let governed = pairs.iter().filter(|pair| is_governed(&pair.0)).count();
    println!(
        "{governed} sockets: {:.2} % of a core while they move, {:.2} % while they do not (at most \
         {:.0} %), {memory_kb} kB (at most {MOST_MEMORY_KB})",
        100.0 * moving,
        100.0 * idle,
        100.0 * MOST_CPU,
    );
    for (call, [median, most]) in ["background", "state", "foreground"].iter().zip(calls_us) {
        println!("{call}: {median:.1} us (at most {MOST_CALL_US:.0}), 99 % within {most:.1}");
    }
    assert_eq!(governed, CONNECTIONS, "all are governed");
    assert!(moving.max(idle) <= MOST_CPU, "the thread costs too much");
    assert!(memory_kb <= MOST_MEMORY_KB, "it has too much memory");
    assert!(calls_us.iter().all(|us| us[0] <= MOST_CALL_US), "too slow");
}

/// Times of the calls, one socket after the other: the median and the 99th percentile.
fn calls(pairs: &[(TcpStream, TcpStream)]) -> [[f64; 2]; 3] {
    let mut us = [Vec::new(), Vec::new(), Vec::new()];
    let pause = || thread::sleep(PAUSE / 2);
    for _ in 0..ROUNDS {
        us[1].extend(pairs.iter().map(|it| time_us(|| ebb::state(&it.0))));
        us[2].extend(pairs.iter().map(|it| time_us(|| ebb::foreground(&it.0))));
        pause();
        us[0].extend(pairs.iter().map(|it| time_us(|| ebb::background(&it.0))));
        pause();
    }
    us.map(|mut us| {
        us.sort_by(f64::total_cmp);
        [us[us.len() / 2], us[us.len() * 99 / 100]]
    })
}

fn time_us<R>(call: impl FnOnce() -> ebb::Result<R>) -> f64 {
    let began = Instant::now();
    call().expect("a TCP socket");
    began.elapsed().as_secs_f64() * 1e6
}

fn is_governed(socket: &TcpStream) -> bool {
    ebb::state(socket).is_ok_and(|state| state.standing == ebb::Standing::Background)
}

fn move_for(time: Duration, pairs: &[(TcpStream, TcpStream)], piece: &mut [u8]) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        // What does not fit is left out: the rates need not be exact.
        for (_, server) in pairs {
            let _ = (&mut &*server).write(piece);
        }
        thread::sleep(PAUSE / 4);
        for (client, _) in pairs {
            let _ = (&mut &*client).read(piece);
        }
        thread::sleep(PAUSE * 3 / 4);
    }
}

/// Of a core, of the library's thread.
fn share(what: impl FnOnce()) -> f64 {
    let (began, before) = (Instant::now(), thread_time());
    what();
    (thread_time() - before).as_secs_f64() / began.elapsed().as_secs_f64()
}

fn thread_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc is mounted");
    let mut tasks = tasks.map(|task| task.expect("a thread").path());
    let is_ours = |name: String| name.trim() == "ebb";
    let task = tasks.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(is_ours));
    let times = fs::read_to_string(task.expect("it runs").join("schedstat"));
    let times = times.expect("the kernel counts");
    let ns = times.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("a number"))
}

fn memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .expect("every process has a size")
}

/// A network of this process alone.
fn enter_network() {
    let network = if nix::unistd::geteuid().is_root() {
        let network = NamespaceHandle::create().expect("root may");
        network.enter().expect("root may");
        network
    } else {
        ebb_lab::without_root::enter_namespaces().expect("as the message says");
        NamespaceHandle::of_current_thread().expect("/proc is mounted")
    };
    let addresses =
        format!("link set lo up\naddr add {SERVER}/32 dev lo\naddr add {CLIENT}/32 dev lo\n");
    network.ip(&addresses).expect("a network of its own");
}

/// A connection to the server from the other address.
fn connect(port: u16) -> TcpStream {
    let (family, kind) = (AddressFamily::Inet, SockType::Stream);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    let number = socket.as_raw_fd();
    bind(number, &address(CLIENT, 0)).expect("it is ours");
    connect_to(number, &address(SERVER, port)).expect("somebody listens");
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true).expect("a socket");
    stream
}

fn address(ip: Ipv4Addr, port: u16) -> SockaddrIn {
    SocketAddrV4::new(ip, port).into()
}
