// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ebb`: in closed loop, against its document, and whatever arrives.

mod closed_loop;
mod oracle;
#[path = "../support/path/mod.rs"]
mod path;
mod properties;
#[path = "../support/receiver_oracle.rs"]
mod receiver_oracle;
