// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ledbat++`: by hand, and against its source.

#[path = "../support/delay_laws.rs"]
mod delay_laws;
mod examples;
#[path = "../support/models/ledbat_pp.rs"]
mod ledbat_pp_model;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
