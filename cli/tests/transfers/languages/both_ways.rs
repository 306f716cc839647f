// SPDX-License-Identifier: Apache-2.0 OR MIT
//! both_ways ADDRESS PORT: asks for bytes ("d") on one connection, sends bytes ("u") on another,
//! each in a thread, and says "ready". Ends with its standard input.

use std::io::{Read, Write};
use std::net::TcpStream;

fn connect(what: u8) -> TcpStream {
    let arguments: Vec<String> = std::env::args().collect();
    let server = format!("{}:{}", arguments[1], arguments[2]);
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(&[what]).unwrap();
    stream
}

fn receive(mut stream: TcpStream) -> ! {
    let mut buffer = vec![0; 65_536];
    while stream.read(&mut buffer).unwrap() > 0 {}
    panic!("the server sends no more");
}

fn send(mut stream: TcpStream) -> ! {
    loop {
        stream.write_all(&[0; 65_536]).unwrap();
    }
}

fn main() {
    let (receiving, sending) = (connect(b'd'), connect(b'u'));
    std::thread::spawn(move || receive(receiving));
    std::thread::spawn(move || send(sending));
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}
