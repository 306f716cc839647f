// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `ebb-sender`: by hand, and in closed loop. What it has from `ebb` is tested there.

mod by_hand;
mod closed_loop;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
