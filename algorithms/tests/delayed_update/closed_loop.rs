// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic+ on the slow path of its paper.

use crate::sender_path::{Path, Plan, run};

/// The paper's scenario I: 2 Mbit/s, 20 ms, 500 or 50 kB.
fn scenario_1(buffer_bytes: usize) -> Path {
    Path {
        rate_bits_per_s: 2_000_000,
        rtt_us: 20_000,
        queue_pkts: buffer_bytes / 1500,
        ..Path::default()
    }
}

#[test]
fn keeps_the_paper_s_slow_link_busy_with_a_short_queue_and_no_loss() {
    for buffer_bytes in [500_000, 50_000] {
        let path = scenario_1(buffer_bytes);
        let cubic = run(&path, &[Plan::greedy("cubic:hystart=0")], 100);
        let plus = run(&path, &[Plan::greedy("cubic+:hystart=0")], 100);
        let waits_ms = [
            cubic.mean_wait_ms(0.0, 100.0),
            plus.mean_wait_ms(0.0, 100.0),
        ];
        assert!(plus.share(0, 1.0, 100.0) > 0.97, "{buffer_bytes}");
        assert!(
            waits_ms[1] * 3.0 < waits_ms[0],
            "{buffer_bytes}: {waits_ms:?}"
        );
        assert_eq!(plus.flows[0].lost_pkts, 0, "{buffer_bytes}");
        assert!(cubic.flows[0].lost_pkts > 0, "{buffer_bytes}");
    }
}
