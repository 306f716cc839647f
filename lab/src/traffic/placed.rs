// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{FlowResult, FlowSpec};

/// What the worker says when every socket exists.
pub(crate) const READY: &str = "ready";
/// What the worker is told to begin, followed by the epoch in ns.
pub(crate) const GO_PREFIX: &str = "go ";

/// A flow with its place in the world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlacedFlow {
    /// What it sends and when.
    pub spec: FlowSpec,
    /// Network namespace of the client, as a file.
    pub client_namespace: PathBuf,
    /// Network namespace of the server, as a file.
    pub server_namespace: PathBuf,
    /// The client's address, for UDP.
    pub client_address: IpAddr,
    /// Where the client connects to.
    pub server_address: IpAddr,
    /// A port that no other flow of these namespaces has.
    pub port: u16,
    /// The receiver's socket is created in this cgroup.
    pub receiver_cgroup: Option<PathBuf>,
    /// The sender's socket, a listener's too, is created in this cgroup.
    pub sender_cgroup: Option<PathBuf>,
    /// The end of this flow's experiment, from the epoch.
    pub end_s: f64,
}

/// All flows of one wave of experiments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlacedFlows {
    /// The flows.
    pub flows: Vec<PlacedFlow>,
    /// Length of a bin of the receivers' byte counts.
    pub bin_us: u64,
}

/// What the worker reports at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerResult {
    /// In the order of the flows.
    pub flows: Vec<FlowResult>,
    /// The latest that the worker was with anything that it had to do for a flow at a given time.
    /// *Shape:* in the order of the flows.
    pub latest_timers_us: Vec<u64>,
    /// Processor time that the worker used.
    pub cpu_s: f64,
}
