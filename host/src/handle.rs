// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hold on a process, and copies of its descriptors.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A descriptor for a process (a pidfd), which stays that process's even if its number is used
/// again.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// Takes hold of a process.
    ///
    /// *Errors*: there is none of that number; the kernel is older than 5.3; there is no
    /// descriptor left.
    pub fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: takes plain numbers; the descriptor that it answers is ours alone.
        unsafe { owned(libc::syscall(libc::SYS_pidfd_open, pid, 0)) }.map(Self)
    }

    /// Whether the process has ended, also if nobody has waited for it yet. Needs no descriptor.
    pub fn has_ended(&self) -> bool {
        let mut ended = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
        // Nothing to wait for: it cannot be interrupted.
        poll(&mut ended, PollTimeout::ZERO).is_ok_and(|ended| ended > 0)
    }

    /// A copy of a descriptor of the process; it is closed on exec.
    ///
    /// *Errors*: as [`copy_descriptor`].
    pub fn copy_descriptor(&self, descriptor: RawFd) -> io::Result<OwnedFd> {
        copy_descriptor(self.as_fd(), descriptor)
    }
}

impl From<OwnedFd> for ProcessHandle {
    /// A descriptor that is one for a process, as SO_PEERPIDFD answers.
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A copy of a descriptor of another process, given a handle of it; it is closed on exec.
///
/// *Errors*: process or descriptor are gone; it is not ours to look into; the kernel is older
/// than 5.6; there is no descriptor left.
pub fn copy_descriptor(process: BorrowedFd<'_>, descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the handle is open, the rest plain numbers; the answer is ours alone.
    unsafe {
        owned(libc::syscall(
            libc::SYS_pidfd_getfd,
            process.as_raw_fd(),
            descriptor,
            0,
        ))
    }
}

/// # Safety
/// The number is the answer of a system call that makes descriptors.
unsafe fn owned(answer: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(answer) {
        // SAFETY: the caller's.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_has_ended_before_anybody_waits_for_it() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let handle = ProcessHandle::open(child.id()).unwrap();
        assert!(!handle.has_ended());
        child.kill().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !handle.has_ended() {
            assert!(Instant::now() < deadline);
        }
        child.wait().unwrap();
        assert!(handle.has_ended());
        assert!(ProcessHandle::open(u32::MAX).is_err());
    }
}
