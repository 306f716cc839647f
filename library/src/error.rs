// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use ebb_algorithms::PolicyError;

use crate::c::ebb_error;

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
    /// A minimum is no rate.
    #[error("a minimum is a rate in bits per second, as 2mbit or 500kbit, or none; not '{0}'")]
    BadMinimum(String),
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
        let number = match self {
            Self::NotASocket(_) => ebb_error::EBB_NOT_A_SOCKET,
            Self::NotTcp(_) => ebb_error::EBB_NOT_TCP,
            Self::Listens => ebb_error::EBB_LISTENS,
            Self::BadPolicy(_) => ebb_error::EBB_BAD_POLICY,
            Self::NotBySockets(_) => ebb_error::EBB_NOT_BY_SOCKETS,
            Self::NothingYields => ebb_error::EBB_NOTHING_YIELDS,
            Self::NoThread(_) => ebb_error::EBB_NO_THREAD,
            Self::System(_) => ebb_error::EBB_SYSTEM,
            Self::BadMinimum(_) => ebb_error::EBB_BAD_MINIMUM,
        };
        number as i32
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
