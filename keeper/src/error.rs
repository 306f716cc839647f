// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::VERSION;

/// Answer of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each message, with its causes, ends with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call that always works did not.
    #[error("{what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file or directory cannot be used.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is attached cannot be noted where it was to be.
    #[error("{}: {what}; EBB_RUNTIME_DIR is to name a directory of your own", path.display())]
    NoRuntimeDirectory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// What is attached would be noted in somebody else's directory.
    #[error("{}: belongs to user {owner}; EBB_RUNTIME_DIR names another directory", path.display())]
    OthersRuntimeDirectory {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Not the user whose keeper it should be listens on a socket.
    #[error("{}: user {owner} listens there", path.display())]
    OthersSocket {
        /// The socket.
        path: PathBuf,
        /// Who listens.
        owner: u32,
    },
    /// Another Ebb acts on these connections already.
    #[error("{cause}")]
    AlreadyAttached {
        /// Which, and what would be right, as the keeper said.
        cause: String,
    },
    /// A keeper cannot keep it.
    #[error("{cause}")]
    CannotKeep {
        /// Why, and what would be right, as the keeper said.
        cause: String,
    },
    /// A keeper that was started has not come so far as to say anything.
    #[error("the keeper of the policy died while starting")]
    KeeperDied {
        /// What came instead.
        source: Box<Error>,
    },
    /// Nobody keeps it any more.
    #[error("its keeper has ended")]
    KeeperEnded,
    /// A keeper cannot be asked, or answers nothing, or not in words of ours.
    #[error("the keeper does not answer")]
    NoAnswer {
        /// What came instead.
        source: Box<Error>,
    },
    /// What came is an answer to something else.
    #[error("it answers what nobody asked")]
    OtherAnswer,
    /// A keeper did not do what it was asked for.
    #[error("{cause}")]
    Refused {
        /// Why, and what would be right, as it said itself.
        cause: String,
    },
    /// Another version of the protocol is spoken there.
    #[error(
        "it speaks version {theirs} of Ebb's protocol, and this is version {VERSION}: use the \
         'ebb' that it was started by, or start it again by this one"
    )]
    OtherVersion {
        /// The other one.
        theirs: u64,
    },
    /// What arrived is no message of the protocol.
    #[error("it is no message of version {VERSION} of Ebb's protocol (docs/protocol.md)")]
    NoMessage {
        /// Where it is wrong, and why.
        source: serde_json::Error,
    },
    /// A message is longer than any can be.
    #[error("a message of more than {limit_bytes} bytes, which is the most here")]
    TooLong {
        /// The most.
        limit_bytes: usize,
    },
    /// The other end went in the middle of a message.
    #[error("the message breaks off: its sender has ended, or hung up")]
    BrokenOff,
    /// The other end went without a message.
    #[error("it hung up without an answer: it has ended, or is of another version of Ebb")]
    HungUp,
    /// Nothing came in time.
    #[error("nothing was said within {} s", within.as_secs_f64())]
    Late {
        /// How long was waited.
        within: Duration,
    },
}

impl Error {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_path_buf(),
            source,
        }
    }

    pub(crate) fn keeper_died(source: Self) -> Self {
        Self::KeeperDied {
            source: Box::new(source),
        }
    }

    pub(crate) fn no_answer(source: Self) -> Self {
        Self::NoAnswer {
            source: Box::new(source),
        }
    }
}

/// Says what was tried when a system call fails.
pub(crate) trait Trying<T> {
    /// What was tried, in one or two words.
    fn trying(self, what: &'static str) -> Result<T>;
}

impl<T, E: Into<io::Error>> Trying<T> for std::result::Result<T, E> {
    fn trying(self, what: &'static str) -> Result<T> {
        self.map_err(|error| Error::System {
            what,
            source: error.into(),
        })
    }
}
