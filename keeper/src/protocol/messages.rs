// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said, by whom. Who asks for something is refused what is not understood to the last
//! field, for half of it would be something else; of an answer more may be told than is known.

use std::path::PathBuf;

use ebb_host::clock::unix_time;
use ebb_sockets::Note;
use serde::{Deserialize, Serialize};

use super::desk::Refusal;
use crate::deadline::{By, Deadline};
use crate::error::{Error, Result};
use crate::flow::{Direction, FlowView};
use crate::summary::Summary;

/// What a keeper can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Lift everything and keep nothing attached any more.
    Detach,
    /// Go on with another policy.
    SetPolicy(String),
    /// Go on with another policy for what is sent, or begin with one; `none` ends it.
    SetUploadPolicy(String),
    /// Another rate that all connections have together at the least, each way; `none` ends it.
    SetMinimum(String),
    /// Another deadline, which counts from now on; none ends it.
    SetDeadline(Option<Due>),
    /// Watch only, or act again.
    SetObserving(bool),
    /// Switch some of the connections only.
    Switch {
        /// Which.
        whose: Part,
        /// To what.
        to: Switch,
    },
    /// Tell of every connection.
    Flows,
}

/// Until when how much is to be transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Due {
    /// Seconds since 1970.
    pub by_unix_s: u64,
    /// Payload, both ways together; more than 0.
    pub size_bytes: u64,
}

/// Some of the connections of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Part {
    /// One connection, one way.
    Connection {
        /// Its socket's number.
        cookie: u64,
        /// Which way.
        direction: Direction,
    },
    /// Those of a process, now and later.
    Process {
        /// Its number.
        pid: u32,
    },
}

impl Due {
    /// As it is from now on.
    pub fn of(deadline: Deadline) -> Self {
        Self {
            by_unix_s: deadline.by.from(unix_time().as_secs()),
            size_bytes: deadline.size_bytes,
        }
    }

    /// As policies have it.
    ///
    /// *Errors:* [`Error::NoSize`].
    pub fn deadline(self) -> Result<Deadline> {
        match self.size_bytes {
            0 => Err(Error::NoSize { text: "0".into() }),
            size_bytes => Ok(Deadline {
                by: By::At(self.by_unix_s),
                size_bytes,
            }),
        }
    }
}

/// What some connections can be switched to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Switch {
    /// No limit.
    Free,
    /// Limits again.
    Held,
    /// Another policy, for the way that its law is for.
    Policy(String),
}

/// What a keeper answers, once to each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// It is done.
    Done,
    /// Every connection.
    Flows(Vec<FlowView>),
    /// It is not done.
    Refused {
        /// Why, and what would be right.
        cause: String,
    },
}

impl Refusal for Reply {
    fn refusal(cause: String) -> Self {
        Self::Refused { cause }
    }
}

/// What a keeper tells who started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromKeeper {
    /// The policy is active.
    Ready {
        /// On this cgroup, if on one.
        cgroup: Option<PathBuf>,
    },
    /// Another Ebb acts on these connections already.
    AlreadyAttached {
        /// Which.
        cause: String,
    },
    /// It cannot be done, or goes on no more.
    Refused {
        /// Why.
        cause: String,
    },
    /// The command runs.
    Started {
        /// Its number.
        pid: i32,
    },
    /// The command could not be started.
    NotStarted {
        /// The exit status that shells give to this.
        status: u8,
        /// What the system said.
        errno: i32,
    },
    /// Something that people should know at once.
    Notice {
        /// The text.
        text: String,
    },
    /// The command was stopped, as at the terminal.
    Stopped {
        /// By which signal.
        signal: i32,
    },
    /// The command has ended.
    Ended {
        /// As a shell would give it.
        status: u8,
        /// What came of it; none: the policy ended before.
        summary: Option<Box<Summary>>,
    },
    /// What came of it, since the starter says that it is done.
    Summary(Box<Summary>),
}

/// What a starter tells its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromStarter {
    /// The command has ended, and its end is known: a starter that goes without it was killed.
    Done,
}

/// What a governor tells its guardian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromGovernor {
    /// It lives.
    Beat {
        /// The command that it has started, if any.
        command: Option<i32>,
    },
    /// What it is about to do to a connection.
    Note(Note),
}

/// What is never said, where only one end speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}
