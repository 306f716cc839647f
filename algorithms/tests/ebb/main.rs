// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ebb`: in closed loop, against its document, and whatever arrives.

mod bundle;
mod closed_loop;
mod oracle;
mod pairs;
mod properties;
#[path = "../support/receiver_oracle.rs"]
mod receiver_oracle;
#[path = "../support/receiver_path/mod.rs"]
mod receiver_path;
mod stalls;
