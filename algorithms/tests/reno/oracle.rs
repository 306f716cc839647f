// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `reno` against its RFC in real numbers.

use crate::reno_model::Reno;
use crate::sender_oracle::{Habits, compare};
use proptest::prelude::*;

#[test]
fn reno_is_within_two_segments_of_rfc_5681() {
    let habits = Habits {
        queue_us: 100_000,
        grain_us: 1,
        most_pkts: 5000,
        cases: 128,
    };
    compare(&habits, Just(()), |()| ("reno".to_owned(), Reno::new()));
}
