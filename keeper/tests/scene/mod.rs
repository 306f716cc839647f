// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real transfers over a link of 10 Mbit/s, in network namespaces.

#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../kernel/tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use ebb_sockets::{Kind, sockets_of};
use support::{Cable, Side};

/// At 10 Mbit/s some two seconds.
pub const TRANSFER_BYTES: usize = 2_500_000;

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

/// A transfer over a link of 10 Mbit/s.
pub struct Scene {
    cable: Cable,
    /// Where `ebb` would note what is attached.
    pub registry: tempfile::TempDir,
}

/// A program that receives, under the example or not.
pub struct Receiver {
    child: Child,
    output: BufReader<ChildStdout>,
    pub pid: u32,
    sender: JoinHandle<()>,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            cable: Cable::with_bottleneck(10, 60_000),
            registry: tempfile::tempdir().unwrap(),
        }
    }

    /// Sends the bounded transfer to whoever connects.
    fn listen(&self) -> (SocketAddr, JoinHandle<()>) {
        let address = self.cable.ipv4(Side::Left);
        let listener = std::thread::scope(|scope| {
            let bind = || {
                self.cable.enter(Side::Left);
                TcpListener::bind((address, 0)).unwrap()
            };
            scope.spawn(bind).join().unwrap()
        });
        let bound = listener.local_addr().unwrap();
        let send = move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&vec![1; TRANSFER_BYTES]).unwrap();
        };
        (bound, std::thread::spawn(send))
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
        let spawn = || {
            self.cable.enter(Side::Right);
            command.spawn().unwrap()
        };
        let mut child = std::thread::scope(|scope| scope.spawn(spawn).join().unwrap());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap();
        Receiver {
            child,
            output,
            pid,
            sender,
        }
    }
}

impl Receiver {
    /// The window clamps of its connection, from its first second on to its end.
    pub fn clamps(&self) -> Vec<u32> {
        std::thread::sleep(Duration::from_secs(1));
        let mut clamps = Vec::new();
        while let Some(clamp) = self.clamp() {
            clamps.push(clamp);
            std::thread::sleep(Duration::from_millis(20));
        }
        clamps
    }

    /// The window clamp of its connection; none once that has ended.
    pub fn clamp(&self) -> Option<u32> {
        let sockets = sockets_of(self.pid).ok()?;
        let mut sockets = sockets.into_iter();
        let socket = sockets.find(|socket| matches!(socket.kind(), Kind::Tcp))?;
        socket.window_clamp().ok()
    }

    /// All of it must have arrived.
    pub fn finish(mut self) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.trim(), TRANSFER_BYTES.to_string());
        assert!(self.child.wait().unwrap().success());
        self.sender.join().unwrap();
    }
}
