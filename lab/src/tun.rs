// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TUN devices: what the kernel sends to one is read as IP packets, and back.
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
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
/// Without offloads: the kernel cuts everything to the MTU before it is read here.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes a device in the network namespace of the calling thread; reads and writes
    /// do not block.
    ///
    /// *Errors:* [`LabError::System`] without /dev/net/tun or the privilege, or when the
    /// name is taken.
    pub fn create(name: &str) -> Result<Self, LabError> {
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
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the descriptor is open and the request outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) };
        if result < 0 {
            let action = format!("make the TUN device {name}");
            let hint = "needs CAP_NET_ADMIN, and a name that is free";
            return Err(LabError::system(action, io::Error::last_os_error(), hint));
        }
        Ok(Self { file })
    }

    /// Reads one packet that the kernel sent; `None` when there is none now.
    ///
    /// *Errors:* any other than that it would block.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives one packet to the kernel as if it had arrived on the device.
    ///
    /// *Errors:* the kernel's; for instance EIO while the device is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
