// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is run: links, queues, flows and their timeline, one TOML file; and what came out.
//!
//! Both engines, the simulator and the lab, read the one and write the other.
//!
//! - [`Scenario`]: everything spelt out, as an engine needs it: one-way links, one flow
//!   for each connection, the way of each flow as a list of links;
//! - [`Outcome`]: what one run gave, in numbers with units, the same bytes for the same
//!   run;
//! - [`Seeds`]: where both take a run's random numbers from, so that they start flows at the
//!   same times;
//! - [`stats`]: what several runs say together.
//!
//! ```
//! use std::path::Path;
//!
//! use ebb_scenario::Scenario;
//!
//! let text = r#"
//!     duration = "60s"
//!     [bottleneck]
//!     rate = "10mbit"
//!     rtt = "100ms"
//!     queue = 86
//!     [[flow]]
//!     name = "mine"
//!     receiver = "ebb"
//! "#;
//! let scenario = Scenario::parse("mine.toml", text, Path::new("."))?;
//! assert_eq!(scenario.flows[0].sender, "cubic");
//!
//! // What is wrong is told with its line, and with what would be right.
//! let wrong = text.replace("10mbit", "10mbps");
//! let error = Scenario::parse("mine.toml", &wrong, Path::new(".")).unwrap_err();
//! assert!(error.to_string().contains("mine.toml:4"), "{error}");
//! # Ok::<(), ebb_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod file;
mod flow;
mod iperf3;
mod outcome;
mod random;
mod results;
mod scenario;
mod setting;
mod sharing;
pub mod stats;
mod tcp;
mod traffic;

/// What other TOML files of Ebb are read with, so that their mistakes are told alike.
pub mod reading {
    pub use crate::file::section::{Section, Source, Value, unknown_name, with_article};
    pub use crate::file::sharing::preferences;
    pub use crate::file::value::{FromValue, Size, size};
}

pub use error::{Problem, ScenarioError};
pub use file::key_path::key_path;
pub use flow::Flow;
pub use outcome::{
    ApplicationMeasure, ClassMeasure, Distribution, FlowMeasure, FlowOutcome, FlowSeries,
    LateShare, LinkMeasure, LinkOutcome, LinkSeries, OUTCOME_FORMAT, Outcome, Period, Series,
    SizeClass, VariationRound, Variations,
};
pub use random::{Seeds, Stream};
pub use results::Results;
pub use scenario::{Interval, Link, LinkId, Node, NodeId, NodeKind, Scenario};
pub use setting::Setting;
pub use sharing::{Share, ShareChange, SharingGroup};
pub use tcp::{Buffer, DelayedAcks, Pacing, Recovery, TcpOptions, TcpProfile, Timestamps};
pub use traffic::{Call, Connections, Draw, Traffic, Video, Web};
