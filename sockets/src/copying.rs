// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies of other processes' descriptors, and whether they are to be had.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

use crate::error::{Error, Result};

/// A descriptor for a process, which stays that process's even if its number is used again.
pub(crate) fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers; the descriptor that it answers is ours alone.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_open, pid, 0)) }
}

/// A copy of a descriptor of another process; it is closed on exec.
pub(crate) fn copy(process: BorrowedFd<'_>, descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: as above.
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

/// Tries whether a child's descriptors can be copied. Call it while there is a single thread.
///
/// *Errors:* [`Error::CopyingRefused`] with what refuses and what to do.
pub fn probe() -> Result<()> {
    let system = |what| {
        move |errno: nix::Error| Error::System {
            what,
            source: errno.into(),
        }
    };
    let (wait_end, hold_end) = io::pipe().map_err(|source| Error::System {
        what: "pipe",
        source,
    })?;
    // SAFETY: the child makes only system calls that are safe after fork.
    match unsafe { fork() }.map_err(system("fork"))? {
        ForkResult::Child => {
            drop(hold_end);
            let mut byte = 0_u8;
            // SAFETY: reads into a byte of ours; then the process ends without clearing up.
            unsafe {
                libc::read(wait_end.as_raw_fd(), (&raw mut byte).cast(), 1);
                libc::_exit(0)
            }
        }
        ForkResult::Parent { child } => {
            let copied = copy_from(child, wait_end.as_raw_fd());
            drop(hold_end);
            let _ = waitpid(child, None);
            copied
                .map(drop)
                .map_err(|source| refusal(source, ptrace_scope()))
        }
    }
}

fn copy_from(child: Pid, descriptor: RawFd) -> io::Result<OwnedFd> {
    let process = open_process(child.as_raw().cast_unsigned())?;
    use std::os::fd::AsFd;
    copy(process.as_fd(), descriptor)
}

/// Yama's setting; `None` where there is no Yama.
fn ptrace_scope() -> Option<u8> {
    let text = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    text.trim().parse().ok()
}

/// Puts what the kernel said into words.
fn refusal(source: io::Error, ptrace_scope: Option<u8>) -> Error {
    let (why, remedy) = match (ptrace_scope, source.raw_os_error()) {
        (Some(3), _) => (
            "Yama forbids it to everybody on this machine (kernel.yama.ptrace_scope = 3)",
            "the setting can only be lowered by a restart; as root the kernel backend works: \
             sudo ebb run",
        ),
        (Some(2), _) => (
            "Yama allows it to administrators only (kernel.yama.ptrace_scope = 2)",
            "as root: sysctl kernel.yama.ptrace_scope=1, or sudo ebb run",
        ),
        (_, Some(libc::ENOSYS)) => (
            "the kernel is older than 5.6, or a system call filter hides the call",
            "in a container allow pidfd_getfd in its seccomp profile; else use a newer kernel",
        ),
        (_, Some(libc::EPERM | libc::EACCES)) => (
            "a system call filter (seccomp) or a security module refuses it, as containers' \
             default profiles do",
            "start the container with --cap-add SYS_PTRACE or a seccomp profile that allows \
             pidfd_open and pidfd_getfd",
        ),
        _ => (
            "the kernel refuses it",
            "as root the kernel backend may work: sudo ebb run",
        ),
    };
    Error::CopyingRefused {
        why,
        remedy,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(scope: Option<u8>, errno: i32) -> String {
        refusal(io::Error::from_raw_os_error(errno), scope).to_string()
    }

    #[test]
    fn each_reason_for_a_refusal_is_told_with_its_remedy() {
        assert!(told(Some(2), libc::EPERM).contains("sysctl kernel.yama.ptrace_scope=1"));
        assert!(told(Some(3), libc::EPERM).contains("restart"));
        assert!(told(None, libc::EPERM).contains("--cap-add SYS_PTRACE"));
        assert!(told(Some(1), libc::EPERM).contains("seccomp"));
        assert!(told(None, libc::ENOSYS).contains("older than 5.6"));
    }
}
