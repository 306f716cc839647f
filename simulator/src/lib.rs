// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A deterministic packet-level simulator in which all laws meet under the same conditions.
//!
//! - [`run`]: a scenario in, an outcome out;
//! - [`Application`]: what sends and receives, told by the [`Host`] what happened;
//! - [`Observer`]: sees every packet, for traces;
//! - [`capture`]: one of these, which writes a file for Wireshark.
//!
//! Time is the event queue's, and random numbers come from the scenario's seed: the same scenario
//! gives the same bytes, on every machine.
//!
//! ```
//! use std::path::Path;
//!
//! use ebb_scenario::Scenario;
//! use ebb_simulator::{Options, run};
//!
//! let text = r#"
//!     duration = "20s"
//!     [bottleneck]
//!     rate = "10mbit"
//!     rtt = "50ms"
//!     queue = 60
//!     [measure]
//!     both = ["10s", "end"]
//!     [[flow]]
//!     name = "mine"
//!     class = "lbe"
//!     receiver = "ebb"
//!     [[flow]]
//!     name = "theirs"
//!     start = "5s"
//! "#;
//! let scenario = Scenario::parse("yields.toml", text, Path::new("."))?;
//! let outcome = run(&scenario, Options::default())?;
//! let [mine, theirs] = [0, 1].map(|flow| outcome.flows[flow].measures[0].goodput_bits_per_s);
//! assert!(theirs > 8e6 && mine < 1e6, "{mine}, {theirs}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod application;
pub mod applications;
pub mod capture;
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
