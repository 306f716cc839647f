// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetches from HOST:PORT in the background, on a socket of tokio's; the lines `foreground` and
//! `background` on the standard input take it there:
//!
//! ```text
//! cargo run -p ebb-library --example tokio_sockets 192.0.2.1:80
//! ```

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpStream;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args()
        .nth(1)
        .ok_or("usage: tokio_sockets HOST:PORT")?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().build()?;
    runtime.block_on(fetch(&server))?;
    Ok(())
}

async fn fetch(server: &str) -> Result<(), Box<dyn std::error::Error>> {
    let download = Arc::new(TcpStream::connect(server).await?);
    ebb::background(&*download)?;

    let request = format!("GET / HTTP/1.1\r\nHost: {server}\r\n\r\n");
    download.writable().await?;
    download.try_write(request.as_bytes())?;
    println!("ready");
    let socket = Arc::clone(&download);
    // The standard input has no readiness: a thread waits for it.
    thread::spawn(move || listen(&socket));

    let mut piece = vec![0; 64 << 10];
    loop {
        download.readable().await?;
        match download.try_read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
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
