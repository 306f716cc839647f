// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rledbat` in closed loop: what the sender-side law does, by the advertised window.

use crate::receiver_path::{Path, run};

/// 86 packets at 10 Mbit/s.
const QUEUE_US: u64 = 103_200;

fn home_link(rtt_ms: u64) -> Path {
    Path {
        rtt_us: rtt_ms * 1000,
        buffer_us: QUEUE_US,
        ..Path::default()
    }
}

#[test]
fn alone_it_uses_the_link_and_stays_below_60_ms() {
    for rtt_ms in [20, 100] {
        let path = home_link(rtt_ms);
        let outcome = run(&path, &"rledbat".parse().unwrap(), 120);
        let share = outcome.utilisation(&path, 20.0, 120.0);
        let queue_ms = outcome.mean_longest_wait_ms(40.0, 120.0);
        println!("{rtt_ms} ms: {share:.3}, {queue_ms:.1} ms");
        assert!((0.88..0.99).contains(&share), "{rtt_ms} ms: {share}");
        assert!((40.0..65.0).contains(&queue_ms), "{rtt_ms} ms: {queue_ms}");
    }
}

#[test]
fn it_yields_to_a_greedy_flow_and_comes_back() {
    for rtt_ms in [20, 100] {
        let path = Path {
            greedy: vec![(30_000_000, 90_000_000)],
            ..home_link(rtt_ms)
        };
        let outcome = run(&path, &"rledbat".parse().unwrap(), 150);
        let during = outcome.utilisation(&path, 40.0, 90.0);
        let after = outcome.utilisation(&path, 110.0, 150.0);
        println!("{rtt_ms} ms: {during:.3} beside a greedy flow, {after:.3} after it");
        assert!(during < 0.06, "{rtt_ms} ms: {during}");
        assert!(after > 0.75, "{rtt_ms} ms: {after}");
    }
}

#[test]
fn its_window_is_the_same_whatever_the_senders_clock_is() {
    let windows = |tick_us, drift_ppm, first_tsval| {
        let path = Path {
            tick_us,
            drift_ppm,
            first_tsval,
            ..home_link(50)
        };
        run(&path, &"rledbat".parse().unwrap(), 60).window_bytes
    };
    let usual = windows(1000, 0, 1_000_000);
    assert_eq!(windows(4000, 0, 1_000_000), usual);
    assert_eq!(windows(10_000, -100, 1_000_000), usual);
    assert_eq!(windows(1, 100, u32::MAX - 5_000_000), usual);
}

#[test]
fn our_own_timestamps_may_wrap() {
    let windows = |first_local_ts| {
        let path = Path {
            first_local_ts,
            ..home_link(50)
        };
        run(&path, &"rledbat".parse().unwrap(), 60).window_bytes
    };
    assert_eq!(windows(u32::MAX - 20_000), windows(5_000_000));
}
