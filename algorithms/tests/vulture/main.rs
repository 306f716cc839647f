// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The law `vulture`: the paper's algorithms by hand, properties, differences.

mod connection;
mod differences;
mod estimate;
mod intervals;
mod policies;
mod properties;
