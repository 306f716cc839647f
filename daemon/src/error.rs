// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the service cannot do something, and what to do about it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ebb_scenario::Problem;

/// Answer of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong; each message, with its causes, says what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is held cannot be held, or not changed.
    #[error(transparent)]
    Keeper(#[from] ebb_keeper::Error),
    /// A rule cannot be held.
    #[error("rule {name}")]
    Rule {
        /// Its name.
        name: String,
        /// Why.
        source: ebb_keeper::Error,
    },
    /// A gateway cannot be kept, or not on all its interfaces.
    #[error("gateway of {}", file.display())]
    Gateway {
        /// The file that says so.
        file: PathBuf,
        /// Why.
        source: ebb_keeper::Error,
    },
    /// The kernel cannot judge cgroups.
    #[error("the rules cannot be put into the kernel")]
    Judge {
        /// Why.
        #[from]
        source: ebb_keeper::kernel::KernelError,
    },
    /// A file or folder cannot be read.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Files of rules are wrong. *Shape:* one or more, in the order of the files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<Problem>),
    /// There is a service already.
    #[error(
        "another ebbd runs already (it has locked {}): 'systemctl status ebbd' tells of it, \
         'systemctl reload ebbd' has it read its rules again", path.display()
    )]
    RunsAlready {
        /// The file that it has locked.
        path: PathBuf,
    },
    /// What is to be served cannot be.
    #[error(
        "nothing is served at {address}: choose another port for `listen` in settings/ebbd.toml if \
         somebody else has it"
    )]
    Serve {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody can be served.
    #[error("neither metrics nor the page are served")]
    NoServer(#[source] io::Error),
    /// Users have as many different policies as the kernel has room for.
    #[error(
        "users have {most} different policies in force here, and there is no room for more: leave \
         --policy and --upload-policy away, or try again later"
    )]
    TooManyPolicies {
        /// The most.
        most: usize,
    },
    /// What comes of the rules is not written down.
    #[error("there is no history of the rules")]
    NoHistory(#[source] io::Error),
    /// A process cannot be looked at.
    #[error("process {pid}")]
    Process {
        /// Its number.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_path_buf(),
            source,
        }
    }
}
