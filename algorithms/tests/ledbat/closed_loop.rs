// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ledbat` and `ledbat++` in closed loop: the queue that they hold, and who gets what.

use crate::sender_path::{Outcome, Path, Plan, run};

const SECOND_US: u64 = 1_000_000;

/// 10 Mbit/s with room for much more than any target.
fn deep_queue(rtt_ms: u64) -> Path {
    Path {
        rtt_us: rtt_ms * 1000,
        queue_pkts: 400,
        ..Path::default()
    }
}

fn alone(path: &Path, policy: &str) -> Outcome {
    let outcome = run(path, &[Plan::greedy(policy)], 120);
    println!(
        "{policy} alone: {:.3} of the link, {:.1} ms of queue",
        outcome.share(0, 20.0, 120.0),
        outcome.mean_wait_ms(20.0, 120.0)
    );
    outcome
}

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
