// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab as an engine: runs a scenario file with real kernel TCP over an emulated link,
//! and answers in the format that the simulator answers in.
//!
//! It can do what two hosts with one link in each direction can show: TCP and UDP flows in
//! both directions and of different round trips, drop-tail or any other queue of the link,
//! laws of both ends through the kernel backend, those that judge counters through the user
//! backend, groups that share, a router with a gateway, congestion controls that the kernel has. It refuses the rest by
//! name.
mod governed;
mod group;
mod homes;
mod outcome;
mod prepared;
mod programs;
mod repeats;
mod run;
mod seen;
mod sharing;
mod tcp_options;
mod yielding;

pub use run::{Job, LabRun, run, run_each};

use governed::Governed;
use group::Group;
use run::BIN_US;

use std::path::PathBuf;

use crate::LabError;
use crate::traffic::TrafficError;

/// Why a scenario was not run in the lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The scenario asks for something that the lab does not have.
    #[error("the lab cannot run scenario `{scenario}`: {what}; {instead}")]
    Unsupported {
        /// The scenario.
        scenario: String,
        /// What it asks for, with the flow, node or link.
        what: String,
        /// What would do.
        instead: &'static str,
    },
    /// The emulated links could not be made.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The flows could not be made.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// A policy could not be put on its flows.
    #[error("policy `{policy}`: {source}")]
    Policy {
        /// The policy.
        policy: String,
        /// What was wrong.
        source: ebb_kernel::Error,
    },
    /// A gateway could not be put before its flows.
    #[error("policy `{policy}`: {source}")]
    Gateway {
        /// The policy.
        policy: String,
        /// What was wrong.
        source: ebb_gateway::Error,
    },
    /// The user backend could not follow the flows.
    #[error("policy `{policy}`: {source}")]
    UserBackend {
        /// The policy.
        policy: String,
        /// What was wrong.
        source: ebb_sockets::Error,
    },
    /// A file could not be made.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A real server or client is missing, or failed.
    #[error(transparent)]
    Program(#[from] crate::demo::Error),
}

impl EngineError {
    /// For `map_err`: under which policy the kernel backend refused.
    fn policy(policy: &impl ToString) -> impl Fn(ebb_kernel::Error) -> Self {
        let policy = policy.to_string();
        move |source| Self::Policy {
            policy: policy.clone(),
            source,
        }
    }
}
