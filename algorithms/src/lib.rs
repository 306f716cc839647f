// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control laws, each written once in C and shared by every host.
//!
//! The headers beside this crate hold the laws; here is their safe Rust face: the
//! registry ([`laws`]), policies in the form `name:key=value,…` ([`Policy`]), and one
//! connection under a law ([`ReceiverFlow`], [`SenderFlow`]) for whoever is not the kernel.

mod defaults;
mod insight;
mod layout;
mod native;
mod policy;
mod receiver_contract;
mod receiver_flow;
mod registry;
mod sender_contract;
mod sender_flow;
mod variations;

pub use insight::{Doing, Insight};
pub use native::Variations;
pub use policy::{Policy, PolicyError, nearest};
pub use receiver_contract::{Ack, Segment, Start};
pub use receiver_flow::ReceiverFlow;
pub use registry::{LawInfo, ParamInfo, Side, counter_laws, law, laws, laws_of};
pub use sender_contract::{Phase, SenderAck, SenderEvent, SenderStart, SenderWindow};
pub use sender_flow::SenderFlow;
pub use variations::{PacketPairs, PairRounds};

/// The most parameters that a law may have.
pub const MAX_PARAMS: usize = 48;
