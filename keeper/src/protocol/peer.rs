// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is at the other end of a socket, beyond its credentials.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use ebb_host::ProcessHandle;
use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};

/// No user is in more groups (NGROUPS_MAX of the kernel).
const MOST_GROUPS: usize = 65_536;

/// A hold on the process that connected, whose number is `pid`. Before Linux 6.5 it is whoever has
/// that number by now: whether it is the same has to be told by what else is known of it.
///
/// *Errors*: it has ended, or cannot be seen from here.
pub fn process_of(socket: BorrowedFd<'_>, pid: i32) -> io::Result<ProcessHandle> {
    match getsockopt(&socket, sockopt::PeerPidfd) {
        Ok(process) => Ok(process.into()),
        Err(Errno::ENOPROTOOPT) => ProcessHandle::open(u32::try_from(pid).unwrap_or(0)),
        Err(error) => Err(error.into()),
    }
}

/// The groups that it was in when it connected, beside its own.
///
/// *Errors*: the system does not tell.
pub fn groups_of(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let mut bytes = u32::try_from(size_of_val(groups.as_slice())).unwrap_or(u32::MAX);
        // SAFETY: there is room for so many bytes, and any of them are numbers.
        let answer = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        match Errno::result(answer) {
            Ok(_) => {
                groups.truncate(bytes as usize / size_of::<u32>());
                return Ok(groups);
            }
            // It says how much room there has to be.
            Err(Errno::ERANGE) if groups.len() < MOST_GROUPS => groups.resize(MOST_GROUPS, 0),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn this_process_is_known_to_its_own_other_end() {
        let (here, _there) = UnixStream::pair().unwrap();
        let pid = std::process::id().cast_signed();
        assert!(!process_of(here.as_fd(), pid).unwrap().has_ended());
        let mut own = vec![0; MOST_GROUPS];
        // SAFETY: there is room for so many.
        let count = unsafe { libc::getgroups(own.len() as i32, own.as_mut_ptr()) };
        own.truncate(usize::try_from(count).unwrap());
        assert_eq!(groups_of(here.as_fd()).unwrap(), own);
    }
}
