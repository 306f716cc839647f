// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rate` in closed loop: the rate that comes out, by the window alone (this path delays
//! no acknowledgements, nor does the kernel).

use crate::receiver_path::{Outcome, Path, run};

fn home_link(rtt_ms: u64) -> Path {
    Path {
        rtt_us: rtt_ms * 1000,
        buffer_us: 103_200,
        ..Path::default()
    }
}

fn kbit_per_s(outcome: &Outcome, from_s: usize, until_s: usize) -> f64 {
    let bytes: u64 = outcome.received_bytes[from_s * 10..until_s * 10]
        .iter()
        .sum();
    bytes as f64 * 8.0 / 1000.0 / (until_s - from_s) as f64
}

fn held(path: &Path, target_kbit: u32) -> f64 {
    let policy = format!("rate:target_kbit_per_s={target_kbit}")
        .parse()
        .unwrap();
    let rate = kbit_per_s(&run(path, &policy, 60), 10, 60);
    println!(
        "{target_kbit} kbit/s at {} ms: {rate:.0}",
        path.rtt_us / 1000
    );
    rate
}

#[test]
fn targets_that_the_path_can_carry_are_held_within_the_slack_or_a_segment() {
    for rtt_ms in [20, 100] {
        for target_kbit in [500, 1000, 3000, 6000, 9000] {
            let rate = held(&home_link(rtt_ms), target_kbit);
            // One segment per round trip is the grain of the window.
            let grain = 1448.0 * 8.0 / rtt_ms as f64;
            let target = f64::from(target_kbit);
            let off = (rate - target).abs();
            assert!(
                off <= (target * 0.11).max(grain),
                "{rtt_ms} ms, {target}: {rate}"
            );
        }
    }
}

#[test]
fn a_target_beyond_the_link_leaves_the_link_full() {
    for rtt_ms in [20, 100] {
        let path = home_link(rtt_ms);
        let policy = "rate:target_kbit_per_s=20000".parse().unwrap();
        let share = run(&path, &policy, 60).utilisation(&path, 10.0, 60.0);
        assert!(share > 0.85, "{rtt_ms} ms: {share}");
    }
}

#[test]
fn a_target_below_the_link_leaves_no_queue() {
    let policy = "rate:target_kbit_per_s=3000".parse().unwrap();
    let queue_ms = run(&home_link(100), &policy, 60).mean_longest_wait_ms(20.0, 60.0);
    assert!(queue_ms < 20.0, "{queue_ms}");
}

#[test]
fn the_rate_holds_beside_a_greedy_flow_that_takes_the_rest() {
    let path = Path {
        greedy: vec![(20_000_000, 60_000_000)],
        ..home_link(50)
    };
    let policy = "rate:target_kbit_per_s=2000".parse().unwrap();
    let outcome = run(&path, &policy, 60);
    let (before, beside) = (kbit_per_s(&outcome, 10, 20), kbit_per_s(&outcome, 30, 60));
    assert!((1800.0..2250.0).contains(&before), "{before}");
    assert!((1700.0..2300.0).contains(&beside), "{beside}");
}

#[test]
fn the_senders_clock_does_not_matter() {
    let windows = |tick_us, first_tsval| {
        let path = Path {
            tick_us,
            first_tsval,
            ..home_link(50)
        };
        run(&path, &"rate".parse().unwrap(), 30).window_bytes
    };
    assert_eq!(windows(10_000, u32::MAX - 1000), windows(1000, 7));
}
