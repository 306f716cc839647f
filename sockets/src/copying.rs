// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies of other processes' descriptors, and whether they are to be had.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use ebb_host::{NO_FORK, ProcessHandle, real_user_of, sysctl};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, User, fork};

use crate::error::{Error, Result};

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
    match unsafe { fork() }.map_err(system(NO_FORK))? {
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

/// Tries whether descriptors of a process that we did not start can be copied.
///
/// *Errors:* [`Error::NoProcess`]; [`Error::OtherUsers`]; [`Error::CopyingRefused`] with what
/// refuses and what to do.
pub fn probe_process(pid: u32) -> Result<()> {
    let uid = real_user_of(pid)?;
    let own = nix::unistd::geteuid();
    if uid != own.as_raw() && !own.is_root() {
        let user = User::from_uid(uid.into()).ok().flatten();
        return Err(Error::OtherUsers {
            pid,
            owner: user.map_or_else(|| format!("user {uid}"), |user| user.name),
            remedy: "attach as that user, or as root: sudo ebb attach",
        });
    }
    // Whether there is a descriptor of that number is asked after permission.
    match ProcessHandle::open(pid).and_then(|process| process.copy_descriptor(0)) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::ESRCH)) => Ok(()),
        Err(source) => Err(refusal_of_process(source, ptrace_scope())),
    }
}

/// As [`refusal`], for a process that is no child of ours.
fn refusal_of_process(source: io::Error, ptrace_scope: Option<u8>) -> Error {
    let is_permission = matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES));
    let (why, remedy) = match ptrace_scope {
        Some(1) if is_permission => (
            "Yama allows it to a process's ancestors only (kernel.yama.ptrace_scope = 1)",
            "start the command by 'ebb run', which is one; or as root: sudo ebb attach, or \
             sysctl kernel.yama.ptrace_scope=0",
        ),
        None | Some(0) if is_permission => (
            "the process does not let others of its user look into it (it was setuid, or has \
             PR_SET_DUMPABLE off, as ssh-agent has), or a system call filter refuses",
            "as root: sudo ebb attach",
        ),
        // An ancestor's rights are no help.
        Some(2) if is_permission => (
            "Yama allows it to administrators only (kernel.yama.ptrace_scope = 2)",
            "as root: sudo ebb attach, or sysctl kernel.yama.ptrace_scope=0",
        ),
        _ => return refusal(source, ptrace_scope),
    };
    Error::CopyingRefused {
        why,
        remedy,
        source,
    }
}

fn copy_from(child: Pid, descriptor: RawFd) -> io::Result<OwnedFd> {
    ProcessHandle::open(child.as_raw().cast_unsigned())?.copy_descriptor(descriptor)
}

/// Yama's setting; `None` where there is no Yama.
fn ptrace_scope() -> Option<u8> {
    sysctl("kernel.yama.ptrace_scope")?.parse().ok()
}

/// Puts what the kernel said into words.
fn refusal(source: io::Error, ptrace_scope: Option<u8>) -> Error {
    let (why, remedy) = match (ptrace_scope, source.raw_os_error()) {
        (Some(3), _) => (
            "Yama forbids it to everybody on this machine (kernel.yama.ptrace_scope = 3)",
            "the setting can only be lowered by a restart; as root the kernel backend works: put \
             'sudo' in front",
        ),
        (Some(2), _) => (
            "Yama allows it to administrators only (kernel.yama.ptrace_scope = 2)",
            "as root: sysctl kernel.yama.ptrace_scope=1, or put 'sudo' in front",
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
            "as root the kernel backend may work: put 'sudo' in front",
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

    #[test]
    fn a_process_that_is_no_child_is_refused_for_its_own_reasons() {
        let told = |scope, errno| {
            refusal_of_process(io::Error::from_raw_os_error(errno), scope).to_string()
        };
        assert!(told(Some(1), libc::EPERM).contains("ptrace_scope=0"));
        assert!(told(Some(2), libc::EPERM).contains("sudo ebb attach, or sysctl"));
        assert!(told(Some(3), libc::EPERM).contains("put 'sudo' in front"));
        assert!(!told(Some(2), libc::EPERM).contains("command"));
        assert!(told(None, libc::EPERM).contains("PR_SET_DUMPABLE"));
        assert!(told(Some(0), libc::ENOSYS).contains("older than 5.6"));
        let error = probe_process(4_194_305).unwrap_err().to_string();
        assert!(error.starts_with("process 4194305"), "{error}");
        let mut child = std::process::Command::new("sleep")
            .arg("9")
            .spawn()
            .unwrap();
        assert!(probe_process(child.id()).is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
