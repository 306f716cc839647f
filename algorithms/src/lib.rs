// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control laws, each written once in C and shared by every host.
//!
//! A law answers how much may be in flight: a receiver law the window to advertise, a sender law
//! the congestion window. The folders beside `src` hold the laws; `src` is their safe Rust face:
//! the registry ([`laws`]), policies in the form `name:key=value,…` ([`Policy`]), and one
//! connection under a law ([`ReceiverFlow`], [`SenderFlow`]) for every host but the kernel, which
//! compiles the same headers to eBPF. Time is an argument: a law knows no clock and no socket.
//!
//! ```
//! use ebb_algorithms::{Policy, ReceiverFlow, Segment, Start};
//!
//! let policy = Policy::receiver("ebb:start_segments=20")?;
//! let start = Start { now_us: 5_000_000, mss_bytes: 1448, ..Start::default() };
//! let mut flow = ReceiverFlow::new(policy, &start);
//! assert_eq!(flow.window_bytes(), 20 * 1448);
//!
//! // Two segments arrive at once, 50 ms later; then the host asks what it may advertise.
//! flow.on_segment(&Segment {
//!     now_us: 5_050_000,
//!     payload_bytes: 2 * 1448,
//!     segments: 2,
//!     mss_bytes: 1448,
//!     right_edge_seq: 20 * 1448,
//!     ..Segment::default()
//! });
//! assert!(flow.window_bytes() >= 1448);
//! # Ok::<(), ebb_algorithms::PolicyError>(())
//! ```

mod defaults;
mod floor;
mod insight;
mod law_state;
mod layout;
mod native;
#[cfg(feature = "own")]
pub mod own;
mod policy;
mod policy_error;
mod receiver_bundle;
mod receiver_contract;
mod receiver_flow;
mod registry;
mod sender_contract;
mod sender_flow;
mod variations;

pub use floor::{FLOOR_UNBOUND_BYTES_PER_S, Floor, FloorMember};
pub use insight::{Doing, Insight};
pub use native::Variations;
pub use policy::{Policy, nearest};
pub use policy_error::PolicyError;
pub use receiver_bundle::ReceiverBundle;
pub use receiver_contract::{Ack, Segment, Start};
pub use receiver_flow::ReceiverFlow;
pub use registry::{
    LawInfo, ParamInfo, Side, counter_laws, law, law_of_number, laws, laws_of, own_law_file,
    own_law_files, own_laws,
};
pub use sender_contract::{Phase, SenderAck, SenderEvent, SenderStart, SenderWindow};
pub use sender_flow::SenderFlow;
pub use variations::{PacketPairs, PairRounds};

/// The most parameters that a law may have.
pub const MAX_PARAMS: usize = 48;
