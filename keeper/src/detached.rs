// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process of its own, in a session of its own, that nobody waits for.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use ebb_host::NO_FORK;
use nix::errno::Errno;
use nix::unistd::{ForkResult, fork as fork_process, setsid};

use crate::error::{Result, Trying};

/// Forks; answers `true` in the new process, `false` in the old one.
///
/// The new process keeps nothing open that was handed to this one: whoever waits for the end
/// of a pipe or for a lock must not wait for it. Call it while there is a single thread.
pub fn fork() -> Result<bool> {
    // SAFETY: there is a single thread, so the child may go on as the parent would have.
    match unsafe { fork_process() }.trying(NO_FORK)? {
        ForkResult::Parent { .. } => Ok(false),
        ForkResult::Child => {
            setsid().trying("setsid")?;
            name_process(c"ebb-keeper");
            leave_streams_and_directory()?;
            close_inherited()?;
            Ok(true)
        }
    }
}

/// What `ps` and `top` show.
pub fn name_process(name: &CStr) {
    // SAFETY: the name is a C string of less than 16 bytes; it is only a name if it fails.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Whoever waits for the end of our output must not wait for us, nor who wants to unmount where
/// we are.
pub fn leave_streams_and_directory() -> Result<()> {
    std::env::set_current_dir("/").trying("chdir")?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.trying("/dev/null")?;
    for standard in 0..3 {
        // SAFETY: replaces a standard stream; no object here owns those descriptors.
        Errno::result(unsafe { libc::dup2(null.as_raw_fd(), standard) }).trying("dup2")?;
    }
    Ok(())
}

fn close_inherited() -> Result<()> {
    let listed = std::fs::read_dir("/proc/self/fd").trying("/proc/self/fd")?;
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
