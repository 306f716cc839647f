// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of chosen namespace and cgroup, and the options that flows need.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use ebb_kernel::cgroup::Cgroup;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    self, AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, setsockopt, sockopt,
};

/// Creates sockets elsewhere and comes back.
pub(super) struct SocketMaker {
    home_namespace: File,
    home_cgroup: Option<Cgroup>,
}

impl SocketMaker {
    /// Remembers where the process is now.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            home_namespace: File::open("/proc/thread-self/ns/net")?,
            home_cgroup: Cgroup::of_process(std::process::id()).ok(),
        })
    }

    /// Calls `make` inside a namespace and, if given, a cgroup.
    pub(super) fn make_in<T>(
        &self,
        namespace: &Path,
        cgroup: Option<&Path>,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let namespace = File::open(namespace)?;
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        if let Some(cgroup) = cgroup {
            join_cgroup(cgroup)?;
        }
        let made = make();
        if let (Some(_), Some(home)) = (cgroup, &self.home_cgroup) {
            join_cgroup(&home.directory_path())?;
        }
        setns(&self.home_namespace, CloneFlags::CLONE_NEWNET)?;
        made
    }
}

fn join_cgroup(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string())
}

/// Turns the caching of path metrics off in this namespace, so that a run does not
/// start with what the run before it learned.
pub(super) fn forget_path_metrics() -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
}

/// A socket of the family of `address` that does not block.
pub(super) fn open(address: IpAddr, kind: SockType) -> io::Result<OwnedFd> {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket::socket(family, kind, flags, None)?)
}

/// A TCP socket that listens on one port of `address`.
pub(super) fn listen(address: IpAddr, port: u16) -> io::Result<OwnedFd> {
    let fd = open(address, SockType::Stream)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    bind(fd.as_fd(), address, port)?;
    socket::listen(&fd, Backlog::new(8)?)?;
    Ok(fd)
}

/// Binds to one port of `address`.
pub(super) fn bind(fd: BorrowedFd, address: IpAddr, port: u16) -> io::Result<()> {
    let address = SockaddrStorage::from(SocketAddr::new(address, port));
    Ok(socket::bind(fd.as_raw_fd(), &address)?)
}

/// Starts to connect; completion shows as writability.
pub(super) fn connect(fd: BorrowedFd, address: IpAddr, port: u16) -> io::Result<()> {
    let address = SockaddrStorage::from(SocketAddr::new(address, port));
    match socket::connect(fd.as_raw_fd(), &address) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The next connection of a listener, `None` if there is none yet.
pub(super) fn accept(listener: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    match socket::accept4(listener.as_raw_fd(), flags) {
        // SAFETY: accept4 has just made this descriptor and nobody else knows it.
        Ok(raw) => Ok(Some(unsafe { OwnedFd::from_raw_fd(raw) })),
        Err(nix::Error::EAGAIN) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Names the congestion control, since the machine's default may be any.
pub(super) fn name_congestion_control(fd: BorrowedFd, name: &str) -> io::Result<()> {
    let option = std::ffi::OsString::from(name);
    setsockopt(&fd, sockopt::TcpCongestion, &option).map_err(|errno| {
        let known = ebb_host::sysctl("net.ipv4.tcp_available_congestion_control");
        let problem = format!(
            "congestion control `{name}`: {}; this kernel has: {}",
            errno.desc(),
            known.unwrap_or_default()
        );
        io::Error::other(problem)
    })
}

/// Lets the kernel hold so much unsent data, and closes with a reset so that nothing
/// of a finished experiment stays on the link.
pub(super) fn tune_sender(fd: BorrowedFd, unsent_bytes: u32) -> io::Result<()> {
    set_integer(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 0)?;
    set_integer(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, unsent_bytes)?;
    reset_on_close(fd)
}

/// Closes with a reset.
pub(super) fn reset_on_close(fd: BorrowedFd) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    Ok(setsockopt(&fd, sockopt::Linger, &linger)?)
}

fn set_integer(fd: BorrowedFd, level: i32, option: i32, value: u32) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads and forgets what has arrived, without copying: the number of bytes, 0 at the
/// end of the stream, `None` if nothing is there.
pub(super) fn discard(fd: RawFd) -> io::Result<Option<u64>> {
    const AT_ONCE_BYTES: usize = 1 << 22;
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC TCP discards and never writes to the buffer, which may be
    // null then (tcp(7)).
    let count = unsafe { libc::recv(fd, std::ptr::null_mut(), AT_ONCE_BYTES, flags) };
    if count >= 0 {
        return Ok(Some(count as u64));
    }
    none_if_would_block()
}

/// Writes as much of `data` as there is room for, `None` if there is none.
pub(super) fn send(fd: RawFd, data: &[u8]) -> io::Result<Option<u64>> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: pointer and length are those of `data`.
    let count = unsafe { libc::send(fd, data.as_ptr().cast(), data.len(), flags) };
    if count >= 0 {
        return Ok(Some(count as u64));
    }
    none_if_would_block()
}

/// What was written to a TCP socket and has never been sent.
pub(super) fn unsent_bytes(fd: RawFd) -> io::Result<u64> {
    // From <linux/sockios.h>; libc doesn't know it.
    const SIOCOUTQNSD: libc::Ioctl = 0x894B;
    let mut bytes: libc::c_int = 0;
    // SAFETY: this request writes one integer, to `bytes`.
    let result = unsafe { libc::ioctl(fd, SIOCOUTQNSD, &raw mut bytes) };
    if result == 0 {
        Ok(u64::try_from(bytes).unwrap_or(0))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Receives one datagram into `buffer`, `None` if there is none.
pub(super) fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<u64>> {
    // SAFETY: pointer and length are those of `buffer`.
    let count = unsafe {
        libc::recv(
            fd,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT,
        )
    };
    if count >= 0 {
        return Ok(Some(count as u64));
    }
    none_if_would_block()
}

fn none_if_would_block<T>() -> io::Result<Option<T>> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(None),
        _ => Err(error),
    }
}

/// The kernel's number for a socket, never used twice.
pub(super) fn cookie(fd: BorrowedFd) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the pointers describe `cookie` and `length`, which outlive the call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(cookie)
    } else {
        Err(io::Error::last_os_error())
    }
}
