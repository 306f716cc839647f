// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process with very many connections, and another one with their other ends.

use super::process::{Actor, Role, say, set_limit};
use super::{Cable, Side};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const PIECE_BYTES: usize = 1_000;
/// What arrives is read so often.
const READ_EVERY: Duration = Duration::from_millis(200);
/// For what a process has open besides.
const OTHER_DESCRIPTORS: u64 = 64;

/// Connections from the left to a server on the right, which is in the cable's cgroup.
pub struct Many {
    pub server: Actor,
    pub client: Actor,
}

impl Many {
    /// So many of them; each brings a kilobyte in every pause.
    pub fn lay(cable: &Cable, count: usize, pause: Duration) -> Self {
        let host = cable.ipv4(Side::Right);
        let arguments = format!("{count} {host}");
        let mut server = Actor::start(cable, Some(&cable.cgroup), Role::AcceptMany, &arguments);
        let address = server.told("LISTENING");
        let arguments = format!("{count} {address} {}", pause.as_millis());
        let mut client = Actor::start_on(cable, Side::Left, None, Role::ConnectMany, &arguments);
        client.told("CONNECTED");
        server.told("ACCEPTED");
        Self { server, client }
    }
}

/// Accepts `count address`, and reads what they bring.
pub fn accept(arguments: &str) {
    let [count, host] = words(arguments);
    let count: usize = count.parse().unwrap();
    set_limit(libc::RLIMIT_NOFILE, count as u64 + OTHER_DESCRIPTORS);
    let listener = TcpListener::bind((host, 0)).unwrap();
    say(&format!("LISTENING {}", listener.local_addr().unwrap()));
    let mut streams: Vec<TcpStream> = (0..count).map(|_| listener.accept().unwrap().0).collect();
    for stream in &streams {
        stream.set_nonblocking(true).unwrap();
    }
    say("ACCEPTED");
    let mut buffer = [0; 1 << 14];
    loop {
        streams.retain_mut(|stream| match stream.read(&mut buffer) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        });
        std::thread::sleep(READ_EVERY);
    }
}

/// Connects `count address pause_ms`, and sends a piece on each in every pause.
pub fn connect(arguments: &str) {
    let [count, address, pause_ms] = words(arguments);
    let count: usize = count.parse().unwrap();
    set_limit(libc::RLIMIT_NOFILE, count as u64 + OTHER_DESCRIPTORS);
    let mut streams: Vec<TcpStream> = (0..count)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    say("CONNECTED");
    let pause = Duration::from_millis(pause_ms.parse().unwrap());
    let piece = [0; PIECE_BYTES];
    loop {
        // A little at a time, as from many places.
        for some in streams.chunks_mut(count.div_ceil(10).max(1)) {
            for stream in some {
                let _ = stream.write(&piece);
            }
            std::thread::sleep(pause / 10);
        }
    }
}

fn words<const N: usize>(arguments: &str) -> [&str; N] {
    let words: Vec<&str> = arguments.split(' ').collect();
    words.try_into().unwrap()
}
