// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetches from HOST:PORT in the background, by reqwest, which shows nobody its sockets: so all of
//! this process are given. The lines `foreground` and `background` on the standard input take them
//! there:
//!
//! ```text
//! cargo run --manifest-path library/clients/Cargo.toml 192.0.2.1:80
//! ```

use std::error::Error;
use std::io;
use std::thread;

use ebb::Options;

fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::args()
        .nth(1)
        .ok_or("usage: fetch_with_reqwest HOST:PORT")?;
    ebb::background_all(&Options::new())?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    runtime.block_on(fetch(&server))
}

async fn fetch(server: &str) -> Result<(), Box<dyn Error>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://{server}/");
    let mut download = client.get(url).send().await?.error_for_status()?;
    println!("ready");
    // The standard input has no readiness: a thread waits for it.
    thread::spawn(listen);
    while download.chunk().await?.is_some() {}
    Ok(())
}

fn listen() {
    for line in io::stdin().lines().map_while(Result::ok) {
        let gone = match &line[..] {
            "background" => ebb::background_all(&Options::new()),
            _ => {
                ebb::foreground_all();
                Ok(())
            }
        };
        match gone {
            Ok(()) => println!("{line}"),
            Err(error) => eprintln!("{error}"),
        }
    }
    // Nobody wants the rest.
    std::process::exit(0);
}
