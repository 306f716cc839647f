// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that transfer one way for as long as they may, and greedy others beside them.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use ebb_keeper::Direction;
use ebb_lab::emulator::{Path, SERVER_IPV4};
use ebb_link::Class;

use crate::greedy::{self, Others, serve};
use crate::transfers::{program, words};

/// Less than best effort.
pub const OURS: u16 = 8_081;
/// Best effort: everybody else.
pub const OTHERS: u16 = 8_080;

/// Transfers one way on two connections, from the moment that it is told to, for as long as it may.
const CLIENT: &str = "
import socket, sys, threading
sys.stdin.readline()
def transfer(s):
    if sys.argv[2] == 'Up':
        while True:
            s.sendall(bytes(65536))
    while s.recv(65536):
        pass
for _ in range(2):
    s = socket.create_connection((sys.argv[1], 8081))
    threading.Thread(target=transfer, args=(s,)).start()
";

/// A program that transfers one way; it ends when dropped.
pub struct OneWay(Child);

impl OneWay {
    /// Its command.
    pub fn words(direction: Direction) -> Vec<String> {
        let (address, way) = (SERVER_IPV4.to_string(), format!("{direction:?}"));
        words(["python3", "-c", CLIENT, &address, &way])
    }

    /// Starts it by these words, which end with its command.
    pub fn start(path: &Path, words: &[String]) -> Self {
        let mut command = program(path.client(), words);
        Self(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn go(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for OneWay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server's part of such transfers.
pub fn accept(path: &Path, direction: Direction) {
    serve(
        path.server(),
        (SERVER_IPV4, OURS),
        move |stream: &TcpStream| match direction {
            Direction::Down => greedy::send(stream),
            Direction::Up => greedy::receive(stream),
        },
    );
    path.set_class(OURS, Class::LessThanBestEffort);
}

/// One greedy transfer of others begins, the same way.
pub fn others(path: &Path, direction: Direction) -> Others {
    match direction {
        Direction::Down => Others::begin_download(path, OTHERS),
        Direction::Up => Others::begin_upload(path, OTHERS),
    }
}
