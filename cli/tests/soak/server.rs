// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The server of transfers: sends a part of the content, or compares what arrives with it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use ebb_lab::emulator::Path;

use crate::transfer::{Manner, Transfer};

pub const PORT: u16 = 9_010;
/// As client.py has them.
const HEAD_BYTES: usize = 64;
const PAUSE: Duration = Duration::from_millis(500);
/// Whatever takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Its listener, which ends when this is dropped, and its verdicts: number and `right`, or what
/// was wrong.
pub struct Server {
    is_over: Arc<AtomicBool>,
    pub verdicts: Receiver<(u64, String)>,
}

impl Server {
    pub fn start(path: &Path, content: &Arc<Vec<u8>>) -> Self {
        let bind = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap();
        let listener = path.server().run_in(bind).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (said, verdicts) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let (told, content) = (Arc::clone(&is_over), Arc::clone(content));
        std::thread::spawn(move || accept(&listener, &content, &said, &told));
        Self { is_over, verdicts }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn accept(
    listener: &TcpListener,
    content: &Arc<Vec<u8>>,
    said: &Sender<(u64, String)>,
    is_over: &AtomicBool,
) {
    while !is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let (content, said) = (Arc::clone(content), said.clone());
                std::thread::spawn(move || attend(stream, &content, &said));
            }
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

fn attend(mut stream: TcpStream, content: &[u8], said: &Sender<(u64, String)>) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut head = [0; HEAD_BYTES];
    if stream.read_exact(&mut head).is_err() {
        return;
    }
    let words = String::from_utf8_lossy(&head);
    let transfer = Transfer::from_words(&words).expect("the client copies what it was told");
    let part = &content[transfer.offset..transfer.offset + transfer.bytes];
    let done = match transfer.is_upload {
        true => receive(&mut stream, part, transfer.manner),
        false => stream.write_all(part).map(|()| "right".to_owned()),
    };
    // Whoever tests may have given up.
    let _ = said.send((
        transfer.number,
        done.unwrap_or_else(|error| error.to_string()),
    ));
}

/// Reads to the end; answers what is wrong.
fn receive(stream: &mut TcpStream, wanted: &[u8], manner: Manner) -> std::io::Result<String> {
    if manner == Manner::HalfClose {
        stream.shutdown(Shutdown::Write)?;
    }
    let mut pauses_at = match manner {
        Manner::ZeroWindow => vec![wanted.len() / 2, 0],
        _ => Vec::new(),
    };
    let mut buffer = vec![
        0;
        if manner == Manner::SlowReader {
            8_192
        } else {
            1 << 18
        }
    ];
    let mut at = 0;
    loop {
        if pauses_at.pop_if(|next| at >= *next).is_some() {
            sleep(PAUSE);
        }
        if manner == Manner::SlowReader {
            sleep(Duration::from_millis(10));
        }
        let length = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if wanted.get(at..at + length) != Some(&buffer[..length]) {
            return Ok(format!("wrong bytes from {at} on"));
        }
        at += length;
    }
    Ok(match at == wanted.len() {
        true => "right".to_owned(),
        false => format!("{at} bytes arrived, not {}", wanted.len()),
    })
}
