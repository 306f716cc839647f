// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `reno`: by hand, and against its RFC.

mod examples;
mod oracle;
#[path = "../support/models/reno.rs"]
mod reno_model;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
