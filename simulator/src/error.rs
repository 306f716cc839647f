// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkError, Nanos};

use crate::tcp::TcpConfigError;

/// Why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parts of a link contradict each other.
    #[error("link '{link}': {source}")]
    Link {
        /// Its name.
        link: String,
        /// What contradicts.
        source: LinkError,
    },
    /// A route does not connect its hosts.
    #[error("flow '{flow}': its path {problem}")]
    Path {
        /// Its name.
        flow: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
    /// TCP cannot work with what a flow asks for.
    #[error("flow '{flow}': {source}")]
    Tcp {
        /// Its name.
        flow: String,
        /// What is wrong.
        source: TcpConfigError,
    },
    /// More links or flows than the simulator numbers.
    #[error("{count} {what}: the simulator takes fewer than {limit}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many are too many.
        limit: usize,
    },
    /// More connections at the same time than the simulator numbers.
    #[error("flow '{flow}': at {at} there are {limit} connections, and no more can be numbered")]
    TooManyConnections {
        /// The flow that opened one too many.
        flow: String,
        /// When.
        at: Nanos,
        /// How many there may be.
        limit: u32,
    },
    /// Time series would have no end.
    #[error("a run of {duration} in bins of {bin}: there may be at most {limit}; take longer bins")]
    Bins {
        /// Length of a bin.
        bin: Nanos,
        /// Length of the run.
        duration: Nanos,
        /// How many bins there may be.
        limit: u64,
    },
    /// Applications and flows do not fit together.
    #[error("{applications} applications for {flows} flows: there must be one for each")]
    Applications {
        /// Flows of the scenario.
        flows: usize,
        /// Applications given.
        applications: usize,
    },
    /// The simulator has no application for the traffic of a flow.
    #[error("flow '{flow}': the simulator has no such traffic yet")]
    Traffic {
        /// Its name.
        flow: String,
    },
    /// Between hosts there is nothing here that knows connections.
    #[error(
        "flow '{flow}': the simulator has no gateway; run it in the lab, or take `gateway` away"
    )]
    Gateway {
        /// Its name.
        flow: String,
    },
    /// A group of flows that share cannot do so.
    #[error("sharing '{group}': {problem}")]
    Sharing {
        /// Its name.
        group: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Time stands still.
    #[error(
        "no progress at {at}: packets run around in no time; give at least one link on each \
         path a rate or a delay"
    )]
    NoProgress {
        /// When.
        at: Nanos,
    },
    /// Whoever runs it wanted no more of it.
    #[error("given up at {at}")]
    Stopped {
        /// When.
        at: Nanos,
    },
}

impl Error {
    pub(crate) fn path(flow: &str, problem: &'static str) -> Self {
        Self::Path {
            flow: flow.to_owned(),
            problem,
        }
    }
}
