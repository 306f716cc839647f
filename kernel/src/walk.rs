// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walks over the TCP sockets of network namespaces, by an iterator program.

use crate::error::{Error, Result};
use crate::namespaces::Namespaces;
use crate::sys;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Runs an iterator in each namespace and gives all that it wrote. A namespace that
/// cannot be entered keeps no other from being visited.
///
/// *Errors*: [`Error::Program`] if one was not visited: no descriptor or thread is left.
pub(crate) fn walk(program: BorrowedFd<'_>, namespaces: &Namespaces) -> Result<Vec<u8>> {
    let mut written = Vec::new();
    let mut failure = None;
    for namespace in namespaces.iter() {
        match walk_in(program, namespace) {
            Ok(part) => written.extend(part),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(written), Err)
}

/// Runs an iterator in one namespace, and gives what it wrote.
///
/// *Errors*: as [`walk`].
pub(crate) fn walk_in(program: BorrowedFd<'_>, namespace: &File) -> Result<Vec<u8>> {
    // A thread of its own, which stays in the namespace until it ends.
    let walked = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new();
        let thread = builder.spawn_scoped(scope, || {
            // SAFETY: the descriptor is open; only this thread moves.
            sys::check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
            read_all(sys::iterate(program)?)
        })?;
        let panicked = |_| Err(io::Error::other("the walking thread panicked"));
        thread.join().unwrap_or_else(panicked)
    });
    walked.map_err(walk_error)
}

/// Runs an iterator over a socket storage, wherever the sockets are, and gives what it wrote.
///
/// *Errors*: as [`walk`].
pub(crate) fn walk_storage(program: BorrowedFd<'_>, storage: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let walked = sys::iterate_over(program, storage).and_then(read_all);
    walked.map_err(walk_error)
}

/// Runs an iterator that is not for a network namespace, and gives what it wrote.
///
/// *Errors*: as [`walk`].
pub(crate) fn walk_here(program: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let walked = sys::iterate(program).and_then(read_all);
    walked.map_err(walk_error)
}

fn read_all(iterator: OwnedFd) -> io::Result<Vec<u8>> {
    let mut written = Vec::new();
    File::from(iterator).read_to_end(&mut written)?;
    Ok(written)
}

fn walk_error(source: io::Error) -> Error {
    Error::Program {
        what: "the walk over TCP sockets".to_owned(),
        action: "run",
        source,
    }
}
