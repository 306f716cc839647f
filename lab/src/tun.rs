// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TUN devices: what the kernel sends to one is read as IP packets, and back.
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::LabError;

const PATH: &str = "/dev/net/tun";

/// Whether this process may make such devices, as far as the file's permissions tell.
pub fn is_available() -> bool {
    OpenOptions::new().read(true).write(true).open(PATH).is_ok()
}

/// A TUN device; it disappears when this is dropped.
///
/// The kernel cuts everything to the MTU before it is read here. Where `has_headers`, what is written
/// may be longer.
#[derive(Debug)]
pub struct Tun {
    file: File,
    has_headers: bool,
}

/// `struct virtio_net_hdr`: what a device tells of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioHeader([u8; 10]);

impl VirtioHeader {
    /// Several segments of TCP in one packet, of which only the pseudo header's sum is in the place
    /// of the checksum. *Units:* bytes: both headers, that of IP, the payload of each segment.
    pub fn of_tcp_over_ipv4(header_bytes: usize, ip_bytes: usize, segment_bytes: usize) -> Self {
        /// `VIRTIO_NET_HDR_F_NEEDS_CSUM`, `VIRTIO_NET_HDR_GSO_TCPV4`, and where the checksum is.
        const NEEDS_CHECKSUM: u8 = 1;
        const TCP_OVER_IPV4: u8 = 1;
        const CHECKSUM_AT: u16 = 16;
        let mut bytes = [0; 10];
        bytes[0] = NEEDS_CHECKSUM;
        bytes[1] = TCP_OVER_IPV4;
        let fields = [
            header_bytes as u16,
            segment_bytes as u16,
            ip_bytes as u16,
            CHECKSUM_AT,
        ];
        for (place, field) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            place.copy_from_slice(&field.to_ne_bytes());
        }
        Self(bytes)
    }
}

impl Tun {
    /// Makes a device in the network namespace of the calling thread, if it `has_headers` one that
    /// takes aggregates; reads and writes do not block.
    ///
    /// *Errors:* [`LabError::System`] without /dev/net/tun or the privilege, or when the
    /// name is taken.
    pub fn create(name: &str, has_headers: bool) -> Result<Self, LabError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(PATH)
            .map_err(|error| LabError::system(PATH, error, "needs root and the tun driver"))?;
        // SAFETY: ifreq is plain data for which zero bytes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        assert!(
            name.len() < request.ifr_name.len(),
            "interface name too long: {name}"
        );
        for (target, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *target = byte as libc::c_char;
        }
        let headers = if has_headers { libc::IFF_VNET_HDR } else { 0 };
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | headers) as libc::c_short;
        // SAFETY: the descriptor is open and the request outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) };
        if result < 0 {
            let action = format!("make the TUN device {name}");
            let hint = "needs CAP_NET_ADMIN, and a name that is free";
            return Err(LabError::system(action, io::Error::last_os_error(), hint));
        }
        Ok(Self { file, has_headers })
    }

    /// Reads one packet that the kernel sent; `None` when there is none now.
    ///
    /// *Errors:* any other than that it would block.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut header = VirtioHeader::default();
        let (read, header_bytes) = if self.has_headers {
            let parts = &mut [IoSliceMut::new(&mut header.0), IoSliceMut::new(buffer)];
            ((&self.file).read_vectored(parts), size_of_val(&header))
        } else {
            ((&self.file).read(buffer), 0)
        };
        match read {
            Ok(length) => Ok(Some(length - header_bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives one packet to the kernel as if it had arrived on the device; the header is left out
    /// where there are none.
    ///
    /// *Errors:* the kernel's; for instance EIO while the device is down.
    pub fn write_with(&self, header: VirtioHeader, packet: &[u8]) -> io::Result<()> {
        let written = if self.has_headers {
            (&self.file).write_vectored(&[IoSlice::new(&header.0), IoSlice::new(packet)])
        } else {
            (&self.file).write(packet)
        };
        written.map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
