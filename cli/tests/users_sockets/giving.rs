// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A socket is given to another process (SCM_RIGHTS).

use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;

/// With room for one descriptor, and for what is before it.
struct Message {
    byte: [u8; 1],
    part: libc::iovec,
    control: [u64; 4],
    header: libc::msghdr,
}

impl Message {
    fn new() -> Box<Self> {
        // SAFETY: zeroes are valid: there is nothing in it.
        let mut message: Box<Self> = Box::new(unsafe { mem::zeroed() });
        message.part.iov_base = (&raw mut message.byte).cast();
        message.part.iov_len = 1;
        message.header.msg_iov = &raw mut message.part;
        message.header.msg_iovlen = 1;
        message.header.msg_control = (&raw mut message.control).cast();
        // SAFETY: plain numbers.
        message.header.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as usize;
        message
    }
}

/// Gives one to whoever is at the other end.
pub fn give(to: &UnixStream, descriptor: RawFd) {
    let message = Message::new();
    // SAFETY: there is room for one, and all of it outlives the call.
    let sent = unsafe {
        let control = libc::CMSG_FIRSTHDR(&raw const message.header);
        (*control).cmsg_level = libc::SOL_SOCKET;
        (*control).cmsg_type = libc::SCM_RIGHTS;
        (*control).cmsg_len = libc::CMSG_LEN(4) as usize;
        ptr::write_unaligned(libc::CMSG_DATA(control).cast(), descriptor);
        libc::sendmsg(to.as_raw_fd(), &raw const message.header, 0)
    };
    assert_eq!(sent, 1, "{}", std::io::Error::last_os_error());
    drop(message);
}

/// Takes what was given.
pub fn take(from: &UnixStream) -> OwnedFd {
    let mut message = Message::new();
    // SAFETY: as there; what is taken is nobody else's.
    unsafe {
        let taken = libc::recvmsg(
            from.as_raw_fd(),
            &raw mut message.header,
            // Programs of other tests, which start meanwhile, do not have it.
            libc::MSG_CMSG_CLOEXEC,
        );
        assert_eq!(taken, 1, "{}", std::io::Error::last_os_error());
        let control = libc::CMSG_FIRSTHDR(&raw const message.header);
        assert!(!control.is_null() && (*control).cmsg_type == libc::SCM_RIGHTS);
        OwnedFd::from_raw_fd(ptr::read_unaligned(libc::CMSG_DATA(control).cast()))
    }
}
