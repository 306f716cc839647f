// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The delay-based laws' integers against models in floating point, each written from the
//! law's source, on the same random sequences of what a connection meets.

mod ebb;
mod ebb_path;
#[path = "../sender_oracles/harness.rs"]
#[allow(dead_code, reason = "the loss-based laws use all of it")]
mod harness;
mod ledbat_pp;
mod receiver;
mod rledbat;
mod tcp_lp;
mod vulture;
