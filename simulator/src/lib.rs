// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A deterministic packet-level simulator in which all laws meet under the same conditions.
//!
//! - [`run`]: a scenario in, an outcome out;
//! - [`Application`]: what sends and receives, told by the [`Host`] what happened;
//! - [`Observer`]: sees every packet, for traces.
#![forbid(unsafe_code)]

mod application;
pub mod applications;
mod endpoints;
mod error;
mod flows;
mod histogram;
mod host;
mod meter;
mod network;
mod observer;
mod outcome;
mod parcel;
mod run;
mod schedule;
mod segment;
mod sharing;
mod simulation;
pub mod tcp;
pub mod traffic;

pub use application::{Application, ConnectOptions, ConnectionEvent, ConnectionId, Datagram, End};
pub use error::Error;
pub use histogram::Histogram;
pub use host::{Host, UDP_HEADER_BYTES};
pub use observer::{Observer, PacketBody, PacketRecord, Point};

pub use run::{Cost, Options, run, run_applications, run_counted};
pub use segment::{Flags, SackBlocks, Segment, SynOptions, TimestampOption};
