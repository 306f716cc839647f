// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What users say to the service, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::desk::Refusal;
use super::messages::{Due, Reply, Request};
use crate::policies::{Policies, UploadPolicy};
use crate::registry::Record;
use crate::summary::Summary;

/// What the service can be asked by any user, for what is the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServiceRequest {
    /// Hold policies.
    Hold(Order),
    /// The command has ended: tell what came of it.
    Finish {
        /// What is held for it.
        id: String,
    },
    /// Tell of all that is held for the user; for root, of all.
    Records,
    /// Tell of what is held on this.
    Find(Mine),
    /// What a keeper is asked.
    Ask {
        /// What is held.
        id: String,
        /// The request.
        request: Request,
    },
    /// Tell of connections, as far as they are under what the asker may ask about.
    FlowsOf {
        /// Their numbers (SO_COOKIE).
        cookies: Vec<u64>,
    },
    /// Sockets come under what is held for those that their process names, for who asks.
    Add {
        /// What is held.
        id: String,
        /// Which.
        sockets: Vec<Socket>,
    },
    /// Sockets of those go.
    Drop {
        /// What is held.
        id: String,
        /// Their numbers (SO_COOKIE).
        cookies: Vec<u64>,
    },
    /// What is held for sockets goes, all at once; what is not there, or not the asker's, is passed
    /// over.
    LetGo {
        /// What is held.
        #[serde(default)]
        ids: Vec<String>,
        /// Numbers (SO_COOKIE) of those that the process which asks has named.
        #[serde(default)]
        cookies: Vec<u64>,
    },
}

/// What policies, and on what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Order {
    /// On what.
    pub whose: Mine,
    /// For what arrives; none: as the service has it.
    #[serde(default)]
    pub policy: Option<String>,
    /// For what is sent, or `none`; none: as the service has it, if the kernel can.
    #[serde(default)]
    pub upload_policy: Option<String>,
    /// What all connections have together at the least, each way; none: nothing.
    #[serde(default)]
    pub minimum: Option<String>,
    /// Until when how much is to be transferred; none: whenever.
    #[serde(default)]
    pub deadline: Option<Due>,
    /// What is sent is not marked as Lower Effort.
    #[serde(default)]
    pub keeps_code_point: bool,
    /// Its connections are looked at now and then, for the summary.
    #[serde(default)]
    pub is_watched: bool,
}

/// Something of a user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mine {
    /// Who asks, and whatever it forks.
    Command {
        /// The command that it is going to start.
        words: Vec<String>,
    },
    /// A process, and its descendants.
    Process {
        /// Its number.
        pid: u32,
        /// When it started, as /proc/PID/stat has it.
        started_ticks: u64,
    },
    /// Everything of the user's in a cgroup, and in those below it.
    Cgroup {
        /// From the root of the hierarchy.
        cgroup: PathBuf,
        /// The number of its directory.
        number: u64,
    },
    /// One TCP socket of who asks.
    Socket(Socket),
    /// The TCP sockets of who asks that are added.
    Sockets,
}

/// A TCP socket of who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Socket {
    /// Its descriptor there.
    pub descriptor: i32,
    /// Its number (SO_COOKIE).
    pub cookie: u64,
}

/// What the service answers, once to each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceReply {
    /// The policies are active.
    Held(Held),
    /// What came of the command.
    Summary(Box<Summary>),
    /// What is held.
    Records(Vec<HeldRecord>),
    /// What a keeper answers.
    Answer(Reply),
    /// Another policy acts on these connections already.
    AlreadyAttached {
        /// Which.
        cause: String,
    },
    /// It is not done.
    Refused {
        /// Why, and what would be right.
        cause: String,
    },
}

/// Policies that are active.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Held {
    /// By this they are asked for.
    pub id: String,
    /// What people should know.
    pub notices: Vec<String>,
}

/// What is held for a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeldRecord {
    /// The user's number.
    pub user: u32,
    /// As it is listed.
    pub record: Record,
}

impl Order {
    /// These policies, as they were wanted.
    pub fn of(whose: Mine, policies: &Policies, is_watched: bool) -> Self {
        let upload = match &policies.upload {
            Some(policy) => UploadPolicy::Law(policy.clone()),
            None => UploadPolicy::Untouched,
        };
        Self {
            whose,
            policy: Some(policies.download.to_string()),
            upload_policy: policies.needs_upload.then(|| upload.to_string()),
            minimum: policies.minimum.as_ref().map(ToString::to_string),
            deadline: policies.deadline.map(Due::of),
            keeps_code_point: policies.keeps_code_point,
            is_watched,
        }
    }
}

impl Refusal for ServiceReply {
    fn refusal(cause: String) -> Self {
        Self::Refused { cause }
    }
}
