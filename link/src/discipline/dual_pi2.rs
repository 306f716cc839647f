// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

use crate::{Nanos, QueueLimit};

/// Two queues under one controller, for L4S and for everybody else (RFC 9332).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DualPi2Spec {
    /// What both queues hold together.
    pub limit: QueueLimit,
    /// The waiting time that it steers for, in either queue.
    pub target: Nanos,
    /// How often the probability is updated.
    pub update: Nanos,
    /// Weight of the deviation from the target. *Units:* 1/s.
    pub alpha: f64,
    /// Weight of the growth of the delay. *Units:* 1/s.
    pub beta: f64,
    /// How much more likely an L4S packet is marked than the root of the probability by
    /// which others are: at 2 a flow of either kind has the same.
    pub coupling: f64,
    /// L4S packets that have waited longer are marked.
    pub step: Nanos,
    /// But only while at least so many packets wait behind them: on a slow link one packet
    /// takes longer than the step. *Units:* packets.
    pub step_min_pkts: u32,
    /// Share of the link that the classic queue has while both have packets.
    pub classic_share: f64,
}

impl Default for DualPi2Spec {
    /// As appendix A.1 of the RFC has it for round trips up to 100 ms; the step and the
    /// classic queue's tenth are those of Linux.
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(10_000),
            target: Nanos::from_millis(15),
            update: Nanos::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Nanos::from_millis(1),
            step_min_pkts: 1,
            classic_share: 0.1,
        }
    }
}
