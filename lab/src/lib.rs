// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab: real kernel TCP over emulated links.
//!
//! It is the engine in which a scenario is run with the TCP of this machine's kernel: between
//! network namespaces, over links whose rate, delay, losses and queues `ebb-link` computes, in real
//! time. It needs root, or a user namespace.
//!
//! * [`namespace`]: network namespaces without names, gone with the process;
//! * [`device`]: between the kernel and the emulator: [`tun`], or [`veth`] where that is out of
//!   reach;
//! * [`without_root`]: namespaces for ordinary users;
//! * [`emulator`]: [`emulator::Testbed`], any number of paths in one thread;
//! * [`engine`]: runs a scenario file, as the simulator does;
//! * [`judging`]: how tests judge figures of real time;
//! * [`shell`]: a shell behind an emulated link;
//! * [`home`]: a router at the end of a path, and devices behind it;
//! * [`demo`]: what a download does to a person's pages and call.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use ebb_lab::{endpoint, engine};
//! use ebb_scenario::Scenario;
//!
//! // The flows' ends are this program again, in processes of their own.
//! endpoint::become_worker_if_asked();
//! let scenario = Scenario::read(Path::new("scenarios/two-flows.toml"))?;
//! let runs = engine::run(&[engine::Job::new(&scenario, 0)], 1, 2)?;
//! for flow in &runs[0].outcome.flows {
//!     println!("{}: {} bit/s", flow.name, flow.measures[0].goodput_bits_per_s);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod clock;
pub mod demo;
pub mod device;
pub mod emulator;
pub mod endpoint;
pub mod engine;
pub mod error;
pub mod home;
pub mod judging;
pub mod namespace;
pub mod shell;
pub mod traffic;
pub mod tun;
pub mod veth;
pub mod without_root;

pub use error::LabError;
