// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real transfers over a link of 10 Mbit/s, in network namespaces.

#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../kernel/tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_sockets::{Kind, sockets_of};
use support::{Cable, Side};

/// Says who it is, receives everything, says how much that was.
const RECEIVER: &str = "
import os, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(os.getpid(), flush=True)
count = 0
while True:
    piece = s.recv(65536)
    if not piece:
        break
    count += len(piece)
print(count, flush=True)
";

/// A link, and a place where `ebb` would note what is attached.
pub struct Scene {
    cable: Cable,
    pub registry: tempfile::TempDir,
}

/// A program that receives, under another one or not, and who sends to it.
pub struct Receiver {
    child: Child,
    output: BufReader<ChildStdout>,
    pub pid: u32,
    sender: Sender,
}

/// Sends until it is told that it is enough.
struct Sender {
    is_enough: Arc<AtomicBool>,
    /// Answers how many bytes there were.
    thread: Option<JoinHandle<usize>>,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            cable: Cable::with_bottleneck(10, 60_000),
            registry: tempfile::tempdir().unwrap(),
        }
    }

    /// Starts a program that receives, with these words before its own.
    pub fn receive(&self, before: &[&str]) -> Receiver {
        let (address, sender) = self.listen();
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let words = [before, &["python3", "-c", RECEIVER, &ip, &port]].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env("EBB_RUNTIME_DIR", self.registry.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = self.on_side(Side::Right, || command.spawn().unwrap());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        Receiver {
            child,
            output,
            pid: line.trim().parse().unwrap(),
            sender,
        }
    }

    fn listen(&self) -> (SocketAddr, Sender) {
        let address = self.cable.ipv4(Side::Left);
        let listener = self.on_side(Side::Left, || TcpListener::bind((address, 0)).unwrap());
        let bound = listener.local_addr().unwrap();
        let is_enough = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_enough);
        let send = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut count = 0;
            while !told.load(Ordering::Relaxed) {
                match stream.write(&[1; 8_192]) {
                    Ok(length) => count += length,
                    Err(_) => break,
                }
            }
            count
        };
        let thread = Some(std::thread::spawn(send));
        (bound, Sender { is_enough, thread })
    }

    fn on_side<T: Send>(&self, side: Side, act: impl FnOnce() -> T + Send) -> T {
        let there = || {
            self.cable.enter(side);
            act()
        };
        std::thread::scope(|scope| scope.spawn(there).join().unwrap())
    }
}

impl Receiver {
    /// The largest window clamp of its connection in the coming time.
    pub fn largest_clamp(&self, time: Duration) -> u32 {
        let end = Instant::now() + time;
        let mut largest = 0;
        while Instant::now() < end {
            largest = largest.max(self.clamp());
            std::thread::sleep(Duration::from_millis(20));
        }
        largest
    }

    /// The window clamp of its connection.
    pub fn clamp(&self) -> u32 {
        let mut sockets = sockets_of(self.pid).unwrap();
        let socket = sockets.find(|socket| matches!(socket.kind(), Kind::Tcp));
        socket.unwrap().window_clamp().unwrap()
    }

    /// Ends the transfer: all that was sent must have arrived.
    pub fn finish(mut self) {
        let sent = self.sender.finish();
        assert!(sent > 100_000, "{sent} bytes only");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.trim(), sent.to_string());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Receiver {
    /// A test that fails leaves nobody waiting for bytes that no link carries any more.
    fn drop(&mut self) {
        let pid = i32::try_from(self.pid).unwrap();
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // SAFETY: sends a signal to a child of ours, or to one of such a child.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

impl Sender {
    fn finish(&mut self) -> usize {
        self.is_enough.store(true, Ordering::Relaxed);
        self.thread
            .take()
            .map_or(0, |thread| thread.join().unwrap())
    }
}
