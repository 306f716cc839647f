// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sender laws' integers against models in floating point, each written from the law's
//! source, on the same random sequences of acknowledgements, losses, time-outs and silence.

mod bbr;
mod cubic;
mod delayed_update;
mod harness;
mod hystart;
mod reno;
mod vegas;
