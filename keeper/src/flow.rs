// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection under a policy, as keepers tell of it and `ebb top` shows it.

use std::net::SocketAddr;

use ebb_algorithms::{Insight, Policy};
use ebb_kernel::Flow;
pub use ebb_sockets::Direction;
use serde::{Deserialize, Serialize};

/// One connection, one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowView {
    /// The kernel's number for the socket, never used twice.
    pub cookie: u64,
    /// Which way.
    pub direction: Direction,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// The law's name.
    pub law: String,
    /// Payload since the policy came.
    pub payload_bytes: u64,
    /// The window in force: advertised, or of congestion; what the pace is in a round trip.
    pub window_bytes: u32,
    /// What it may send at the most, if that is how it is held back. Bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_bytes_per_s: Option<u64>,
    /// Round trip, if one was measured.
    pub rtt_us: Option<u32>,
    /// Queueing delay, if the law sees it.
    pub queue_us: Option<u32>,
    /// What the law is about: start, grow, hold, yield, look, wait.
    pub mode: String,
    /// Why it is held back; empty if it is not.
    pub reason: String,
    /// The law's answer is applied, once it has one: it is not switched off.
    pub is_acting: bool,
    /// A process that has the socket, if the keeper knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
}

impl FlowView {
    /// What the kernel and the law say of a connection.
    pub fn new(flow: &Flow, policy: &Policy, direction: Direction) -> Self {
        // Right after a change of the law the kernel may still tell of the old one.
        let is_of_policy = flow.law == policy.law().name;
        let insight = is_of_policy.then(|| policy.insight(&flow.state)).flatten();
        let (mode, reason) = words(insight, flow.is_clamped);
        Self {
            cookie: flow.cookie,
            direction,
            local: flow.local,
            peer: flow.peer,
            law: flow.law.to_owned(),
            payload_bytes: flow.payload_bytes,
            window_bytes: flow.window_bytes,
            pace_bytes_per_s: None,
            rtt_us: flow.rtt_us,
            queue_us: insight.and_then(|insight| insight.queue_us),
            mode,
            reason,
            is_acting: flow.is_clamped,
            process: flow.process,
        }
    }

    /// What a gateway says of a connection: this end is the client.
    pub fn of_gateway(
        flow: &ebb_gateway::Flow,
        policy: &Policy,
        direction: Direction,
        is_observing: bool,
    ) -> Self {
        let insight = policy.insight(&flow.state);
        let (mode, reason) = words(insight, !is_observing);
        Self {
            cookie: flow.began_ns,
            direction,
            local: flow.client,
            peer: flow.remote,
            law: policy.law().name.to_owned(),
            payload_bytes: flow.payload_bytes,
            window_bytes: flow.window_bytes,
            pace_bytes_per_s: None,
            rtt_us: flow.rtt_us,
            queue_us: insight.and_then(|insight| insight.queue_us),
            mode,
            reason,
            is_acting: !is_observing,
            process: None,
        }
    }

    /// What the user backend says of a connection.
    pub fn of_user_backend(flow: &ebb_sockets::Flow) -> Self {
        let (mode, reason) = words(flow.insight, !flow.is_free);
        Self {
            cookie: flow.cookie,
            direction: flow.direction,
            local: flow.local,
            peer: flow.peer,
            law: flow.law.to_owned(),
            payload_bytes: flow.payload_bytes,
            window_bytes: flow.window_bytes,
            pace_bytes_per_s: flow.pace_bytes_per_s,
            rtt_us: flow.rtt_us,
            queue_us: flow.insight.and_then(|insight| insight.queue_us),
            mode,
            reason,
            is_acting: !flow.is_free,
            process: Some(flow.pid),
        }
    }
}

/// The mode, and why it is held back.
fn words(insight: Option<Insight>, is_acting: bool) -> (String, String) {
    match insight {
        _ if !is_acting => ("free".to_owned(), String::new()),
        Some(insight) => (insight.doing.to_string(), insight.doing.reason().to_owned()),
        None => ("-".to_owned(), String::new()),
    }
}
