// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ebb's laws for QUIC by [quinn](https://docs.rs/quinn): transfers that take only the bandwidth
//! that nobody else wants.
//!
//! * [`LawConfig`] makes any law of the sending end quinn's congestion controller;
//! * [`Credit`] bounds what arrives by flow-control credit, under a law of the receiving end;
//! * [`StreamCredit`] does that for one stream of a connection.
//!
//! None of them has a clock, a socket or a thread: time is an argument, as it is in quinn-proto. Who has
//! another stack finds the laws themselves in `ebb-algorithms`, and for C in `ebb_laws.h`.
//! `docs/quic.md` has what is reached.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ebb_quic::LawConfig;
//! use quinn_proto::TransportConfig;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(LawConfig::new("ledbat++")?));
//! # Ok::<(), ebb_quic::Error>(())
//! ```

mod controller;
mod credit;
mod error;
mod rates;
mod samples;
mod stream_credit;

pub use controller::LawConfig;
pub use credit::{Credit, Seen};
pub use error::Error;
pub use stream_credit::StreamCredit;
