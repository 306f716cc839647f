// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A copy of another process's socket, held for a moment: what it is, and its options.

use std::io;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use ebb_host::{TcpInfo, copy_descriptor, inode_of};

use crate::claim::is_policy;

/// The largest window that TCP knows: a clamp that limits nothing.
pub(crate) const NO_CLAMP_BYTES: u32 = 1 << 30;
/// A pace that limits nothing.
pub(crate) const NO_PACE: u64 = u64::MAX;

/// The differentiated services field of Lower Effort, and the code point's part of one.
const LOWER_EFFORT: u8 = 1 << 2;
const CODE_POINT_MASK: u8 = 0xfc;

const SO_NETNS_COOKIE: i32 = 71;

/// What kind of socket it is, as far as a governor cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// Multipath TCP.
    Multipath,
    /// UDP.
    Udp,
    /// Anything else.
    Other,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Tcp => "it is a TCP socket",
            Self::Multipath => "it is a socket of Multipath TCP",
            Self::Udp => "it is a UDP socket",
            Self::Other => "it is no socket over IP",
        })
    }
}

/// A program whose standard streams are closed must not find a copy there.
const LEAST_COPY: RawFd = 3;

/// A copy of a socket; the connection lives as long as any copy does, so hold it briefly.
#[derive(Debug)]
pub struct CopiedSocket(OwnedFd);

impl AsFd for CopiedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl CopiedSocket {
    /// Copies a descriptor of a process.
    ///
    /// *Errors:* the process or the descriptor has gone, or it is not to be had.
    pub fn from_process(process: BorrowedFd<'_>, descriptor: RawFd) -> io::Result<Self> {
        copy_descriptor(process, descriptor).map(Self)
    }

    /// Copies a descriptor of this process.
    ///
    /// *Errors:* it is not open, or no descriptor is left.
    pub fn from_own(descriptor: RawFd) -> io::Result<Self> {
        // SAFETY: takes plain numbers; the descriptor that it answers is ours alone.
        unsafe {
            let copy = libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, LEAST_COPY);
            if copy < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(copy)))
        }
    }

    /// What kind it is.
    pub fn kind(&self) -> Kind {
        let domain = self.number(libc::SOL_SOCKET, libc::SO_DOMAIN).unwrap_or(-1);
        let protocol = self.number(libc::SOL_SOCKET, libc::SO_PROTOCOL);
        match (domain, protocol) {
            (libc::AF_INET | libc::AF_INET6, Ok(libc::IPPROTO_TCP)) => Kind::Tcp,
            (libc::AF_INET | libc::AF_INET6, Ok(libc::IPPROTO_MPTCP)) => Kind::Multipath,
            (libc::AF_INET | libc::AF_INET6, Ok(libc::IPPROTO_UDP)) => Kind::Udp,
            _ => Kind::Other,
        }
    }

    /// What the kernel knows of the connection.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn info(&self) -> io::Result<TcpInfo> {
        TcpInfo::read(self.0.as_fd())
    }

    /// A number that no other socket has had since the machine started.
    ///
    /// *Errors:* it is no socket.
    pub fn cookie(&self) -> io::Result<u64> {
        cookie_of(self.0.as_raw_fd())
    }

    /// Its inode, by which /proc names it.
    ///
    /// *Errors:* it is no socket.
    pub(crate) fn inode(&self) -> io::Result<u64> {
        inode_of(self.0.as_raw_fd())
    }

    /// The network namespace that it lives in, as a number of the same kind.
    ///
    /// *Errors:* the kernel is older than 5.14.
    pub fn namespace(&self) -> io::Result<u64> {
        self.read(libc::SOL_SOCKET, SO_NETNS_COOKIE)
    }

    /// Own and peer's address and port, once it is connected.
    pub fn ends(&self) -> Option<((IpAddr, u16), (IpAddr, u16))> {
        let own = address(self.0.as_raw_fd(), libc::getsockname)?;
        let peer = address(self.0.as_raw_fd(), libc::getpeername)?;
        Some((own, peer))
    }

    /// Own port; 0: none yet. None: it is no socket over IP.
    pub fn own_port(&self) -> Option<u16> {
        address(self.0.as_raw_fd(), libc::getsockname).map(|(_, port)| port)
    }

    /// Both ends are on this machine.
    pub fn is_loopback(&self) -> bool {
        self.ends()
            .is_some_and(|((own, _), (peer, _))| peer.is_loopback() || own == peer)
    }

    /// The greatest window that may be advertised.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn window_clamp(&self) -> io::Result<u32> {
        self.read(libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP)
    }

    /// Bounds the window that may be advertised.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn set_window_clamp(&self, bytes: u32) -> io::Result<()> {
        self.write(libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes)
    }

    /// The greatest pace. *Units:* bytes per second; all ones: no limit.
    ///
    /// *Errors:* it is no socket.
    pub fn max_pace(&self) -> io::Result<u64> {
        self.read(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE)
    }

    /// Bounds the pace of what is sent. *Units:* bytes per second.
    ///
    /// *Errors:* it is no socket.
    pub fn set_max_pace(&self, bytes_per_s: u64) -> io::Result<()> {
        self.write(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s)
    }

    /// How much may wait unsent; 0: the system's setting.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn unsent_limit(&self) -> io::Result<u32> {
        self.read(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT)
    }

    /// Bounds how much may wait unsent before writing has to wait.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn set_unsent_limit(&self, bytes: u32) -> io::Result<()> {
        self.write(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes)
    }

    /// The congestion control's name.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn congestion_control(&self) -> io::Result<String> {
        let name: [u8; 16] = self.read(libc::IPPROTO_TCP, libc::TCP_CONGESTION)?;
        let length = name.iter().position(|byte| *byte == 0);
        let text = &name[..length.unwrap_or(name.len())];
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Whether the kernel backend governs what it sends.
    pub fn is_of_kernel_backend(&self) -> bool {
        self.congestion_control().is_ok_and(|name| is_policy(&name))
    }

    /// The differentiated services field of what is sent, with the two bits of ECN.
    ///
    /// *Errors:* it is no socket over IP.
    pub fn traffic_class(&self) -> io::Result<u8> {
        let (level, name) = self.traffic_class_option();
        Ok(self.number(level, name)? as u8)
    }

    /// Sets the differentiated services field; the kernel keeps the two bits of ECN.
    ///
    /// *Errors:* it is no socket over IP.
    pub fn set_traffic_class(&self, field: u8) -> io::Result<()> {
        let (level, name) = self.traffic_class_option();
        self.write(level, name, &i32::from(field))
    }

    /// Marks what is sent as Lower Effort (RFC 8622), unless the program has chosen a code
    /// point; answers whether it is marked now.
    ///
    /// *Errors:* it is no socket over IP.
    pub fn mark_lower_effort(&self) -> io::Result<bool> {
        let code_point = self.traffic_class()? & CODE_POINT_MASK;
        if code_point == 0 {
            self.set_traffic_class(LOWER_EFFORT)?;
        }
        Ok(matches!(code_point, 0 | LOWER_EFFORT))
    }

    /// Gives the field back, unless the program has chosen a code point meanwhile.
    pub(crate) fn unmark_lower_effort(&self, own: u8) -> io::Result<()> {
        if own & CODE_POINT_MASK == LOWER_EFFORT {
            return Ok(());
        }
        let (level, name) = self.traffic_class_option();
        if self.number(level, name)? as u8 & CODE_POINT_MASK == LOWER_EFFORT {
            self.write(level, name, &i32::from(own))?;
        }
        Ok(())
    }

    /// IPv4 on an IPv6 socket has the field of IPv4.
    fn traffic_class_option(&self) -> (i32, i32) {
        match address(self.0.as_raw_fd(), libc::getsockname) {
            Some((IpAddr::V4(_), _)) => (libc::IPPROTO_IP, libc::IP_TOS),
            _ => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        }
    }

    fn number(&self, level: i32, option: i32) -> io::Result<i32> {
        self.read(level, option)
    }

    fn read<T: Copy + Default>(&self, level: i32, option: i32) -> io::Result<T> {
        read_option(self.0.as_raw_fd(), level, option)
    }

    fn write<T: Copy>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        // SAFETY: the kernel reads the integer, whose size is said.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                (&raw const *value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// The number of a socket of this process ([`CopiedSocket::cookie`]), of which no copy is made.
///
/// *Errors:* it is no open socket.
pub fn cookie_of(descriptor: RawFd) -> io::Result<u64> {
    read_option(descriptor, libc::SOL_SOCKET, libc::SO_COOKIE)
}

fn read_option<T: Copy + Default>(descriptor: RawFd, level: i32, option: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the integer.
    let result = unsafe {
        libc::getsockopt(
            descriptor,
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    match result {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

impl From<OwnedFd> for CopiedSocket {
    fn from(copy: OwnedFd) -> Self {
        Self(copy)
    }
}

/// The network namespace of this thread, as [`CopiedSocket::namespace`] tells it.
///
/// *Errors:* the kernel is older than 5.14.
pub fn own_namespace() -> io::Result<u64> {
    // SAFETY: makes a descriptor, which is ours alone.
    let socket = unsafe {
        let number = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(number)
    };
    CopiedSocket(socket).namespace()
}

type AddressCall =
    unsafe extern "C" fn(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int;

fn address(socket: RawFd, call: AddressCall) -> Option<(IpAddr, u16)> {
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the storage is as long as is said, and zeroes are a valid address.
    let storage = unsafe {
        if call(socket, storage.as_mut_ptr().cast(), &raw mut length) != 0 {
            return None;
        }
        storage.assume_init()
    };
    let start = &raw const storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is one.
            let inet = unsafe { start.cast::<libc::sockaddr_in>().read() };
            let ip = std::net::Ipv4Addr::from(u32::from_be(inet.sin_addr.s_addr));
            Some((ip.into(), u16::from_be(inet.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is one.
            let inet = unsafe { start.cast::<libc::sockaddr_in6>().read() };
            let ip = std::net::Ipv6Addr::from(inet.sin6_addr.s6_addr);
            let ip = ip.to_ipv4_mapped().map_or(ip.into(), IpAddr::from);
            Some((ip, u16::from_be(inet.sin6_port)))
        }
        _ => None,
    }
}
