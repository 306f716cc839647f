// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers from the left to the right, as fast as TCP gives.

use super::{Cable, Side};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A sender on the left that sends until it is dropped or its peer ends.
pub struct Sender {
    acknowledged_bytes: Arc<AtomicU64>,
    is_stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Listens on the left and sends to whoever connects first: a download.
    pub fn listen(cable: &Cable, address: IpAddr) -> (Self, SocketAddr) {
        let listener = on_side(cable, Side::Left, move || {
            TcpListener::bind((address, 0)).unwrap()
        });
        let bound = listener.local_addr().unwrap();
        let sender = Self::start(move |is_stopping| accept(&listener, is_stopping));
        (sender, bound)
    }

    /// As [`Self::listen`], but sends nothing.
    pub fn listen_idle(cable: &Cable, address: IpAddr) -> (Self, SocketAddr) {
        let listener = on_side(cable, Side::Left, move || {
            TcpListener::bind((address, 0)).unwrap()
        });
        let bound = listener.local_addr().unwrap();
        let sender = Self::start(move |is_stopping| {
            let _stream = accept(&listener, is_stopping)?;
            while !is_stopping.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            None
        });
        (sender, bound)
    }

    /// Connects from the left to a receiver on the right: an upload.
    pub fn connect(cable: &Cable, address: SocketAddr) -> Self {
        let stream = on_side(cable, Side::Left, move || {
            TcpStream::connect(address).unwrap()
        });
        Self::start(move |_| Some(stream))
    }

    /// Mean rate over the coming time, by what the receiver acknowledged.
    pub fn measure_mbit_per_s(&self, time: Duration) -> f64 {
        let (before, begin) = (self.bytes(), Instant::now());
        std::thread::sleep(time);
        (self.bytes() - before) as f64 * 8e-6 / begin.elapsed().as_secs_f64()
    }

    /// What the receiver acknowledged so far.
    pub fn bytes(&self) -> u64 {
        self.acknowledged_bytes.load(Ordering::Relaxed)
    }

    fn start(open: impl FnOnce(&AtomicBool) -> Option<TcpStream> + Send + 'static) -> Self {
        let acknowledged_bytes = Arc::new(AtomicU64::new(0));
        let is_stopping = Arc::new(AtomicBool::new(false));
        let (counted, stopping) = (Arc::clone(&acknowledged_bytes), Arc::clone(&is_stopping));
        let thread = std::thread::spawn(move || {
            if let Some(stream) = open(&stopping) {
                send(stream, &counted, &stopping);
            }
        });
        Self {
            acknowledged_bytes,
            is_stopping,
            thread: Some(thread),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Runs on a side of the cable, in a thread of its own.
pub fn on_side<T: Send>(cable: &Cable, side: Side, action: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                cable.enter(side);
                action()
            })
            .join()
            .unwrap()
    })
}

/// Reads until the end and gives the number of bytes.
pub fn drain(mut stream: TcpStream) -> u64 {
    let mut buffer = vec![0; 1 << 18];
    let mut total = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return total,
            Ok(length) => total += length as u64,
        }
    }
}

fn accept(listener: &TcpListener, is_stopping: &AtomicBool) -> Option<TcpStream> {
    listener.set_nonblocking(true).unwrap();
    while !is_stopping.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
    None
}

fn send(mut stream: TcpStream, counted: &AtomicU64, is_stopping: &AtomicBool) {
    set_cubic(&stream);
    stream.set_nonblocking(false).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let buffer = vec![0x5a; 1 << 17];
    let mut written = 0u64;
    while !is_stopping.load(Ordering::Relaxed) {
        match stream.write(&buffer) {
            Ok(length) => written += length as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        counted.store(
            written.saturating_sub(unacknowledged(&stream)),
            Ordering::Relaxed,
        );
    }
}

/// The machine's default may be another, such as bbr.
fn set_cubic(stream: &TcpStream) {
    let name = b"cubic";
    // SAFETY: the socket is open; the name's length is given.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

fn unacknowledged(stream: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the socket is open; TIOCOUTQ (SIOCOUTQ) writes an int.
    unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    bytes as u64
}
