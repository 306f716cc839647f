// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetches an http:// URL in the background, on a socket of the standard library; a line on the
//! standard input takes it to the foreground:
//!
//! ```text
//! cargo run -p ebb-library --example std_sockets 192.0.2.1:80
//! ```

use std::io::{self, BufRead, Read, Write};
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
    thread::spawn(move || take_to_foreground(&socket));

    let mut piece = vec![0; 64 << 10];
    while download.read(&mut piece)? > 0 {}
    Ok(())
}

fn take_to_foreground(socket: &TcpStream) {
    for _line in io::stdin().lock().lines() {
        match ebb::foreground(socket) {
            Ok(()) => println!("foreground"),
            Err(error) => eprintln!("{error}"),
        }
    }
    // Nobody wants the rest.
    std::process::exit(0);
}
