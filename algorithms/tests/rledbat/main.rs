// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `rledbat`: by hand, in closed loop, against its source.

mod closed_loop;
mod examples;
#[path = "../support/models/ledbat_pp.rs"]
mod ledbat_pp_model;
mod oracle;
#[path = "../support/receiver_oracle.rs"]
mod receiver_oracle;
#[path = "../support/receiver_path/mod.rs"]
mod receiver_path;
