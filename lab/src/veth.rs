// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where there is no TUN device: one end of a virtual cable, whose other end is read and written
//! by a packet socket.
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::LabError;
use crate::namespace::NamespaceHandle;

/// Ethernet address of the device; the same in every namespace, as nobody else is on its cable.
const ADDRESS: [u8; 6] = [0x02, 0xeb, 0xb0, 0, 0, 1];
/// Bursts of many connections are to find room.
const BUFFER_BYTES: libc::c_int = 4 << 20;
/// `SIOCETHTOOL` of Linux, and its command that computes checksums in software.
const SIOCETHTOOL: u64 = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;

/// A device whose packets are read and written here; it goes with its namespace.
///
/// Without offloads: the kernel cuts everything to the MTU before it is read here.
#[derive(Debug)]
pub struct Veth {
    socket: OwnedFd,
    /// Of the end of the cable that the socket is bound to.
    index: libc::c_int,
}

impl Veth {
    /// Makes a device in the namespace; reads and writes do not block.
    ///
    /// *Errors:* [`LabError::Tool`] when the kernel has no such devices or the name is taken,
    /// [`LabError::System`] without the privilege.
    pub fn create(namespace: &NamespaceHandle, name: &str) -> Result<Self, LabError> {
        let end = format!("{name}-end");
        let address = ADDRESS.map(|byte| format!("{byte:02x}")).join(":");
        namespace.ip(&format!(
            "link add {name} type veth peer name {end}\n\
             link set {name} arp off address {address}\n\
             link set {end} arp off addrgenmode none mtu 1500\n\
             link set {end} up\n"
        ))?;
        namespace.run_in(|| {
            compute_checksums(name)?;
            Self::bind(&end)
        })?
    }

    fn bind(end: &str) -> Result<Self, LabError> {
        let failed = |what: &str, error| {
            LabError::system(format!("{what} of {end}"), error, "needs CAP_NET_RAW")
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call; protocol 0 hears nothing until the socket is bound.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(failed("packet socket", io::Error::last_os_error()));
        }
        // SAFETY: just made, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let name = std::ffi::CString::new(end).expect("names of devices have no zero bytes");
        // SAFETY: the name is a C string that outlives the call.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        let index = libc::c_int::try_from(index).expect("device numbers are small");
        // As much as the system allows serves, too.
        let _ = set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER_BYTES);
        let all = (libc::ETH_P_ALL as u16).to_be();
        let address = link_address(index, all);
        // SAFETY: the address is of the size that is given, and outlives the call.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if index == 0 || bound < 0 {
            return Err(failed("packet socket", io::Error::last_os_error()));
        }
        Ok(Self { socket, index })
    }

    /// Reads one packet that the kernel sent; `None` when there is none now.
    ///
    /// *Errors:* any other than that it would block.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let mut from = link_address(0, 0);
            let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            // SAFETY: buffer and address are ours for the call, with their sizes.
            let read = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    0,
                    (&raw mut from).cast(),
                    &raw mut length,
                )
            };
            match usize::try_from(read) {
                Ok(read) if is_ip(&from) => return Ok(Some(read)),
                Ok(_) => {}
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                    error => return Err(error),
                },
            }
        }
    }

    /// Gives one packet to the kernel as if it had arrived on the device.
    ///
    /// *Errors:* the kernel's; for instance ENETDOWN while the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let protocol = if is_ipv6 {
            libc::ETH_P_IPV6
        } else {
            libc::ETH_P_IP
        };
        let to = link_address(self.index, (protocol as u16).to_be());
        // SAFETY: packet and address are readable for the call, with their sizes.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const to).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl AsFd for Veth {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Not our own packets, which the kernel shows to everybody who listens, and no other protocol.
fn is_ip(from: &libc::sockaddr_ll) -> bool {
    let protocol = libc::c_int::from(u16::from_be(from.sll_protocol));
    from.sll_pkttype != libc::PACKET_OUTGOING
        && (protocol == libc::ETH_P_IP || protocol == libc::ETH_P_IPV6)
}

fn link_address(index: libc::c_int, protocol_be: u16) -> libc::sockaddr_ll {
    // SAFETY: plain data for which zero bytes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol_be;
    address.sll_ifindex = index;
    address.sll_halen = ADDRESS.len() as u8;
    address.sll_addr[..ADDRESS.len()].copy_from_slice(&ADDRESS);
    address
}

fn set_option(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> nix::Result<()> {
    // SAFETY: the value is an integer of the size that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    nix::errno::Errno::result(result).map(drop)
}

/// `struct ethtool_value` of Linux.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// Has the kernel compute checksums, and with them cut segments, before packets leave the device:
/// whoever reads them would get neither otherwise.
fn compute_checksums(name: &str) -> Result<(), LabError> {
    let mut off = EthtoolValue {
        command: ETHTOOL_STXCSUM,
        value: 0,
    };
    // SAFETY: ifreq is plain data for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (target, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *target = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut off).cast();
    let done = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        // SAFETY: request and value are ours and outlive the call.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    });
    done.map_err(|error| {
        let action = format!("turn checksum offloading of {name} off");
        LabError::system(action, error, "needs CAP_NET_ADMIN")
    })
}
