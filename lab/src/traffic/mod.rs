// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real kernel TCP and UDP flows between network namespaces.
//!
//! All flows of an experiment live in one worker process with one thread, so that
//! twenty links cost one core little. A socket belongs to the namespace of the thread
//! and to the cgroup of the process that created it: the worker enters both for each
//! socket, in turn, before the experiment starts. [`crate::endpoint`] starts it.

mod error;
mod flow;
mod placed;
mod sender;
mod socket;
mod tcp;
mod udp;
mod worker;

pub use error::TrafficError;
pub use flow::{Direction, FlowKind, FlowResult, FlowSpec, TcpSample, UdpResult};
pub(crate) use placed::{GO_PREFIX, READY};
pub use placed::{PlacedFlow, PlacedFlows, WorkerResult};
pub(crate) use worker::work;
