// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Class, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::{Interval, LinkId, NodeId, TcpOptions, Traffic};

/// One source of traffic: a connection, a UDP stream, or an application with connections
/// of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name, its own among the flows: `web`, or `lbe-3` where there are several.
    pub name: String,
    /// The name that it shares with others of the same entry in the file: `lbe`.
    pub group: String,
    /// The host that sends the data.
    pub from: NodeId,
    /// The host that receives the data.
    pub to: NodeId,
    /// The way of the data. *Shape:* from `from` to `to` without gaps, at least one link.
    pub path: Vec<LinkId>,
    /// The way back, of acknowledgements and requests. *Shape:* as `path`, from `to` to
    /// `from`.
    pub return_path: Vec<LinkId>,
    /// When it starts.
    pub start: Nanos,
    /// It starts later by a random time up to this, another in each run.
    pub start_spread: Nanos,
    /// When it stops to send new data, if before the end of the run.
    pub stop: Option<Nanos>,
    /// What it sends.
    pub traffic: Traffic,
    /// Whose traffic its packets are, in both directions.
    pub class: Class,
    /// When it is of this class and under its receiver policy; empty: always. Outside it
    /// is best effort, and the receiver policy only observes. *Shape:* in order of time,
    /// without overlap.
    pub during: Vec<Interval>,
    /// Sender policy of its TCP connections, `name:key=value,…`; empty for UDP.
    pub sender: String,
    /// Receiver policy of its TCP connections; none: the receiver limits by its buffer.
    pub receiver: Option<String>,
    /// What all flows of its entry have together at the least, whatever the law of the end that
    /// yields answers: the receiver's, or the sender's where the receiver has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Rate>,
    /// Both ends of its TCP connections.
    pub tcp: TcpOptions,
    /// The end that gets the data opens its TCP connections, as for a download; else the end that
    /// has the data does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receiver_connects: bool,
    /// In the lab a real server and client move its data.
    #[serde(default)]
    pub is_by_programs: bool,
    /// Its receiver policy is a gateway's: a router that it passes, which knows packets and no
    /// sockets, sets its windows. In the lab only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_by_gateway: bool,
}
