// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab as an engine: runs a scenario file with real kernel TCP over an emulated link,
//! and answers in the format that the simulator answers in.
//!
//! It can do what two hosts with one link in each direction can show: TCP and UDP flows in
//! both directions and of different round trips, drop-tail or any other queue of the link,
//! receiver laws through the kernel backend, groups that share, congestion controls that the
//! kernel has. It refuses the rest by name.
mod outcome;
mod plan;
mod programs;
mod run;
mod seen;
mod sharing;
mod tcp_options;
mod yielding;

pub use run::{Job, LabRun, run};

use crate::LabError;
use crate::figures::RunError;
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
    #[error(transparent)]
    Run(#[from] RunError),
    /// A real server or client is missing, or failed.
    #[error(transparent)]
    Program(#[from] crate::demo::Error),
}
