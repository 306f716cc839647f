// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ledbat++` in closed loop: the queue that it holds, and who gets what.

use crate::deep_queue::{alone, deep_queue};
use crate::sender_path::{Path, Plan, run};

const SECOND_US: u64 = 1_000_000;

#[test]
fn ledbat_plus_plus_alone_stays_below_60_ms_and_slows_down_for_a_tenth_of_the_time() {
    for ack_every in [1, 2] {
        for rtt_ms in [20, 50, 100] {
            let path = Path {
                ack_every,
                ..deep_queue(rtt_ms)
            };
            let outcome = alone(&path, "ledbat++");
            let share = outcome.share(0, 20.0, 120.0);
            assert!((0.88..0.99).contains(&share), "{rtt_ms} ms: {share}");
            let queue_ms = outcome.mean_wait_ms(40.0, 120.0);
            assert!(
                (45.0..62.0).contains(&queue_ms),
                "{rtt_ms} ms: {queue_ms} ms"
            );
            let slow = outcome.flows[0].cwnd_pkts[200..]
                .windows(2)
                .filter(|pair| pair[0] > 8 && pair[1] <= 8)
                .count();
            assert!(
                (3..20).contains(&slow),
                "{rtt_ms} ms: {slow} slowdowns in 100 s"
            );
        }
    }
}

#[test]
fn ledbat_plus_plus_yields_to_cubic() {
    for rtt_ms in [20, 100] {
        let path = Path {
            rtt_us: rtt_ms * 1000,
            ..Path::default()
        };
        let plans = [Plan::greedy("cubic"), Plan::greedy("ledbat++")];
        let outcome = run(&path, &plans, 120);
        let kept = outcome.share(0, 20.0, 120.0);
        assert!(kept > 0.93, "{rtt_ms} ms: {kept}");
    }
}

#[test]
fn a_late_ledbat_plus_plus_does_not_take_everything() {
    let plans = [
        Plan::greedy("ledbat++"),
        Plan::greedy("ledbat++").between(20 * SECOND_US, u64::MAX),
    ];
    for rtt_ms in [20, 50, 100] {
        let outcome = run(&deep_queue(rtt_ms), &plans, 240);
        let shares = [0, 1].map(|flow| outcome.share(flow, 120.0, 240.0));
        println!(
            "{rtt_ms} ms: {shares:.3?}, {:.1} ms",
            outcome.mean_wait_ms(120.0, 240.0)
        );
        assert!(shares[1] < 0.8, "{rtt_ms} ms: {shares:?}");
        assert!(shares[0] > 0.1, "{rtt_ms} ms: {shares:?}");
    }
}
