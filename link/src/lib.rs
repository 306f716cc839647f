// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A one-way network link as a data structure: packets go in with a time, and come
//! out when they are due.
//!
//! Nothing here reads a clock, sleeps or touches a socket: time is an argument, so
//! the same link serves the lab (real packets, real clock) and a simulator. Equal
//! specification, seed and calls give equal packets, on every machine.
//!
//! ```
//! use ebb_link::{Class, Link, LinkSpec, Nanos, Packet, QueueLimit, Rate};
//!
//! let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
//! let spec = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
//! let mut link = Link::new(&spec, 1)?;
//! for number in 0..2 {
//!     let packet = Packet::new(1_500, Class::BestEffort, number);
//!     assert!(link.enqueue(Nanos::ZERO, packet).is_ok(), "the queue has room for 86");
//! }
//! let mut arrived = Vec::new();
//! while let Some(deadline) = link.next_deadline() {
//!     while let Some(delivery) = link.poll(deadline) {
//!         arrived.push((delivery.packet.payload, delivery.due));
//!     }
//! }
//! // 12 000 bits at 10 Mbit/s are 1.2 ms, one packet after the other; then the delay.
//! let due = [51_200, 52_400].map(Nanos::from_micros);
//! assert_eq!(arrived, [(0, due[0]), (1, due[1])]);
//! # Ok::<(), ebb_link::LinkError>(())
//! ```
//!
//! A packet passes, in this order,
//! 1. the *queue* ([`QueueSpec`]): drop-tail or two strict priorities, with an
//!    optional ECN mark above a threshold; RED, also with thresholds by class; CoDel,
//!    FQ-CoDel, PIE, DualPI2, CAKE;
//! 2. the *bottleneck* ([`Capacity`]): a rate, one that changes, or a trace of delivery times; with
//!    a token bucket ([`TokenBucket`]), or sending several packets in one ([`Aggregation`]);
//! 3. the *wire*: random loss, duplication, propagation delay, which may change with the
//!    route, jitter, reordering.
//!
//! The packet that the bottleneck is sending is no longer in the queue: a queue of 86
//! packets holds 86 and one more is on its way out.
//!
//! Not implemented: bursts of loss, corruption, changing a link while it runs (a trace
//! or steps change its rate, a reroute its delay); of Wi-Fi: other stations, lost aggregates. Of RED: adaptive thresholds; of CoDel and FQ-CoDel: the threshold
//! for early marks (`ce_threshold`); of PIE: its estimator of the departure rate, and
//! switching itself off; of DualPI2: a time-shifted FIFO; of CAKE: DiffServ tins, the filter of
//! acknowledgements, looking behind NAT. Active queue management within strict priorities.
#![forbid(unsafe_code)]

mod bottleneck;
mod discipline;
mod error;
mod events;
mod general;
mod hop;
mod line;
mod link;
mod nanos;
mod occupancy;
mod packet;
mod packets;
mod queue;
mod random;
mod ranges;
mod rate_steps;
mod spec;
mod statistics;
mod text;
mod trace;
mod units;
mod wire;

pub use discipline::{
    CakeSpec, ClassRedSpec, CodelSpec, DualPi2Spec, FqCodelSpec, Isolation, PieSpec, QueueSpec,
    RedCurve, RedSpec,
};
pub use error::LinkError;
pub use events::{DropCause, Dropped};
pub use hop::Hop;
pub use link::{Delivery, Link};
pub use nanos::Nanos;
pub use occupancy::Occupancy;
pub use packet::{Class, Ecn, Packet, Rejected};
pub use packets::{PacketId, Packets};
pub use rate_steps::RateSteps;
pub use spec::{Aggregation, Capacity, LinkSpec, Reroute, TokenBucket};
pub use statistics::{ClassStatistics, LinkStatistics, Waiting};
pub use trace::{TRACE_MTU_BYTES, Trace};
pub use units::{Probability, QueueLimit, Rate};
