// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `vulture`: the paper's algorithms by hand, properties, differences.

mod closed_loop;
mod connection;
mod differences;
mod estimate;
mod intervals;
mod oracle;
mod policies;
mod properties;
#[path = "../support/receiver_oracle.rs"]
mod receiver_oracle;
#[path = "../support/receiver_path/mod.rs"]
mod receiver_path;
