// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The other ends of a program's connections: who sends without end, who takes everything, who
//! sends a little now and then.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ebb_lab::emulator::Path;

use crate::clamp::{DOWNLOAD, DRIP_DOWN, DRIP_UP, UPLOAD};

const DRIP_EVERY: Duration = Duration::from_millis(200);
/// Who waits looks so often whether it is over.
const PATIENCE: Duration = Duration::from_millis(500);

/// Peers at the server's end of a path; they end when this is dropped.
pub struct Peers {
    is_over: Arc<AtomicBool>,
}

impl Peers {
    pub fn start(path: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for port in [DOWNLOAD, UPLOAD, DRIP_DOWN, DRIP_UP] {
            // IPv4 as well.
            let bind = || TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).unwrap();
            let listener = path.server().run_in(bind).unwrap();
            listener.set_nonblocking(true).unwrap();
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || accept(&listener, port, &is_over));
        }
        Self { is_over }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn accept(listener: &TcpListener, port: u16, is_over: &Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let is_over = Arc::clone(is_over);
                std::thread::spawn(move || attend(stream, port, &is_over));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Until the other end has gone.
fn attend(mut stream: TcpStream, port: u16, is_over: &AtomicBool) {
    stream.set_nonblocking(false).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 16_384];
    while !is_over.load(Ordering::Relaxed) {
        let done = match port {
            DOWNLOAD => stream.write(&buffer),
            DRIP_DOWN => {
                std::thread::sleep(DRIP_EVERY);
                stream.write(&buffer[..100])
            }
            _ => stream.read(&mut buffer),
        };
        match done {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}
