// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ledbat`: by hand, and in closed loop.

mod closed_loop;
#[path = "../support/deep_queue.rs"]
mod deep_queue;
#[path = "../support/delay_laws.rs"]
mod delay_laws;
mod examples;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
