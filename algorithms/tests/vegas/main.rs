// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `vegas`: by hand, on a path, and against its paper.

mod examples;
mod oracle;
#[path = "../support/models/reno.rs"]
mod reno_model;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
