// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processes that are looked after, and the server that they connect to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::PATIENCE;

/// What the helper processes do.
pub fn role() {
    let Ok(role) = std::env::var("EBB_TEST_ROLE") else {
        return;
    };
    let address = std::env::var("EBB_TEST_ADDRESS").unwrap();
    match role.as_str() {
        // In a thread that is not the first, which connects late.
        "thread" => {
            let reading = std::thread::spawn(move || read_from(&address));
            reading.join().unwrap();
        }
        "read" => read_from(&address),
        "close" => {
            let stream = TcpStream::connect(address).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            drop(stream);
            std::thread::sleep(PATIENCE);
        }
        // A shell's child that leaves its parent.
        "daemon" => {
            Command::new("sh")
                .args(["-c", "\"$0\" play_a_role --exact & exit 0"])
                .arg(std::env::current_exe().unwrap())
                .env("EBB_TEST_ROLE", "read")
                .status()
                .unwrap();
        }
        other => panic!("{other} is no role"),
    }
    std::process::exit(0);
}

fn read_from(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut piece = [0; 4096];
    while stream.read(&mut piece).is_ok_and(|length| length > 0) {}
}

pub struct Peer {
    pub listener: TcpListener,
}

impl Peer {
    pub fn new() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        }
    }

    pub fn helper(&self, role: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["play_a_role", "--exact"])
            .env("EBB_TEST_ROLE", role)
            .env(
                "EBB_TEST_ADDRESS",
                self.listener.local_addr().unwrap().to_string(),
            )
            .stdout(Stdio::null());
        command
    }

    /// The connection of a helper, which is sent something.
    pub fn accept(&self) -> TcpStream {
        let (mut stream, _) = self.listener.accept().unwrap();
        stream.write_all(&[1; 1_000]).unwrap();
        stream
    }
}
