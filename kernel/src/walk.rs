// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walks over the TCP sockets of network namespaces, by an iterator program.

use crate::error::{Error, Result};
use crate::namespaces::Namespaces;
use crate::sys;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Runs an iterator in each namespace and gives all that it wrote. A namespace that
/// cannot be entered keeps no other from being visited.
pub(crate) fn walk(program: BorrowedFd<'_>, namespaces: &Namespaces) -> Result<Vec<u8>> {
    let mut written = Vec::new();
    let mut failure = None;
    for namespace in namespaces.iter() {
        let part = std::thread::scope(|scope| {
            scope
                .spawn(|| walk_one(program, namespace))
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the walking thread panicked")))
        });
        match part {
            Ok(part) => written.extend(part),
            Err(source) => failure = failure.or(Some(source)),
        }
    }
    match failure {
        None => Ok(written),
        Some(source) => Err(Error::Program {
            what: "the walk over TCP sockets".to_owned(),
            action: "run",
            source,
        }),
    }
}

/// Runs in a thread of its own, which stays in the namespace until it ends.
fn walk_one(program: BorrowedFd<'_>, namespace: &File) -> io::Result<Vec<u8>> {
    // SAFETY: the descriptor is open; only this thread moves.
    sys::check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
    let mut written = Vec::new();
    File::from(sys::iterate(program)?).read_to_end(&mut written)?;
    Ok(written)
}
