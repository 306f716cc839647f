// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab: real kernel TCP over emulated links.
//!
//! * [`namespace`]: network namespaces without names, gone with the process;
//! * [`device`]: between the kernel and the emulator: [`tun`], or [`veth`] where that is out of reach;
//! * [`without_root`]: namespaces for ordinary users;
//! * [`emulator`]: [`emulator::Testbed`], any number of paths in one thread;
//! * [`engine`]: runs a scenario file, as the simulator does;
//! * [`judging`]: how tests judge figures of real time;
//! * [`shell`]: a shell behind an emulated link;
//! * [`demo`]: what a download does to a person's pages and call.

pub mod clock;
pub mod demo;
pub mod device;
pub mod emulator;
pub mod endpoint;
pub mod engine;
pub mod error;
pub mod judging;
pub mod namespace;
pub mod shell;
pub mod traffic;
pub mod tun;
pub mod veth;
pub mod without_root;

pub use error::LabError;
