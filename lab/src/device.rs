// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device between the kernel and the emulator: TUN, or a virtual cable where TUN is out of
//! reach, as in most containers.
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::LabError;
use crate::namespace::NamespaceHandle;
use crate::tun::{self, Tun, VirtioHeader};
use crate::veth::Veth;

/// A device whose packets are read and written here.
#[derive(Debug)]
pub enum Device {
    /// Of the TUN driver.
    Tun(Tun),
    /// A virtual cable.
    Veth(Veth),
}

impl Device {
    /// Makes a device in the namespace, which takes aggregates if it `has_offload`; reads and
    /// writes do not block.
    ///
    /// *Errors:* [`LabError`] when there can be neither kind of device, or only one that takes no
    /// aggregates, or the name is taken.
    pub fn create(
        namespace: &NamespaceHandle,
        name: &str,
        has_offload: bool,
    ) -> Result<Self, LabError> {
        // Where there must be one, what is in its way is told.
        if has_offload || tun::is_available() {
            return namespace
                .run_in(|| Tun::create(name, has_offload))?
                .map(Self::Tun);
        }
        tracing::debug!("no TUN device can be had: a virtual cable and a packet socket serve");
        Veth::create(namespace, name).map(Self::Veth)
    }

    /// Reads one packet that the kernel sent; `None` when there is none now.
    ///
    /// *Errors:* any other than that it would block.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.read(buffer),
            Self::Veth(veth) => veth.read(buffer),
        }
    }

    /// Gives one packet to the kernel as if it had arrived on the device. The header is for devices
    /// with offload; others take none but the default.
    ///
    /// *Errors:* the kernel's; for instance EIO while the device is down.
    pub fn write_with(&self, header: VirtioHeader, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.write_with(header, packet),
            Self::Veth(veth) => veth.write(packet),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Veth(veth) => veth.as_fd(),
        }
    }
}
