// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is to have what.

use std::path::PathBuf;
use std::time::Duration;

use ebb_algorithms::Policy;
use ebb_sharing::{NO_BOUND, Preferences};

/// Programs that share, and how often it is looked what they received.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// Length of a control period.
    pub period: Duration,
    /// The law that holds connections, with its parameters but for the target.
    pub policy: Policy,
    /// Who shares. *Shape:* two or more, names differ.
    pub programs: Vec<Program>,
}

/// A program, or several that are to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Which connections are its own.
    pub who: Who,
    /// What is wanted for it.
    pub wanted: Preferences,
}

/// Whose connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Of a command that is started, and of what it starts.
    Command {
        /// Program and arguments.
        words: Vec<String>,
        /// Whom it runs as, if not as root.
        user: Option<String>,
    },
    /// Of a process that runs, and of its descendants in its cgroup.
    Process(u32),
    /// Of all processes in a cgroup and below it.
    Cgroup(PathBuf),
    /// Of a unit of systemd.
    Unit(String),
    /// Of a container.
    Container(String),
}

impl std::fmt::Display for Who {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command { words, user: None } => formatter.write_str(&words.join(" ")),
            Self::Command {
                words,
                user: Some(user),
            } => {
                write!(formatter, "{} as {user}", words.join(" "))
            }
            Self::Process(pid) => write!(formatter, "process {pid}"),
            Self::Cgroup(path) => write!(formatter, "cgroup {}", path.display()),
            Self::Unit(name) => write!(formatter, "unit {name}"),
            Self::Container(name) => write!(formatter, "container {name}"),
        }
    }
}

/// What is wanted for a program, in words.
pub(super) fn words_of(wanted: &Preferences) -> String {
    let minimum = match wanted.minimum_bits_per_s {
        0 => String::new(),
        NO_BOUND => "minimum all, ".to_owned(),
        bits_per_s => format!("minimum {} Mbit/s, ", bits_per_s as f64 / 1e6),
    };
    format!(
        "{minimum}priority {}, weight {}",
        wanted.priority, wanted.weight
    )
}
