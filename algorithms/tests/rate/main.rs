// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `rate`: by hand, in closed loop, and its arithmetic.

mod arithmetic;
mod closed_loop;
mod examples;
#[path = "../support/receiver_path/mod.rs"]
mod receiver_path;
