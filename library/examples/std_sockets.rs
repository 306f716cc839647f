// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetches from HOST:PORT in the background, on a socket of the standard library; the lines
//! `foreground` and `background` on the standard input take it there:
//!
//! ```text
//! cargo run -p ebb-library --example std_sockets 192.0.2.1:80
//! ```

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args()
        .nth(1)
        .ok_or("usage: std_sockets HOST:PORT")?;
    let mut download = TcpStream::connect(&server)?;
    ebb::background(&download)?;

    write!(download, "GET / HTTP/1.1\r\nHost: {server}\r\n\r\n")?;
    println!("ready");
    let socket = download.try_clone()?;
    thread::spawn(move || listen(&socket));

    let mut piece = vec![0; 64 << 10];
    while download.read(&mut piece)? > 0 {}
    Ok(())
}

fn listen(socket: &TcpStream) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let gone = match &line[..] {
            "background" => ebb::background(socket),
            _ => ebb::foreground(socket),
        };
        match gone {
            Ok(()) => println!("{line}"),
            Err(error) => eprintln!("{error}"),
        }
    }
    // Nobody wants the rest.
    std::process::exit(0);
}
