// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ledbat++`: by hand, in closed loop, and against its source.

mod closed_loop;
#[path = "../support/deep_queue.rs"]
mod deep_queue;
#[path = "../support/delay_laws.rs"]
mod delay_laws;
mod examples;
#[path = "../support/models/ledbat_pp.rs"]
mod ledbat_pp_model;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
