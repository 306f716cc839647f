// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets that somebody on the way catches, and sends once more with other words.

use super::{Cable, Side};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);
/// Where the router's traffic from the left arrives.
const DEVICE: &std::ffi::CStr = c"tol";
const IPV6_HEADER_BYTES: usize = 40;
/// NOP, NOP, timestamps, length 10.
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
const TCP_OPTIONS_AT: usize = 20;
const TCP_CHECKSUM_AT: usize = 16;
const TCP_PROTOCOL: u8 = 6;

/// A data segment with timestamps, from its IP header on.
#[derive(Clone)]
pub struct Packet {
    bytes: Vec<u8>,
}

impl Packet {
    /// The next data segment from the left to the right.
    pub fn catch(cable: &Cable) -> Self {
        let socket = on_router(cable, || {
            packet_socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0)
        });
        bind_to_device(cable, &socket);
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = vec![0; 1 << 16];
        while Instant::now() < deadline {
            // SAFETY: the buffer has the length given.
            let length = unsafe {
                let into = bytes.as_mut_ptr().cast();
                libc::recv(socket.as_raw_fd(), into, bytes.len(), libc::MSG_DONTWAIT)
            };
            let Ok(length @ 1..) = usize::try_from(length) else {
                std::thread::sleep(Duration::from_micros(100));
                continue;
            };
            let packet = Self {
                bytes: bytes[..length].to_vec(),
            };
            if packet.is_data() {
                return packet;
            }
        }
        panic!("no data segment within {PATIENCE:?}");
    }

    /// As if it came from the left: what the router sends on is not checked for where it is from.
    pub fn send(&self, cable: &Cable, to: IpAddr) {
        on_router(cable, || match to {
            IpAddr::V4(address) => {
                // SAFETY: all zero is a valid address.
                let mut c: libc::sockaddr_in = unsafe { std::mem::zeroed() };
                c.sin_family = libc::AF_INET as libc::sa_family_t;
                c.sin_addr.s_addr = u32::from(address).to_be();
                self.send_to(libc::AF_INET, &c);
            }
            IpAddr::V6(address) => {
                // SAFETY: all zero is a valid address.
                let mut c: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
                c.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                c.sin6_addr.s6_addr = address.octets();
                self.send_to(libc::AF_INET6, &c);
            }
        });
    }

    /// Its sequence number, so much further on.
    pub fn with_seq(&self, ahead_bytes: u32) -> Self {
        self.with_word(self.tcp_at() + 4, ahead_bytes)
    }

    /// Its timestamp, so many ticks later.
    pub fn with_tsval(&self, later_ticks: u32) -> Self {
        self.with_word(
            self.tcp_at() + TCP_OPTIONS_AT + TIMESTAMPS.len(),
            later_ticks,
        )
    }

    /// Congestion experienced.
    pub fn with_mark(&self) -> Self {
        let mut marked = self.clone();
        if self.is_ipv4() {
            marked.bytes[1] |= 3;
        } else {
            marked.bytes[1] |= 0x30;
        }
        marked.with_checksum()
    }

    /// A payload of so many bytes only.
    pub fn with_payload(&self, payload_bytes: usize) -> Self {
        let mut shorter = self.clone();
        let length = self.payload_at() + payload_bytes;
        shorter.bytes.truncate(length);
        if self.is_ipv4() {
            shorter.bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        } else {
            let after = (length - IPV6_HEADER_BYTES) as u16;
            shorter.bytes[4..6].copy_from_slice(&after.to_be_bytes());
        }
        shorter.with_checksum()
    }

    /// A bit of the payload turned on the way.
    pub fn damaged(&self) -> Self {
        let mut damaged = self.with_checksum();
        *damaged.bytes.last_mut().unwrap() ^= 0x10;
        damaged
    }

    fn with_word(&self, at: usize, more: u32) -> Self {
        let mut changed = self.clone();
        let word = u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap());
        changed.bytes[at..at + 4].copy_from_slice(&word.wrapping_add(more).to_be_bytes());
        changed.with_checksum()
    }

    /// The right checksum: a caught packet may have that of its pseudo-header only.
    fn with_checksum(&self) -> Self {
        let mut right = self.clone();
        let at = self.tcp_at() + TCP_CHECKSUM_AT;
        right.bytes[at..at + 2].fill(0);
        let addresses = if self.is_ipv4() { 12..20 } else { 8..40 };
        let length = (self.bytes.len() - self.tcp_at()) as u32;
        let rest = [u32::from(TCP_PROTOCOL).to_be_bytes(), length.to_be_bytes()].concat();
        let sum = [&self.bytes[addresses], &rest, &right.bytes[self.tcp_at()..]]
            .iter()
            .map(|part| sum(part))
            .sum();
        right.bytes[at..at + 2].copy_from_slice(&(!fold(sum)).to_be_bytes());
        right
    }

    fn is_ipv4(&self) -> bool {
        self.bytes[0] >> 4 == 4
    }

    fn tcp_at(&self) -> usize {
        if self.is_ipv4() {
            usize::from(self.bytes[0] & 15) * 4
        } else {
            IPV6_HEADER_BYTES
        }
    }

    fn payload_at(&self) -> usize {
        self.tcp_at() + usize::from(self.bytes[self.tcp_at() + 12] >> 4) * 4
    }

    fn is_data(&self) -> bool {
        let protocol = match self.bytes[0] >> 4 {
            4 => self.bytes[9],
            6 => self.bytes[6],
            _ => return false,
        };
        let options_at = self.tcp_at() + TCP_OPTIONS_AT;
        protocol == TCP_PROTOCOL
            && self.bytes.len() > options_at + TIMESTAMPS.len()
            && self.bytes.len() > self.payload_at() + 1000
            && self.bytes[options_at..].starts_with(&TIMESTAMPS)
    }

    fn send_to<T>(&self, family: libc::c_int, address: &T) {
        let socket = packet_socket(family, libc::SOCK_RAW, libc::IPPROTO_RAW);
        // SAFETY: the packet and the address are whole.
        let sent = unsafe {
            libc::sendto(
                socket.as_raw_fd(),
                self.bytes.as_ptr().cast(),
                self.bytes.len(),
                0,
                std::ptr::from_ref(address).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        assert!(sent > 0, "{}", std::io::Error::last_os_error());
    }
}

/// The sum of 16 bits each, the last one filled up.
fn sum(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2);
    pairs
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)))
        .sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn on_router<T: Send>(cable: &Cable, action: impl FnOnce() -> T + Send) -> T {
    super::transfer::on_side(cable, Side::Router, action)
}

fn packet_socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> OwnedFd {
    // SAFETY: plain numbers; what the kernel opens is ours.
    unsafe {
        let socket = libc::socket(family, kind, protocol);
        assert!(socket >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(socket)
    }
}

fn bind_to_device(cable: &Cable, socket: &OwnedFd) {
    // SAFETY: the name ends with zero.
    let index = on_router(cable, || unsafe { libc::if_nametoindex(DEVICE.as_ptr()) });
    // SAFETY: all zero is a valid address, and it has the length given.
    let result = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as libc::c_int;
        let length = size_of_val(&address) as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
