// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tcp-lp-ecn` in closed loop, on the link of the TCP-LP paper.

use crate::sender_path::{Path, Plan, run};

#[test]
fn marks_at_the_threshold_make_the_ecn_variant_as_meek() {
    // The path marks everybody; Reno, which did not negotiate ECN, is not told.
    let path = Path {
        mark_pkts: Some(16),
        rtt_us: 48_000,
        queue_pkts: 104,
        ..Path::default()
    };
    let outcome = run(&path, &[Plan::greedy("tcp-lp-ecn")], 120);
    let share = outcome.share(0, 20.0, 120.0);
    assert!(share > 0.9, "{share}");
}
