// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers from the left to the right, as fast as TCP gives.

use super::{Cable, Side};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
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

    /// As [`Self::listen`] on IPv4, over multipath TCP if the peer wants it.
    pub fn listen_multipath(cable: &Cable) -> (Self, SocketAddr) {
        let address = SocketAddr::new(cable.ipv4(Side::Left), 0);
        let listener = on_side(cable, Side::Left, move || {
            let socket = multipath_socket();
            let address = to_c(address);
            // SAFETY: the socket is open, the address is whole.
            unsafe {
                let length = size_of_val(&address) as libc::socklen_t;
                let pointer = (&raw const address).cast();
                assert_eq!(libc::bind(socket.as_raw_fd(), pointer, length), 0);
                assert_eq!(libc::listen(socket.as_raw_fd(), 8), 0);
            }
            TcpListener::from(socket)
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

/// A receiver on the right that counts what its first peer sends.
pub struct Receiver {
    received_bytes: Arc<AtomicU64>,
    pub address: SocketAddr,
}

impl Receiver {
    pub fn listen(cable: &Cable) -> Self {
        let address = cable.ipv4(Side::Right);
        let listener = on_side(cable, Side::Right, move || {
            TcpListener::bind((address, 0)).unwrap()
        });
        let address = listener.local_addr().unwrap();
        let received_bytes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received_bytes);
        // Ends with its peer, which is killed when the test ends.
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                counted.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        Self {
            received_bytes,
            address,
        }
    }

    /// Mean rate over the coming time.
    pub fn measure_mbit_per_s(&self, time: Duration) -> f64 {
        let (before, begin) = (self.bytes(), Instant::now());
        std::thread::sleep(time);
        (self.bytes() - before) as f64 * 8e-6 / begin.elapsed().as_secs_f64()
    }

    /// What has arrived so far.
    pub fn bytes(&self) -> u64 {
        self.received_bytes.load(Ordering::Relaxed)
    }
}

/// Connects from the calling thread's namespace with a congestion control, by its name.
pub fn connect_with(address: SocketAddr, congestion_control: &str) -> std::io::Result<TcpStream> {
    let c_address = to_c(address);
    let length = size_of_val(&c_address) as libc::socklen_t;
    // SAFETY: plain numbers; what the kernel opens is ours; the address is whole.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        assert!(socket >= 0, "{}", std::io::Error::last_os_error());
        let stream = TcpStream::from(OwnedFd::from_raw_fd(socket));
        set_congestion_control(&stream, congestion_control)?;
        if libc::connect(socket, (&raw const c_address).cast(), length) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(stream)
    }
}

/// Selects a congestion control by its name.
pub fn set_congestion_control(socket: &impl AsRawFd, name: &str) -> std::io::Result<()> {
    // SAFETY: the name's length is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// The name of a socket's congestion control.
pub fn congestion_control(socket: &impl AsRawFd) -> String {
    let mut name = [0u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the buffer has the length given.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(16);
    String::from_utf8(name[..end].to_vec()).unwrap()
}

/// The most that a socket may advertise as its window.
pub fn window_clamp(socket: &impl AsRawFd) -> u32 {
    let mut clamp = 0u32;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the socket is open; the option writes an int.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw mut clamp).cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    clamp
}

/// Whether ECN was negotiated on a connection.
pub fn uses_ecn(socket: &impl AsRawFd) -> bool {
    /// TCPI_OPT_ECN, and where tcpi_options stands in struct tcp_info.
    const ECN: u8 = 8;
    const OPTIONS_AT: usize = 5;
    info(socket)[OPTIONS_AT] & ECN != 0
}

/// The scale of the windows that a connection advertises.
pub fn window_scale(socket: &impl AsRawFd) -> u8 {
    /// tcpi_snd_wscale and tcpi_rcv_wscale, four bits each.
    const SCALES_AT: usize = 6;
    info(socket)[SCALES_AT] >> 4
}

/// The beginning of struct tcp_info.
fn info(socket: &impl AsRawFd) -> [u8; 104] {
    let mut info = [0u8; 104];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the buffer has the length given.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    info
}

/// The differentiated services field of what an IPv4 socket sends, without its bits of ECN.
pub fn code_point(socket: &impl AsRawFd) -> u32 {
    let mut field: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option writes an int.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_TOS,
            (&raw mut field).cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    field.cast_unsigned() & 0xfc
}

/// Sets it, as a program may.
pub fn set_code_point(socket: &impl AsRawFd, field: libc::c_int) {
    // SAFETY: the option reads an int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_TOS,
            (&raw const field).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
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

/// Connects over multipath TCP.
pub fn connect_multipath(address: SocketAddr) -> TcpStream {
    let socket = multipath_socket();
    let address = to_c(address);
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the socket is open, the address is whole.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    TcpStream::from(socket)
}

fn multipath_socket() -> OwnedFd {
    // SAFETY: plain numbers; what the kernel opens is ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP);
        assert!(socket >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(socket)
    }
}

fn to_c(address: SocketAddr) -> libc::sockaddr_in {
    let IpAddr::V4(ip) = address.ip() else {
        panic!("{address} is not IPv4");
    };
    // SAFETY: all zero is a valid address.
    let mut c: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    c.sin_family = libc::AF_INET as libc::sa_family_t;
    c.sin_port = address.port().to_be();
    c.sin_addr.s_addr = u32::from(ip).to_be();
    c
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
    set_congestion_control(stream, "cubic").unwrap();
}

fn unacknowledged(stream: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the socket is open; TIOCOUTQ (SIOCOUTQ) writes an int.
    unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    bytes as u64
}
