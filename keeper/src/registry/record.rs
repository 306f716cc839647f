// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is noted of each attachment.

use std::path::PathBuf;

use ebb_host::clock::unix_time;
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::held::InForce;
use crate::pursuit::Pursued;

/// One attachment, as its keeper describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Names the files: one for each thing that policies are on.
    pub id: String,
    /// What it is attached to.
    #[serde(rename = "target")]
    pub attached: Attached,
    /// How the policies reach the connections.
    #[serde(default)]
    pub backend: Backend,
    /// The policy in its shortest form.
    pub policy: String,
    /// The policy for what is sent, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_policy: Option<String>,
    /// What is sent keeps the code point that it has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_code_point: bool,
    /// What all connections have together at the least, each way, if that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<String>,
    /// How it stands with the deadline, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Pursued>,
    /// It watches only: nothing yields.
    #[serde(default)]
    pub is_observing: bool,
    /// Connections that are not governed: the kernel had no memory for their state, or the user
    /// backend no descriptor to look at them.
    #[serde(default)]
    pub ungoverned_connections: u64,
    /// The process that keeps it attached.
    pub keeper_pid: u32,
    /// Seconds since 1970.
    pub since_unix_s: u64,
    /// Whose it is, if it is another user's.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where it is asked, if not in this user's runtime directory.
    #[serde(skip)]
    pub home: Option<Home>,
}

/// Where a keeper is asked that is not this user's own process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// It is another user's.
    Neighbour(Neighbour),
    /// It is the service.
    Service {
        /// The record's name there.
        id: String,
    },
}

/// Where another user's keeper is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The user's runtime directory.
    pub directory: PathBuf,
    /// The user's number.
    pub uid: u32,
    /// The record's name there.
    pub id: String,
}

/// What a policy is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Attached {
    /// A command that `ebb run` started.
    Run {
        /// The command's words.
        command: Vec<String>,
        /// Its own cgroup, from the root of the hierarchy; the user backend makes none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cgroup: Option<PathBuf>,
    },
    /// A process.
    Process {
        /// Its number.
        pid: u32,
    },
    /// One socket of a process.
    Socket {
        /// The process.
        pid: u32,
        /// The socket's number (SO_COOKIE).
        cookie: u64,
    },
    /// The sockets of a process that it names.
    Sockets {
        /// The process.
        pid: u32,
    },
    /// Everything in a cgroup.
    Cgroup {
        /// The cgroup, from the root of the hierarchy.
        cgroup: PathBuf,
    },
    /// The connections of a TCP port, at either end.
    Port {
        /// Its number.
        port: u16,
    },
    /// Programs that share what arrives.
    Share {
        /// The file that says how.
        file: PathBuf,
        /// Those that share.
        programs: Vec<Sharer>,
    },
    /// What passes some interfaces, by the rules of a file.
    Gateway {
        /// The file.
        file: PathBuf,
        /// The interfaces behind which clients are.
        interfaces: Vec<String>,
    },
    /// Whatever a rule of the service holds for.
    Rule {
        /// Its name.
        name: String,
        /// The file that has it.
        file: PathBuf,
        /// What it has beside other rules, if that is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<u32>,
    },
    /// Whoever selects them: sender laws as congestion controls.
    Laws {
        /// The names that TCP_CONGESTION takes.
        names: Vec<String>,
    },
}

/// One of those that share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharer {
    /// Its name in the file.
    pub name: String,
    /// Whose connections, in words: `process 7`, `unit backup`, a command.
    pub who: String,
    /// The cgroup that it is, or is in.
    pub cgroup: PathBuf,
    /// The process, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Minimum, priority and weight, in words.
    pub wanted: String,
}

impl Record {
    /// Its name where it was registered.
    pub fn name(&self) -> &str {
        match &self.home {
            None => &self.id,
            Some(Home::Neighbour(Neighbour { id, .. }) | Home::Service { id }) => id,
        }
    }

    /// A record of this process and this moment.
    pub fn new(attached: Attached, id: String, backend: Backend, in_force: InForce) -> Self {
        Self {
            id,
            attached,
            backend,
            policy: in_force.policy,
            upload_policy: in_force.upload_policy,
            keeps_code_point: in_force.keeps_code_point,
            minimum: in_force.minimum,
            deadline: in_force.deadline,
            is_observing: in_force.is_observing,
            ungoverned_connections: in_force.ungoverned_connections,
            keeper_pid: std::process::id(),
            since_unix_s: unix_time().as_secs(),
            user: None,
            home: None,
        }
    }
}

impl Attached {
    /// The kind of it, as records have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Process { .. } => "process",
            Self::Socket { .. } => "socket",
            Self::Sockets { .. } => "sockets",
            Self::Cgroup { .. } => "cgroup",
            Self::Port { .. } => "port",
            Self::Share { .. } => "share",
            Self::Gateway { .. } => "gateway",
            Self::Rule { .. } => "rule",
            Self::Laws { .. } => "laws",
        }
    }

    /// What a rule has beside others, if that is said.
    pub fn weight(&self) -> Option<u32> {
        match self {
            Self::Rule { weight, .. } => *weight,
            _ => None,
        }
    }
}

/// What it is attached to, and whose it is if it is another user's.
impl std::fmt::Display for Record {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.user {
            None => self.attached.fmt(formatter),
            Some(user) => write!(formatter, "{} of {user}", self.attached),
        }
    }
}

impl std::fmt::Display for Attached {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run { command, .. } => write!(formatter, "ebb run -- {}", command.join(" ")),
            Self::Process { pid } => write!(formatter, "process {pid}"),
            Self::Socket { pid, .. } => write!(formatter, "a socket of process {pid}"),
            Self::Sockets { pid } => write!(formatter, "sockets of process {pid}"),
            Self::Cgroup { cgroup } => write!(formatter, "cgroup {}", cgroup.display()),
            Self::Port { port } => write!(formatter, "port {port}"),
            Self::Share { file, .. } => write!(formatter, "ebb share {}", file.display()),
            Self::Gateway { file, interfaces } => {
                let interfaces = interfaces.join(" ");
                write!(formatter, "gateway of {interfaces} by {}", file.display())
            }
            Self::Rule { name, .. } => write!(formatter, "rule {name}"),
            Self::Laws { names } => write!(formatter, "congestion controls {}", names.join(", ")),
        }
    }
}
