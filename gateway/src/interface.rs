// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interfaces of this thread's network namespace.

use crate::error::{Error, Result};
use ebb_host::sysctl;
use std::ffi::CString;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// Kinds of links whose packets have no header in front of IP's: tunnels, TUN, PPP, raw IP.
const BARE: [u16; 7] = [
    libc::ARPHRD_NONE,
    libc::ARPHRD_PPP,
    libc::ARPHRD_TUNNEL,
    libc::ARPHRD_TUNNEL6,
    libc::ARPHRD_SIT,
    libc::ARPHRD_IPGRE,
    519, // ARPHRD_RAWIP
];
/// Of these, those whose packets have the header of the tunnel in front of IP's, as programs see
/// them when they come in, before this release (its commit "ipip: allow redirecting ipip and mplsip
/// packets to eth devices", and those beside it).
const TUNNELS: [u16; 4] = [
    libc::ARPHRD_TUNNEL,
    libc::ARPHRD_TUNNEL6,
    libc::ARPHRD_SIT,
    libc::ARPHRD_IPGRE,
];
const TUNNELS_SINCE: (u32, u32) = (5, 14);
const ETHERNET_BYTES: u32 = 14;
const RELEASE: &str = "kernel.osrelease";

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    name: String,
    number: u32,
    link_bytes: u32,
}

impl Interface {
    /// The interface of this name.
    ///
    /// *Errors:* [`Error::NoInterface`]; [`Error::Loopback`]; [`Error::UnknownLink`];
    /// [`Error::OldTunnel`].
    pub fn of(name: &str) -> Result<Self> {
        let none = |source| Error::NoInterface {
            name: name.to_owned(),
            source,
        };
        let number = number_of(name).map_err(none)?;
        let kind = kind_of(name).map_err(none)?;
        let name = name.to_owned();
        let link_bytes = match kind {
            libc::ARPHRD_ETHER => ETHERNET_BYTES,
            libc::ARPHRD_LOOPBACK => return Err(Error::Loopback { name }),
            kind if TUNNELS.contains(&kind) && !shows_tunnels() => {
                let release = sysctl(RELEASE).unwrap_or_default();
                return Err(Error::OldTunnel { name, release });
            }
            kind if BARE.contains(&kind) => 0,
            kind => return Err(Error::UnknownLink { name, kind }),
        };
        Ok(Self {
            name,
            number,
            link_bytes,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Of the header in front of packets.
    pub(crate) fn link_bytes(&self) -> u32 {
        self.link_bytes
    }

    /// Whether clients behind it have addresses of Ethernet.
    pub fn has_macs(&self) -> bool {
        self.link_bytes != 0
    }

    /// Whether it is still there, and still the same.
    pub fn exists(&self) -> bool {
        number_of(&self.name).is_ok_and(|number| number == self.number)
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// No type of the kernel's tells it, so its release does. What cannot be read is new.
fn shows_tunnels() -> bool {
    let release = sysctl(RELEASE);
    let version = release.as_deref().and_then(version);
    version.is_none_or(|it| it >= TUNNELS_SINCE)
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|it: char| !it.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

fn number_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends with a zero, which lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

fn kind_of(name: &str) -> io::Result<u16> {
    // By numbers: of text the resolver would be asked, which is large in a static program.
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
        .or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
    // SAFETY: plain data for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the request is of the size that the kernel expects, and lives through the call.
    let asked = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFHWADDR as _,
            &raw mut request,
        )
    };
    if asked < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: this is the member that the request fills in.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn releases_have_two_numbers_first() {
        assert_eq!(version("5.10.0-32-cloud-amd64"), Some((5, 10)));
        assert_eq!(version("6.1-rc3+"), Some((6, 1)));
        assert_eq!(version("unknown"), None);
    }
}
