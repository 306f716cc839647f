// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use std::io;

use crate::socket::Kind;

/// Answer of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each message ends with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel does not let one process copy a descriptor of another.
    #[error("its sockets cannot be reached: {why}; {remedy} (pidfd_getfd: {source})")]
    CopyingRefused {
        /// What refuses.
        why: &'static str,
        /// What to do.
        remedy: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The process that is to be followed is not there.
    #[error(transparent)]
    NoProcess(#[from] ebb_host::Error),
    /// The cgroup that is to be followed is not there.
    #[error("{}: {source}; name the directory of a cgroup (version 2)", directory.display())]
    NoCgroup {
        /// Its directory.
        directory: std::path::PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Another user's process.
    #[error(
        "process {pid} is {owner}'s, and whose it is not cannot reach its connections; {remedy}"
    )]
    OtherUsers {
        /// Its number.
        pid: u32,
        /// Whose it is.
        owner: String,
        /// What to do.
        remedy: &'static str,
    },
    /// What was given is no socket.
    #[error("it is no open socket: {source}; give the descriptor of a TCP socket")]
    NotASocket {
        /// What the kernel said.
        source: io::Error,
    },
    /// What was given is no TCP socket.
    #[error("{0}: only TCP can be made to yield")]
    NotTcp(Kind),
    /// What was given waits for connections.
    #[error("the socket waits for connections: give those that it accepts")]
    Listens,
    /// A system call that always works did not.
    #[error("{what}: {source}; 'ebb doctor' shows what this machine offers")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}
