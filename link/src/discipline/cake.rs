// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

use crate::{Nanos, QueueLimit};

/// Common Applications Kept Enhanced: a queue for each flow, each under COBALT (Høiland-
/// Jørgensen, Täht and Morton, "Piece of CAKE", 2018). Its shaper is the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CakeSpec {
    /// What all queues hold together; more is dropped from the longest.
    pub limit: QueueLimit,
    /// The waiting time that is accepted for long; on a slow link one and a half packets.
    pub target: Nanos,
    /// How long it may be exceeded: about the longest round trip.
    pub interval: Nanos,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Queues that flows are hashed to, in sets of eight.
    pub flows: u32,
    /// What a flow may send in one turn; none: what the link sends in 1/4096 s, from 300 to
    /// 1514. *Units:* bytes.
    pub quantum_bytes: Option<u32>,
    /// Who has equal shares.
    pub isolation: Isolation,
}

/// Who has equal shares of a link under CAKE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Flows.
    Flows,
    /// Hosts, sources as well as destinations, and within a host its flows.
    #[default]
    TripleIsolate,
}

impl Default for CakeSpec {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Bytes(4 << 20),
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            ecn: true,
            flows: 1_024,
            quantum_bytes: None,
            isolation: Isolation::default(),
        }
    }
}
