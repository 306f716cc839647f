// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `vulture` law in closed loop: the default reading yields, the printed one does not.

use crate::receiver_path::{Outcome, Path, run};
use ebb_algorithms::Policy;

const SECOND_US: u64 = 1_000_000;
const PERIOD_S: u64 = 10;

/// 86 packets of 1500 bytes at 10 Mbit/s.
const QUEUE_US: u64 = 103_200;

fn home_link() -> Path {
    Path {
        buffer_us: QUEUE_US,
        ..Path::default()
    }
}

/// A greedy flow that is on for 10 s and off for 10 s, four times.
fn on_off() -> Path {
    let greedy = (0..4)
        .map(|cycle| (2 * cycle * PERIOD_S, (2 * cycle + 1) * PERIOD_S))
        .map(|(from_s, until_s)| (from_s * SECOND_US, until_s * SECOND_US))
        .collect();
    Path {
        greedy,
        ..home_link()
    }
}

/// Use of the link in the on periods and in the off periods, the first cycle left out.
fn use_of_periods(outcome: &Outcome, path: &Path) -> (f64, f64) {
    let mean = |first_s: u64| {
        let uses = (1..4).map(|cycle| {
            let from_s = (2 * cycle * PERIOD_S + first_s) as f64;
            outcome.utilisation(path, from_s, from_s + PERIOD_S as f64)
        });
        uses.sum::<f64>() / 3.0
    };
    (mean(0), mean(PERIOD_S))
}

fn measured(policy: &str) -> (f64, f64) {
    let path = on_off();
    let policy: Policy = policy.parse().unwrap();
    let (on, off) = use_of_periods(&run(&path, &policy, 80), &path);
    println!("{policy}: {on:.3} of the on periods, {off:.3} of the off periods");
    (on, off)
}

#[test]
fn the_default_reading_leaves_the_on_periods_and_creeps_into_the_off_periods() {
    let (on, off) = measured("vulture");
    assert!(on < 0.3, "{on}");
    assert!((0.15..0.75).contains(&off), "{off}");
}

#[test]
fn the_algorithms_as_printed_do_not_yield() {
    let (on, _) = measured("vulture:pause_packets=0,first_thresh_x1024=0,halve_stop=0");
    assert!(on > 0.4, "{on}");
}

#[test]
fn alone_it_fills_the_link_in_about_twenty_seconds() {
    let path = home_link();
    let outcome = run(&path, &"vulture".parse().unwrap(), 60);
    let early = outcome.utilisation(&path, 0.0, 5.0);
    let settled = outcome.utilisation(&path, 20.0, 40.0);
    assert!(early < 0.5, "{early}");
    assert!(settled > 0.99, "{settled}");
}

#[test]
fn it_takes_what_a_constant_rate_leaves_without_timestamps_too() {
    for tick_us in [1000, 0] {
        let path = Path {
            others: vec![(0, 90 * SECOND_US, 6_000_000)],
            tick_us,
            ..home_link()
        };
        let outcome = run(&path, &"vulture".parse().unwrap(), 90);
        let spare = outcome.utilisation(&path, 30.0, 90.0) / 0.4;
        let longest_ms = outcome.mean_longest_wait_ms(30.0, 90.0);
        assert!((0.55..1.05).contains(&spare), "tick {tick_us}: {spare}");
        assert!(longest_ms < 80.0, "tick {tick_us}: {longest_ms} ms");
    }
}
