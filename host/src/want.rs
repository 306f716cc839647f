// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a machine, or what bounds a process, may have too little of.

use std::io;

/// What has run out, and where that is bounded, if this is what an error says: it tells nothing of
/// what the machine can do, and another time all may be well.
pub fn what_ran_out(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::ENOMEM => Some("memory has run out, see memory.max of this process's cgroup"),
        libc::EMFILE => Some("this process may have no more descriptors, see ulimit -n"),
        libc::ENFILE => Some("the machine has no more descriptors, see fs.file-max"),
        _ => None,
    }
}

/// What is to be said where a process cannot be forked.
pub const NO_FORK: &str =
    "no other process can be started, see pids.max of this process's cgroup and ulimit -u";
