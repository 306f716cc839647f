// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// More are not named.
pub(crate) const MAX_PEERS: usize = 1_024;

/// What a governor has seen and done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// TCP connections that were under a law.
    pub connections: u64,
    /// Payload that arrived on them since.
    pub received_bytes: u64,
    /// Payload that was sent on them since, and acknowledged.
    pub sent_bytes: u64,
    /// Connections left alone because both ends are on this machine.
    pub loopback: u64,
    /// Multipath TCP connections, left alone.
    pub multipath: u64,
    /// UDP sockets (QUIC, uTP, calls), which are not controlled.
    pub udp: u64,
    /// Those of them that speak QUIC, by port 443 at either end.
    #[serde(default)]
    pub quic: u64,
    /// Sockets that were not looked at: no descriptor was left for it.
    #[serde(default)]
    pub unreached: u64,
    /// Whom governed connections were with; at most 1,024.
    #[serde(default)]
    pub peers: BTreeSet<IpAddr>,
    /// Processes out of reach, by name: setuid programs, other users' processes.
    pub out_of_reach: Vec<String>,
    /// Times that a socket was looked at.
    pub looks: u64,
    /// Times that a window or a pace was set.
    pub settings: u64,
}
