// SPDX-License-Identifier: Apache-2.0 OR MIT
//! STARTUP, DRAIN, PROBE_BW, PROBE_RTT.

use crate::{RTT_US, Rounds};
use ebb_algorithms::SenderAck;

#[test]
fn paces_at_first_by_the_window_and_the_rtt_times_the_high_gain() {
    let mut rounds = Rounds::new("bbr");
    // 10 segments of 1000 bytes in 1 ms, x 2.885.
    assert_eq!(rounds.flow.window().pacing_bytes_per_s, 28_857_421);
    // As soon as the RTT is known: 20 segments in 100 ms, x 2.885 = 577 kB/s; a rate sample
    // of 10 in 100 ms gives less.
    rounds.round(10);
    assert!((280_000..=580_000).contains(&rounds.flow.window().pacing_bytes_per_s));
}

#[test]
fn startup_doubles_the_pace_and_the_window_per_round_trip() {
    let mut rounds = Rounds::new("bbr");
    rounds.round(10).round(20);
    let before = rounds.flow.window();
    rounds.round(40);
    let after = rounds.flow.window();
    // 40 segments in 100 ms: 400 kB/s x 2.885 x 0.99.
    assert_eq!(after.pacing_bytes_per_s / 1000, 1142);
    assert_eq!(after.cwnd_pkts, before.cwnd_pkts + 40);
}

#[test]
fn startup_ends_when_bandwidth_has_not_grown_by_a_quarter_for_three_round_trips() {
    let mut rounds = Rounds::new("bbr");
    for pkts in [10, 20, 40, 80, 100] {
        rounds.round(pkts);
    }
    // 100 is a quarter more than 80; 100, 110 and 124 are not a quarter more than 100.
    rounds.round(100).round(110);
    let pace = rounds.pace_x1000();
    assert_eq!(pace, 1100 * 2885 / 1000 * 99 / 100 + 1);
    // DRAIN at ln 2 / 2 of the bandwidth while more than the path holds is in flight.
    rounds.round_with(
        124,
        &SenderAck {
            inflight_pkts: 300,
            ..SenderAck::default()
        },
    );
    // 1240 kB/s x 355 / 1024 x 0.99
    assert_eq!(rounds.pace_x1000(), 425);
}

#[test]
fn probe_bw_goes_round_in_eight_phases() {
    // The draw 0 starts with the phase that probes, at 1.25 x 0.99.
    let mut rounds = Rounds::probing("bbr", 0);
    let mut paces = Vec::new();
    for _ in 0..16 {
        // A round trip is longer than RTprop, and what is in flight is what is asked for.
        let more = SenderAck {
            inflight_pkts: 130,
            rtt_us: RTT_US + 1000,
            ..SenderAck::default()
        };
        rounds.now_us += 1000;
        rounds.round_with(100, &more);
        paces.push(rounds.pace_x1000());
    }
    let from = paces.iter().position(|pace| *pace == 1237).unwrap();
    let cycle = [1237, 742, 990, 990, 990, 990, 990, 990];
    for (index, pace) in paces[from..].iter().enumerate() {
        assert_eq!(*pace, cycle[index % 8], "{paces:?}");
    }
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_lasts_for_200_ms() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let longer = SenderAck {
        rtt_us: RTT_US + 5000,
        inflight_pkts: 100,
        ..SenderAck::default()
    };
    // The least RTT was met last at 1.1 s: equal ones do not count.
    while rounds.now_us < 11_100_000 {
        rounds.round_with(100, &longer);
    }
    assert!(rounds.flow.window().cwnd_pkts > 200);
    rounds.round_with(100, &longer);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    let small = SenderAck {
        inflight_pkts: 4,
        ..SenderAck::default()
    };
    // From here on the flight is small enough: 200 ms and a round trip.
    rounds.round_with(4, &small);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    rounds.round_with(4, &small).round_with(4, &small);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    rounds.round_with(4, &small);
    assert!(rounds.flow.window().cwnd_pkts > 200, "back");
    assert!(rounds.pace_x1000() >= 742, "and as fast as before");
}

#[test]
fn an_idle_time_does_not_start_a_probe_of_the_rtt() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    rounds.now_us += 60_000_000;
    rounds.flow.on_idle(&rounds.event());
    assert_eq!(rounds.pace_x1000(), 990);
    rounds.round(100);
    assert!(rounds.flow.window().cwnd_pkts > 100);
}
