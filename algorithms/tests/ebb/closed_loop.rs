// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `ebb` law in closed loop: takes an idle link, leaves a busy one.

use crate::receiver_path::path::TakenOver;
use crate::receiver_path::{Path, run};
use ebb_algorithms::Policy;

const SECOND_US: u64 = 1_000_000;

fn ebb() -> Policy {
    "ebb".parse().unwrap()
}

#[test]
fn fills_an_idle_link_with_a_short_queue() {
    let path = Path::default();
    let outcome = run(&path, &ebb(), 60);
    let overall = outcome.utilisation(&path, 0.0, 60.0);
    let settled = outcome.utilisation(&path, 20.0, 60.0);
    let queue_ms = outcome.mean_longest_wait_ms(20.0, 60.0);
    assert!(overall > 0.985, "{overall}");
    assert!(settled > 0.995, "{settled}");
    assert!(queue_ms < 12.0, "{queue_ms}");
}

#[test]
fn takes_what_a_constant_rate_leaves() {
    let path = Path {
        others: vec![(0, 60 * SECOND_US, 6_000_000)],
        ..Path::default()
    };
    let outcome = run(&path, &ebb(), 60);
    let spare = outcome.utilisation(&path, 10.0, 60.0) / 0.4;
    let queue_ms = outcome.mean_longest_wait_ms(10.0, 60.0);
    assert!(spare > 0.93, "{spare}");
    assert!(queue_ms < 12.0, "{queue_ms}");
}

#[test]
fn steps_aside_when_others_take_the_link_and_comes_back() {
    let others = vec![(20 * SECOND_US, 40 * SECOND_US, 9_900_000)];
    let path = Path {
        others,
        ..Path::default()
    };
    let outcome = run(&path, &ebb(), 60);
    let before = outcome.utilisation(&path, 10.0, 20.0);
    let during = outcome.utilisation(&path, 22.0, 40.0);
    let after = outcome.utilisation(&path, 43.0, 60.0);
    assert!(before > 0.99, "{before}");
    assert!(during < 0.05, "{during}");
    assert!(after > 0.95, "{after}");
}

#[test]
fn every_tick_serves() {
    // What a coarse tick blurs is left to others: less of the spare, never more.
    for (tick_us, shared_min) in [(1, 0.38), (1000, 0.38), (4000, 0.36), (10_000, 0.2)] {
        let others = vec![(30 * SECOND_US, 60 * SECOND_US, 6_000_000)];
        let path = Path {
            tick_us,
            others,
            ..Path::default()
        };
        let outcome = run(&path, &ebb(), 60);
        let alone = outcome.utilisation(&path, 10.0, 30.0);
        let shared = outcome.utilisation(&path, 40.0, 60.0);
        let queue_ms = outcome.mean_longest_wait_ms(40.0, 60.0);
        println!("tick {tick_us} us: alone {alone:.3}, shared {shared:.3}, queue {queue_ms:.1} ms");
        assert!(alone > 0.98, "tick {tick_us}: {alone}");
        assert!(shared > shared_min, "tick {tick_us}: {shared}");
        assert!(
            queue_ms < 20.0 + 3.0 * tick_us as f64 / 1000.0,
            "tick {tick_us}: {queue_ms}"
        );
    }
}

#[test]
fn without_timestamps_it_yields_by_the_feedback_time() {
    let others = vec![(30 * SECOND_US, 60 * SECOND_US, 6_000_000)];
    let path = Path {
        tick_us: 0,
        others,
        ..Path::default()
    };
    let outcome = run(&path, &ebb(), 60);
    let alone = outcome.utilisation(&path, 10.0, 30.0);
    let shared = outcome.utilisation(&path, 40.0, 60.0);
    let queue_ms = outcome.mean_longest_wait_ms(40.0, 60.0);
    println!("alone {alone:.3}, shared {shared:.3}, queue {queue_ms:.1} ms");
    assert!(alone > 0.98, "{alone}");
    assert!(shared > 0.37, "{shared}");
    assert!(queue_ms < 12.0, "{queue_ms}");
}

#[test]
fn an_hour_of_drift_and_clocks_that_wrap_change_nothing() {
    let hour_s = 3600;
    let steady = Path {
        rate_bits_per_s: 2_000_000,
        ..Path::default()
    };
    for drift_ppm in [-100, 0, 100] {
        // Both timestamps wrap within the first half hour.
        let path = Path {
            drift_ppm,
            first_tsval: u32::MAX - 900_000,
            first_local_ts: u32::MAX - 1_200_000,
            others: vec![(1800 * SECOND_US, 3600 * SECOND_US, 1_200_000)],
            ..steady.clone()
        };
        let outcome = run(&path, &ebb(), hour_s);
        let alone = outcome.utilisation(&path, 60.0, 1800.0);
        let shared = outcome.utilisation(&path, 1860.0, 3600.0);
        let queue_ms = outcome.mean_longest_wait_ms(1860.0, 3600.0);
        println!("{drift_ppm} ppm: alone {alone:.3}, shared {shared:.3}, queue {queue_ms:.1} ms");
        assert!(alone > 0.95, "{drift_ppm} ppm: {alone}");
        assert!(shared > 0.33, "{drift_ppm} ppm: {shared}");
        assert!(queue_ms < 40.0, "{drift_ppm} ppm: {queue_ms}");
    }
}

#[test]
fn a_longer_route_does_not_starve_it() {
    let path = Path {
        longer: Some((20 * SECOND_US, 40_000)),
        ..Path::default()
    };
    let outcome = run(&path, &ebb(), 90);
    let starved = outcome.utilisation(&path, 22.0, 38.0);
    let late = outcome.utilisation(&path, 45.0, 90.0);
    println!("starved {starved:.3}, late {late:.3}");
    // Until it is sure that nobody else is there.
    assert!(starved < 0.2, "{starved}");
    assert!(late > 0.97, "{late}");
}

#[test]
fn a_buffer_that_others_keep_full_is_no_longer_route() {
    for buffer_us in [20_000, 50_000, 200_000] {
        for rate in [9_950_000, 9_990_000, 10_000_000, 10_500_000] {
            let path = Path {
                others: vec![(20 * SECOND_US, 200 * SECOND_US, rate)],
                buffer_us,
                ..Path::default()
            };
            let outcome = run(&path, &ebb(), 200);
            let share = outcome.utilisation(&path, 22.0, 200.0);
            assert!(share < 0.02, "{rate} bit/s, {buffer_us} us: {share}");
        }
    }
}

#[test]
fn small_segments_and_fast_short_paths_serve() {
    for (rate_bits_per_s, rtt_us, mss_bytes) in [
        (10_000_000, 100_000, 536),
        (100_000_000, 20_000, 1448),
        (1_000_000, 30_000, 1448),
        (100_000_000, 2000, 1448),
        (50_000_000, 600_000, 1448),
    ] {
        let path = Path {
            rate_bits_per_s,
            rtt_us,
            mss_bytes,
            ..Path::default()
        };
        let outcome = run(&path, &ebb(), 60);
        let settled = outcome.utilisation(&path, 30.0, 60.0);
        println!("{rate_bits_per_s} bit/s {rtt_us} us {mss_bytes} bytes: {settled:.3}");
        assert!(
            settled > 0.9,
            "{rate_bits_per_s} {rtt_us} {mss_bytes}: {settled}"
        );
    }
}

/// 10 Mbit/s, 100 ms, a buffer of one BDP: where the laws are compared.
fn home_link() -> Path {
    Path {
        buffer_us: 103_000,
        ..Path::default()
    }
}

#[test]
fn leaves_the_link_to_a_greedy_flow_whoever_came_first() {
    for (first_us, name) in [(0, "others"), (10 * SECOND_US, "we")] {
        let path = Path {
            greedy: vec![(first_us, 100 * SECOND_US)],
            ..home_link()
        };
        let outcome = run(&path, &ebb(), 60);
        let bins = 150..600;
        let ours: u64 = outcome.received_bytes[bins.clone()].iter().sum();
        let theirs: u64 = outcome.greedy_bytes[bins].iter().sum();
        let share = theirs as f64 / (ours + theirs) as f64;
        println!("{name} first: {share:.3}");
        assert!(share > 0.95, "{name} first: {share}");
    }
}

#[test]
fn leaves_a_link_with_little_room_to_a_greedy_flow() {
    for (buffer_us, least) in [(12_500, 0.8), (25_000, 0.85)] {
        let path = Path {
            rtt_us: 50_000,
            buffer_us,
            greedy: vec![(20 * SECOND_US, 60 * SECOND_US)],
            ..Path::default()
        };
        let outcome = run(&path, &ebb(), 80);
        let bins = 220..600;
        let ours: u64 = outcome.received_bytes[bins.clone()].iter().sum();
        let theirs: u64 = outcome.greedy_bytes[bins].iter().sum();
        let share = theirs as f64 / (ours + theirs) as f64;
        let after = outcome.utilisation(&path, 65.0, 80.0);
        println!("{buffer_us} us: {share:.3}, after {after:.3}");
        assert!(share > least, "{buffer_us} us: {share}");
        assert!(after > 0.95, "{buffer_us} us: {after}");
    }
}

#[test]
fn takes_over_a_connection_and_has_the_link_again_as_soon_as_its_older_window_is_used_up() {
    // 3 MB are 2.5 s of the link; the phase of a round trip is what the runs differ in.
    for phase in 0..16 {
        let older = TakenOver {
            at_us: 3 * SECOND_US + phase * 7_000,
            granted_bytes: 3_000_000,
            cwnd_bytes: 140 * 1448,
        };
        let path = Path {
            taken_over: Some(older),
            held_up: Some((97, 2500)),
            ..home_link()
        };
        let outcome = run(&path, &ebb(), 12);
        let soon = outcome.utilisation(&path, 6.4, 7.4);
        let settled = outcome.utilisation(&path, 7.4, 12.0);
        let queue_ms = outcome.mean_longest_wait_ms(7.4, 12.0);
        println!("phase {phase}: {soon:.3} soon, then {settled:.3}, queue {queue_ms:.1} ms");
        assert!(soon > 0.95, "phase {phase}: {soon}");
        assert!(settled > 0.99, "phase {phase}: {settled}");
        assert!(queue_ms < 12.0, "phase {phase}: {queue_ms}");
    }
}

#[test]
fn segments_that_were_held_up_do_not_look_like_a_faster_link() {
    // What a busy machine or a radio link does: one of so many waits, and all behind it.
    for (every, by_us) in [(97, 2500), (97, 5000), (41, 2500), (13, 1500)] {
        let path = Path {
            held_up: Some((every, by_us)),
            ..home_link()
        };
        let outcome = run(&path, &ebb(), 20);
        let early = outcome.utilisation(&path, 1.0, 3.0);
        let settled = outcome.utilisation(&path, 3.0, 20.0);
        let longest_us = outcome.longest_wait_us.iter().max().unwrap();
        println!("1 of {every} by {by_us} us: {early:.3} early, {settled:.3}, {longest_us} us");
        assert!(early > 0.9, "1 of {every} by {by_us} us: {early}");
        assert!(settled > 0.97, "1 of {every} by {by_us} us: {settled}");
        assert!(
            *longest_us < 45_000,
            "1 of {every} by {by_us} us: {longest_us}"
        );
    }
}

/// Others have a queue of their own: no delay shows them.
#[test]
fn others_in_a_queue_of_their_own_have_the_link() {
    for (rate_bits_per_s, most) in [(5_000_000, 0.15), (10_000_000, 0.1), (50_000_000, 0.1)] {
        let path = Path {
            rate_bits_per_s,
            fair: Some((20 * SECOND_US, 40 * SECOND_US)),
            ..Path::default()
        };
        let outcome = run(&path, &ebb(), 60);
        let before = outcome.utilisation(&path, 10.0, 20.0);
        let during = outcome.utilisation(&path, 21.0, 40.0);
        let after = outcome.utilisation(&path, 42.0, 60.0);
        println!("{rate_bits_per_s} bit/s: {before:.3}, {during:.3}, {after:.3}");
        assert!(before > 0.98, "{rate_bits_per_s}: {before}");
        assert!(during < most, "{rate_bits_per_s}: {during}");
        assert!(after > 0.95, "{rate_bits_per_s}: {after}");
    }
}

/// At half the rate each gap is what others' segments would make of it.
#[test]
fn a_link_that_becomes_twice_as_slow_is_not_left_to_nobody_for_long() {
    let path = Path {
        slower: Some((20 * SECOND_US, 5_000_000)),
        ..Path::default()
    };
    let outcome = run(&path, &ebb(), 60);
    let slow = Path {
        rate_bits_per_s: 5_000_000,
        ..path
    };
    let at_last = outcome.utilisation(&slow, 40.0, 60.0);
    println!("{at_last:.3}");
    assert!(at_last > 0.93, "{at_last}");
}

/// A rate that is not a whole part of what it was is no comb.
#[test]
fn a_link_that_becomes_slower_is_filled_at_once() {
    for rate_bits_per_s in [3_700_000, 6_000_000, 7_000_000] {
        let path = Path {
            slower: Some((20 * SECOND_US, rate_bits_per_s)),
            ..Path::default()
        };
        let outcome = run(&path, &ebb(), 60);
        let slow = Path {
            rate_bits_per_s,
            ..path
        };
        let after = outcome.utilisation(&slow, 23.0, 60.0);
        println!("{rate_bits_per_s} bit/s: {after:.3}");
        assert!(after > 0.9, "{rate_bits_per_s}: {after}");
    }
}

/// A device that waits for more makes gaps of its own: they look like others in a queue of theirs,
/// for whom the law stays away longer.
#[test]
fn gaps_that_receive_offload_makes_are_nobody_s() {
    let bursts: Vec<u64> = (0..9).map(|it| 10 + 6 * it).collect();
    for offload_us in [0, 1_000, 2_000, 5_000] {
        let of_burst = |from_s: &u64| (from_s * SECOND_US, (from_s + 3) * SECOND_US, 9_900_000);
        let path = Path {
            others: bursts.iter().map(of_burst).collect(),
            offload_us,
            ..home_link()
        };
        let outcome = run(&path, &ebb(), 64);
        let mean = |after_s: u64| {
            let used = bursts.iter().map(|from_s| {
                let from_s = (from_s + after_s) as f64;
                outcome.utilisation(&path, from_s, from_s + 3.0)
            });
            used.sum::<f64>() / bursts.len() as f64
        };
        let alone = outcome.utilisation(&path, 5.0, 10.0);
        let (during, between) = (mean(0), mean(3));
        println!("{offload_us} us: alone {alone:.3}, in bursts {during:.3}, between {between:.3}");
        assert!(alone > 0.99, "{offload_us} us: {alone}");
        assert!(during < 0.08, "{offload_us} us: {during}");
        assert!(between > 0.69, "{offload_us} us: {between}");
    }
}
