// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How Ebb's processes speak to one another: docs/protocol.md.
//!
//! There is one framing ([`encode`], [`Decoder`]) for whatever is said: over the socket of a
//! keeper ([`Desk`], [`ask`]), between a keeper and its starter, between a governor and its
//! guardian ([`Line`]). Each of them buffers what it cannot send at once, so that a frame is
//! sent whole or breaks off with its sender.

mod ask;
mod desk;
mod frame;
mod line;
mod messages;
pub mod peer;
mod service;

pub use ask::{REPLY_WITHIN, ask, connect};
pub use desk::{Asked, Asker, Desk, Refusal, Room};
pub use frame::{Decoder, LONGEST_REPLY_BYTES, LONGEST_REQUEST_BYTES, VERSION, encode};
pub use line::{Heard, Line};
pub use messages::{
    Due, FromGovernor, FromKeeper, FromStarter, Never, Part, Reply, Request, Switch,
};
pub use service::{Held, HeldRecord, Mine, Order, ServiceReply, ServiceRequest, Socket};
