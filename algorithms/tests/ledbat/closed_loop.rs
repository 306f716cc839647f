// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ledbat` in closed loop: the queue that it holds, and who gets what.

use crate::deep_queue::{alone, deep_queue};
use crate::sender_path::{Path, Plan, run};

const SECOND_US: u64 = 1_000_000;

#[test]
fn ledbat_alone_uses_the_link_and_holds_the_queue_at_its_target() {
    for ack_every in [1, 2] {
        for target_ms in [5.0, 25.0, 100.0] {
            let path = Path {
                ack_every,
                ..deep_queue(50)
            };
            let policy = format!("ledbat:target_us={}", target_ms * 1000.0);
            let outcome = alone(&path, &policy);
            assert!(outcome.share(0, 20.0, 120.0) > 0.98);
            let queue_ms = outcome.mean_wait_ms(60.0, 120.0);
            let limits = target_ms - 2.0..target_ms + 4.0;
            assert!(limits.contains(&queue_ms), "{policy}: {queue_ms} ms");
        }
    }
}

#[test]
fn ledbat_holds_its_target_whatever_the_peers_clock_is() {
    for tick_us in [0, 1, 1000, 4000, 10_000] {
        for drift_ppm in [-100, 0, 100] {
            let path = Path {
                tick_us,
                drift_ppm,
                ..deep_queue(50)
            };
            let outcome = run(&path, &[Plan::greedy("ledbat:target_us=25000")], 420);
            let share = outcome.share(0, 60.0, 420.0);
            let queue_ms = outcome.mean_wait_ms(360.0, 420.0);
            assert!(share > 0.98, "{tick_us} us, {drift_ppm} ppm: {share}");
            assert!(
                (20.0..30.0).contains(&queue_ms),
                "{tick_us} us, {drift_ppm} ppm: {queue_ms} ms"
            );
        }
    }
}

#[test]
fn ledbat_at_25_ms_leaves_97_percent_to_greedy_others() {
    for rtt_ms in [20, 100] {
        for other in ["reno", "cubic"] {
            let path = Path {
                rtt_us: rtt_ms * 1000,
                ..Path::default()
            };
            let plans = [Plan::greedy(other), Plan::greedy("ledbat:target_us=25000")];
            let outcome = run(&path, &plans, 120);
            let kept = outcome.share(0, 20.0, 120.0);
            assert!(kept > 0.96, "{other}, {rtt_ms} ms: {kept}");
        }
    }
}

#[test]
fn a_ledbat_that_comes_late_takes_everything() {
    // The latecomer's advantage: it takes the first one's queue for the path's delay.
    let policy = "ledbat:target_us=25000";
    let plans = [
        Plan::greedy(policy),
        Plan::greedy(policy).between(20 * SECOND_US, u64::MAX),
    ];
    let outcome = run(&deep_queue(50), &plans, 120);
    let late = outcome.share(1, 60.0, 120.0);
    assert!(late > 0.9, "{late}");
    let queue_ms = outcome.mean_wait_ms(60.0, 120.0);
    assert!((45.0..55.0).contains(&queue_ms), "{queue_ms} ms");
}

#[test]
fn ledbat_finds_the_base_of_a_longer_path_after_ten_minutes() {
    let path = Path {
        longer: Some((30 * SECOND_US, 150_000)),
        ..deep_queue(50)
    };
    let outcome = run(&path, &[Plan::greedy("ledbat")], 800);
    let before = outcome.share(0, 120.0, 540.0);
    let after = outcome.share(0, 720.0, 800.0);
    assert!(before < 0.2, "{before}");
    assert!(after > 0.9, "{after}");
}
