// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everybody else: greedy transfers, and who they are with.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

use ebb_lab::emulator::{CLIENT_IPV4, Path, SERVER_IPV4};
use ebb_lab::namespace::NamespaceHandle;

/// Runs something for every connection to a port of a namespace.
pub fn serve<T>(namespace: &NamespaceHandle, at: (Ipv4Addr, u16), talk: T)
where
    T: Fn(&TcpStream) + Clone + Send + 'static,
{
    let listener = namespace.run_in(|| TcpListener::bind(at)).unwrap().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let talk = talk.clone();
            std::thread::spawn(move || talk(&stream));
        }
    });
}

/// Sends for as long as somebody receives.
pub fn send(mut stream: &TcpStream) {
    while stream.write_all(&[1; 16_384]).is_ok() {}
}

/// Receives for as long as somebody sends.
pub fn receive(mut stream: &TcpStream) {
    let mut buffer = vec![0; 65_536];
    while matches!(stream.read(&mut buffer), Ok(1..)) {}
}

/// Both at once.
pub fn talk_both_ways(stream: &TcpStream) {
    std::thread::scope(|scope| {
        scope.spawn(|| send(stream));
        receive(stream);
        // Whoever sends learns that nobody listens any more.
        let _ = stream.shutdown(Shutdown::Both);
    });
}

/// Somebody else's greedy transfers, which the kernel's CUBIC sends: three each way, to a port
/// of the other end. Ends when it is dropped.
pub struct Others(Vec<TcpStream>);

impl Others {
    /// Accepts them at both ends.
    pub fn expect(path: &Path, port: u16) {
        serve(path.server(), (SERVER_IPV4, port), receive);
        serve(path.client(), (CLIENT_IPV4, port), receive);
    }

    /// Begins them.
    pub fn begin(path: &Path, port: u16) -> Self {
        let down = || transfer(path.server(), (CLIENT_IPV4, port));
        let up = || transfer(path.client(), (SERVER_IPV4, port));
        Self(vec![down(), down(), down(), up(), up(), up()])
    }

    /// Accepts one that the client receives, and begins it.
    pub fn begin_download(path: &Path, port: u16) -> Self {
        Self::expect(path, port);
        Self(vec![transfer(path.server(), (CLIENT_IPV4, port))])
    }

    /// Accepts one that the client sends, and begins it.
    pub fn begin_upload(path: &Path, port: u16) -> Self {
        Self::expect(path, port);
        Self(vec![transfer(path.client(), (SERVER_IPV4, port))])
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for stream in &self.0 {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn transfer(from: &NamespaceHandle, to: (Ipv4Addr, u16)) -> TcpStream {
    let stream = from.run_in(|| TcpStream::connect(to)).unwrap().unwrap();
    let sending = stream.try_clone().unwrap();
    std::thread::spawn(move || send(&sending));
    stream
}
