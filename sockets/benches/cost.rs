// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the user backend costs: processor time and memory for 100 busy connections, the two
//! ways to find sockets, and one look. Needs no privilege, and the loopback device alone:
//!
//! ```text
//! cargo bench -p ebb-sockets --bench cost
//! ```

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_sockets::{Governor, Options, Root};

const CONNECTIONS: usize = 100;
/// Everybody reads so much so often: about 1 Mbit/s each.
const PIECE_BYTES: usize = 12_500;
const PAUSE: Duration = Duration::from_millis(100);
const MEASURED: Duration = Duration::from_secs(10);
/// The share of a core and the memory that are allowed.
const MOST_CPU: f64 = 0.01;
const MOST_MEMORY_KB: u64 = 20_000;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

fn main() {
    if std::env::args().any(|argument| argument == "load") {
        return load();
    }
    let mut child = Command::new(std::env::current_exe().expect("own program"))
        .arg("load")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the load starts");
    let mut port = [0; 2];
    let output = child.stdout.as_mut().expect("stdout is piped");
    output.read_exact(&mut port).expect("the load is ready");
    let is_cheap = govern(child.id(), u16::from_ne_bytes(port));
    compare_searches(child.id());
    drop(child.stdin.take());
    let _ = child.kill();
    let _ = child.wait();
    assert!(is_cheap, "the user backend costs more than it may");
}

/// A process with both ends of many connections that move slowly.
fn load() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let pairs: Vec<(TcpStream, TcpStream)> = (0..CONNECTIONS)
        .map(|_| {
            let client = TcpStream::connect(address).expect("loopback");
            (client, listener.accept().expect("connected").0)
        })
        .collect();
    let port = address.port().to_ne_bytes();
    let told = std::io::stdout().write_all(&port);
    told.and_then(|()| std::io::stdout().flush())
        .expect("stdout");
    let mut piece = vec![0; PIECE_BYTES];
    for (client, server) in &pairs {
        client.set_nonblocking(true).expect("a socket");
        server.set_nonblocking(true).expect("a socket");
    }
    loop {
        // What does not fit is left out: the rates need not be exact.
        for (_, server) in &pairs {
            let _ = (&mut &*server).write(&piece);
        }
        std::thread::sleep(PAUSE / 4);
        for (client, _) in &pairs {
            let _ = (&mut &*client).read(&mut piece);
        }
        std::thread::sleep(PAUSE * 3 / 4);
    }
}

fn govern(pid: u32, server_port: u16) -> bool {
    let options = Options {
        download: Some(Policy::receiver("sampled").expect("a law")),
        upload: Some(Policy::sender("paced").expect("a law")),
        // One end of each connection.
        filter: Some(Box::new(move |(own, _, _)| own.1 != server_port)),
        includes_loopback: true,
        ..Options::default()
    };
    let mut governor = Governor::new(Root::Process(pid), options).expect("the load is there");
    governor.tick();
    let (began, cpu_before) = (Instant::now(), cpu());
    let before = governor.counters().clone();
    while began.elapsed() < MEASURED {
        let next = governor.tick();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    let moved = governor.counters().received_bytes - before.received_bytes;
    let megabits_per_s = moved as f64 * 8e-6 / elapsed_s;
    let share = (cpu() - cpu_before).as_secs_f64() / elapsed_s;
    let looks = (governor.counters().looks - before.looks) as f64;
    let memory_kb = memory_kb();
    let (connections, looks_per_s) = (governor.connections(), looks / elapsed_s);
    println!(
        "{connections} connections: {:.2} % of a core (at most {:.0} %), \
         {looks_per_s:.0} looks/s, {megabits_per_s:.0} Mbit/s, {:.1} MB (at most {:.0})",
        100.0 * share,
        100.0 * MOST_CPU,
        memory_kb as f64 / 1e3,
        MOST_MEMORY_KB as f64 / 1e3,
    );
    share <= MOST_CPU && memory_kb <= MOST_MEMORY_KB
}

/// A search by /proc against one by sock_diag, which still has to be told whose they are.
fn compare_searches(pid: u32) {
    let by_proc = mean(|| {
        let directory = format!("/proc/{pid}/fd");
        let entries = std::fs::read_dir(directory).expect("the load is there");
        for entry in entries.flatten() {
            let _ = black_box(std::fs::read_link(entry.path()));
        }
    });
    let by_diag = mean(|| {
        black_box(dump());
    });
    println!(
        "a search: /proc/PID/fd {:.0} us; sock_diag {:.0} us for {} sockets of the machine, \
         without their processes",
        by_proc,
        by_diag,
        dump()
    );
}

fn mean(mut what: impl FnMut()) -> f64 {
    const TIMES: u32 = 200;
    let began = Instant::now();
    (0..TIMES).for_each(|_| what());
    began.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
}

/// Asks sock_diag for all TCP sockets over IPv4 with TCP_INFO; answers how many there are.
fn dump() -> usize {
    // SAFETY: makes a descriptor, which is ours alone.
    let socket = unsafe {
        let number = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_SOCK_DIAG,
        );
        OwnedFd::from_raw_fd(number)
    };
    let request = request();
    // SAFETY: the buffer is as long as is said.
    unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        );
    }
    count_answers(&socket)
}

/// struct nlmsghdr, then struct inet_diag_req_v2.
fn request() -> [u8; 72] {
    let mut request = [0_u8; 72];
    request[..4].copy_from_slice(&72_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[16] = libc::AF_INET as u8;
    request[17] = libc::IPPROTO_TCP as u8;
    request[18] = 1 << 1; // INET_DIAG_INFO
    request[20..24].copy_from_slice(&0xffff_ffff_u32.to_ne_bytes());
    request
}

/// Reads up to the message that ends a dump; each before it is a socket.
fn count_answers(socket: &OwnedFd) -> usize {
    let mut answer = vec![0_u8; 1 << 16];
    let mut count = 0;
    loop {
        // SAFETY: the buffer is as long as is said.
        let length = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                answer.as_mut_ptr().cast(),
                answer.len(),
                0,
            )
        };
        let mut rest = &answer[..usize::try_from(length).unwrap_or(0)];
        while rest.len() >= 16 {
            let size = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let kind = u16::from_ne_bytes([rest[4], rest[5]]);
            if kind != SOCK_DIAG_BY_FAMILY || size < 16 {
                return count;
            }
            count += 1;
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
        if length <= 0 {
            return count;
        }
    }
}

fn cpu() -> Duration {
    // SAFETY: the kernel fills in plain integers.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let time = |it: libc::timeval| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1_000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .expect("every process has a size")
}
