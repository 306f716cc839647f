// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces of devices on this machine: containers, virtual hosts.

use crate::condition::Mac;
use crate::error::{Error, Result};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where `ip netns` has names.
const NAMES: &str = "/run/netns";

/// The address of Ethernet by which a namespace is known outside: that of its only interface.
///
/// *Errors:* [`Error::Namespace`]: there is no such namespace, or it has none or several.
pub(crate) fn mac_in(name: &str) -> Result<Mac> {
    let path = match name.contains('/') {
        true => PathBuf::from(name),
        false => Path::new(NAMES).join(name),
    };
    let found = File::open(path).and_then(|namespace| {
        // A thread of its own enters it, and ends there.
        let thread = std::thread::Builder::new().spawn(move || macs_of(&namespace))?;
        thread.join().expect("it does not panic")
    });
    let failed = |source| Error::Namespace {
        name: name.to_owned(),
        source,
    };
    match found.map_err(failed)?.as_slice() {
        [mac] => Ok(*mac),
        macs => Err(failed(io::Error::other(format!(
            "it has {} interfaces of Ethernet: say by `mac` which one is meant",
            macs.len()
        )))),
    }
}

fn macs_of(namespace: &File) -> io::Result<Vec<Mac>> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: answers a list, or none.
    let list = unsafe { libc::if_nameindex() };
    if list.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut macs = Vec::new();
    let mut at = list;
    // SAFETY: the list ends with an entry without a name.
    while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| !entry.if_name.is_null()) {
        // SAFETY: a name that ends with a zero, which lives as long as the list.
        macs.extend(mac_of(&socket, unsafe { CStr::from_ptr(entry.if_name) }));
        // SAFETY: this was not the last entry.
        at = unsafe { at.add(1) };
    }
    // SAFETY: the list of above, which nobody uses any more.
    unsafe { libc::if_freenameindex(list) };
    Ok(macs)
}

/// None for what is no link of Ethernet, or has gone.
fn mac_of(socket: &UdpSocket, name: &CStr) -> Option<Mac> {
    // SAFETY: plain data for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *place = *byte as libc::c_char;
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
        return None;
    }
    // SAFETY: this is the member that the request fills in.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    let bytes = std::array::from_fn(|place| address.sa_data[place] as u8);
    (address.sa_family == libc::ARPHRD_ETHER).then_some(Mac(bytes))
}
