// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use ebb_algorithms::PolicyError;

/// Answer of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each has a number, which C and Python have as well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was given is no open socket.
    #[error("it is no open socket ({0}): give the descriptor of a TCP socket")]
    NotASocket(std::io::Error),
    /// What was given is no TCP socket.
    #[error("{0}: only TCP can be made to yield")]
    NotTcp(ebb_sockets::Kind),
    /// What was given waits for connections.
    #[error("the socket waits for connections: give those that it accepts")]
    Listens,
    /// A policy cannot be read, or is for the other way.
    #[error(transparent)]
    BadPolicy(#[from] PolicyError),
    /// A law sees packets, which a program does not.
    #[error(
        "'{0}' judges every packet, which only the kernel backend sees: take sampled for downloads \
         and paced for uploads, or nothing"
    )]
    NotBySockets(&'static str),
    /// The options let nothing yield.
    #[error("neither what arrives nor what is sent is to yield: take 'foreground' for that")]
    NothingYields,
    /// There is no thread to be had.
    #[error("no thread can be started ({0}), see pids.max of this process's cgroup and ulimit -u")]
    NoThread(std::io::Error),
    /// Something that always works did not.
    #[error("{0}")]
    System(ebb_sockets::Error),
}

impl Error {
    /// Its number: 1 and more, and never another one's.
    pub fn code(&self) -> i32 {
        match self {
            Self::NotASocket(_) => 1,
            Self::NotTcp(_) => 2,
            Self::Listens => 3,
            Self::BadPolicy(_) => 4,
            Self::NotBySockets(_) => 5,
            Self::NothingYields => 6,
            Self::NoThread(_) => 7,
            Self::System(_) => 8,
        }
    }
}

impl From<ebb_sockets::Error> for Error {
    fn from(error: ebb_sockets::Error) -> Self {
        match error {
            ebb_sockets::Error::NotASocket { source } => Self::NotASocket(source),
            ebb_sockets::Error::NotTcp(kind) => Self::NotTcp(kind),
            ebb_sockets::Error::Listens => Self::Listens,
            other => Self::System(other),
        }
    }
}
