// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab: real kernel TCP over emulated links.
//!
//! * [`namespace`]: network namespaces without names, gone with the process;
//! * [`tun`]: the devices between the kernel and the emulator;
//! * [`emulator`]: [`emulator::Testbed`], any number of paths in one thread;
//! * [`engine`]: runs a scenario file, as the simulator does;
//! * [`judging`]: how tests judge figures of real time;
//! * [`shell`]: a shell behind an emulated link;
//! * [`demo`]: what a download does to a person's pages and call.

pub mod clock;
pub mod demo;
pub mod emulator;
pub mod endpoint;
pub mod engine;
pub mod error;
pub mod figures;
pub mod judging;
pub mod namespace;
pub mod shell;
pub mod stats;
pub mod traffic;
pub mod tun;

pub use error::LabError;
