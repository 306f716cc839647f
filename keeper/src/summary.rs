// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of a policy, whatever the backend.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::held::InForce;
use crate::pursuit::Pursued;

/// What came of a policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How it reached the connections.
    pub backend: Backend,
    /// Why it ended before what it was for did, if it did.
    pub ended_early: Option<String>,
    /// The policy in force at the end.
    pub policy: String,
    /// The policy for what was sent, if there was one.
    pub upload_policy: Option<String>,
    /// What all connections had together at the least, each way, if that was asked for.
    #[serde(default)]
    pub minimum: Option<String>,
    /// How it stood with the deadline, if there was one.
    #[serde(default)]
    pub deadline: Option<Pursued>,
    /// Payload that arrived under the policy.
    pub received_bytes: u64,
    /// Payload that was sent, and acknowledged, under the policy for it.
    pub sent_bytes: u64,
    /// Connections that were under the policy.
    pub connections: u64,
    /// Connections left alone because both ends are on this machine.
    pub loopback_connections: u64,
    /// Connections left alone because they are parts of multipath ones.
    pub multipath_connections: u64,
    /// Connections that are not governed: the kernel had no memory for their state, or the user
    /// backend no descriptor to look at them.
    #[serde(default)]
    pub ungoverned_connections: u64,
    /// UDP, which no law controls.
    pub datagrams: Datagrams,
    /// Whom connections were with; at most 1,024.
    pub peers: Vec<IpAddr>,
    /// What was seen of them.
    pub seen: Seen,
    /// Programs out of reach, by name.
    pub out_of_reach: Vec<String>,
    /// The service was started anew meanwhile: only what came since is counted.
    #[serde(default)]
    pub since_restart: bool,
    /// Processes that live on, still under the policy.
    pub processes_left: usize,
}

impl Summary {
    /// Of what is in force; nothing has come of it.
    pub(crate) fn of(backend: Backend, in_force: InForce) -> Self {
        Self {
            backend,
            policy: in_force.policy,
            upload_policy: in_force.upload_policy,
            minimum: in_force.minimum,
            deadline: in_force.deadline,
            ungoverned_connections: in_force.ungoverned_connections,
            ..Self::default()
        }
    }
}

/// What was seen of the connections of a command, by looking at them now and then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// How long anything that moved was held back, for any reason that `ebb top` gives.
    pub held_back_ms: u64,
    /// Mean queueing delay of what moved, if a law saw it.
    pub queue_mean_us: Option<u64>,
    /// The longest.
    pub queue_most_us: Option<u32>,
}

/// UDP, which no law controls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Sockets, those of QUIC and uTP among them.
    pub sockets: u64,
    /// Those of QUIC, by port 443.
    pub quic: u64,
    /// Those of uTP, by the first packet of a connection.
    pub utp: u64,
    /// Payload that arrived and that was sent, if the backend sees it.
    pub bytes: Option<(u64, u64)>,
}
