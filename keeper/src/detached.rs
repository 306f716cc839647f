// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process of its own, in a session of its own, that nobody waits for.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::unistd::{ForkResult, fork as fork_process, setsid};

/// Forks; answers `true` in the new process, `false` in the old one.
///
/// The new process keeps nothing open that was handed to this one: whoever waits for the end
/// of a pipe or for a lock must not wait for it. Call it while there is a single thread.
pub fn fork() -> Result<bool> {
    // SAFETY: there is a single thread, so the child may go on as the parent would have.
    match unsafe { fork_process() }.context("fork")? {
        ForkResult::Parent { .. } => Ok(false),
        ForkResult::Child => {
            setsid().context("setsid")?;
            std::env::set_current_dir("/").context("/")?;
            name_it();
            close_inherited()?;
            Ok(true)
        }
    }
}

/// What `ps` and `top` show.
fn name_it() {
    // SAFETY: the name is a C string of less than 16 bytes; it is only a name if it fails.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"ebb-keeper".as_ptr()) };
}

fn close_inherited() -> Result<()> {
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .context("/dev/null")?;
    for standard in 0..3 {
        // SAFETY: replaces a standard stream; no object here owns those descriptors.
        Errno::result(unsafe { libc::dup2(null.as_raw_fd(), standard) }).context("dup2")?;
    }
    let listed = std::fs::read_dir("/proc/self/fd").context("/proc/self/fd")?;
    let open: Vec<RawFd> = listed
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: asks about a number. What this program opens is closed on exec, so what is
        // not came through exec from our parent, and no object here owns it.
        unsafe {
            let flags = libc::fcntl(descriptor, libc::F_GETFD);
            if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
                libc::close(descriptor);
            }
        }
    }
    Ok(())
}
