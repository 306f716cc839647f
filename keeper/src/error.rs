// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ebb_algorithms::{PolicyError, counter_laws};
use ebb_sharing::SharingError;

use crate::ebbd::ServiceError;
use crate::protocol::VERSION;

/// Answer of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong; each message, with its causes, says what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel backend cannot do it.
    #[error(transparent)]
    Kernel(#[from] ebb_kernel::Error),
    /// The user backend cannot do it.
    #[error(transparent)]
    Sockets(#[from] ebb_sockets::Error),
    /// The gateway cannot do it.
    #[error(transparent)]
    Gateway(#[from] ebb_gateway::Error),
    /// The gateway's programs are where nothing passes any more.
    #[error(
        "{interface} has gone, or another program has taken the gateway's off it: start it again"
    )]
    GatewayLost {
        /// The interface.
        interface: String,
    },
    /// A gateway is on an interface.
    #[error("a gateway acts on an interface and not on what this machine runs: 'ebb gateway'")]
    ByInterface,
    /// What a gateway cannot change.
    #[error("a gateway changes all at once: its rules say which connections yield")]
    NotByGateway,
    /// The machine cannot tell of a process.
    #[error(transparent)]
    Host(#[from] ebb_host::Error),
    /// A policy was not understood.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Rates cannot be shared so.
    #[error(transparent)]
    Sharing(#[from] SharingError),
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
    /// A process is not there, or cannot be looked into.
    #[error("process {pid}")]
    Process {
        /// Its number.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },

    /// There is no such backend.
    #[error("no backend is called '{name}'; there are: kernel, user")]
    NoBackend {
        /// What was asked for.
        name: String,
    },
    /// A law judges packets, which the user backend does not see.
    #[error(
        "the law '{law}' judges every packet, which only the kernel backend sees (as root); the \
         user backend has the laws {}", counter_laws().iter().map(|law| law.name).collect::<Vec<_>>().join(" and ")
    )]
    NotForUserBackend {
        /// The law.
        law: &'static str,
    },
    /// The kernel backend does not know ports.
    #[error(
        "the kernel backend knows processes and cgroups, not ports: --backend user attaches to \
         port {port}, also as root"
    )]
    NoPorts {
        /// The port.
        port: u16,
    },
    /// A thread of the kernel has no connections.
    #[error("process {pid} is a thread of the kernel, which has no connections to hold back")]
    KernelThread {
        /// Its number.
        pid: u32,
    },
    /// A program's connections are out of reach of the user backend.
    #[error(
        "{} runs with other privileges than yours (setuid, setgid or capabilities), so that its \
         connections are out of reach without root: put 'sudo' in front of ebb, or run a program \
         without them", file.display()
    )]
    OtherPrivileges {
        /// The program's file.
        file: PathBuf,
    },
    /// Several cgroups have a name.
    #[error("{what}: there are {} ({}); choose one by --cgroup", paths.len(), list(paths))]
    SeveralCgroupsOf {
        /// The unit or container.
        what: String,
        /// The cgroups.
        paths: Vec<PathBuf>,
    },
    /// No cgroup has a name.
    #[error("{what}: there is no cgroup of it; {hint}")]
    NoCgroupOf {
        /// The unit or container.
        what: String,
        /// What would be right.
        hint: String,
    },
    /// The cgroup of a name cannot be used.
    #[error("{what}")]
    CgroupOf {
        /// The unit or container.
        what: String,
        /// Why.
        source: ebb_kernel::Error,
    },
    /// There is no such user.
    #[error("--user {name}: there is no such user (see 'getent passwd')")]
    NoUser {
        /// The name, or number.
        name: String,
    },
    /// A user cannot be looked up.
    #[error("--user {name}{why}")]
    User {
        /// The name, or number.
        name: String,
        /// What of the user.
        why: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Only root can run something as somebody else.
    #[error(
        "--user {name}: only root can run a command as somebody else: put 'sudo' in front, or \
         leave --user away ({cause})"
    )]
    OnlyRootBecomes {
        /// Who it was to be.
        name: String,
        /// What the system said.
        cause: io::Error,
    },
    /// This root cannot run anything as somebody else.
    #[error(
        "--user {name}: this root cannot become somebody else: it lacks CAP_SETUID and \
         CAP_SETGID, as in some containers, or that user is not in this user namespace; leave \
         --user away ({cause})"
    )]
    CannotBecome {
        /// Who it was to be.
        name: String,
        /// What the system said.
        cause: io::Error,
    },

    /// It holds nothing any more.
    #[error("it has been detached")]
    Released,
    /// It cannot be changed at all.
    #[error("{how}")]
    Fixed {
        /// Why, and what would be right.
        how: String,
    },
    /// Nothing is held that way.
    #[error("no policy is for this direction any more")]
    NoPolicyForDirection,
    /// A connection that is named is there no more.
    #[error("the connection has ended")]
    ConnectionEnded,
    /// No rate.
    #[error("a minimum is a rate in bits per second, as 2mbit or 500kbit, or none; not '{text}'")]
    NoMinimum {
        /// What it was.
        text: String,
    },
    /// No moment.
    #[error(
        "a deadline is a time of day, a date with one, or a duration, as 06:00, 2026-11-26 06:00 \
         or 1h30m; not '{text}'"
    )]
    NoDeadline {
        /// What it was.
        text: String,
    },
    /// No size of data.
    #[error("a size is in bytes, as 40GB, 1.5TB or 700MiB; not '{text}'")]
    NoSize {
        /// What it was.
        text: String,
    },
    /// The kernel backend has one policy for all that is attached together.
    #[error("with the kernel backend all that is attached together has one policy")]
    OnePolicy,
    /// A law is for the other direction of a connection.
    #[error("'{policy}' is not for this direction")]
    OtherDirection {
        /// The policy.
        policy: String,
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
    /// The service cannot be asked.
    #[error(transparent)]
    Service(#[from] ServiceError),
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
    /// A governor that was started has not come so far as to start the command.
    #[error("the governor died before it had started the command")]
    GovernorDied,
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

    /// A program that is to share cannot be held.
    #[error("program `{name}`")]
    Program {
        /// Its name in the plan.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// A command that is to share cannot be started.
    #[error("{program}: {cause}")]
    NotStarted {
        /// Its program.
        program: String,
        /// Why.
        cause: String,
    },
    /// A plan for sharing cannot be changed so.
    #[error(
        "{}: other programs than at the start; only weight, minimum and priority can change",
        file.display()
    )]
    OtherPrograms {
        /// The file that says how programs share.
        file: PathBuf,
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

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
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
