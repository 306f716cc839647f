// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbered differences from the sources in bbr.h.

use crate::{RTT_US, Rounds};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};

#[test]
fn difference_2_drain_ends_when_the_flight_that_the_host_counts_is_the_path_s() {
    let mut rounds = Rounds::new("bbr");
    for pkts in [10, 20, 40, 80, 100, 100, 100] {
        rounds.round(pkts);
    }
    let inflight = |inflight_pkts| SenderAck {
        inflight_pkts,
        ..SenderAck::default()
    };
    rounds.round_with(100, &inflight(200));
    assert_eq!(rounds.pace_x1000(), 343, "draining");
    // 1 MB/s x 0.1 s = 100 segments, and three bursts of two: 106.
    rounds.round_with(100, &inflight(107));
    assert_eq!(rounds.pace_x1000(), 343, "still draining");
    rounds.round_with(100, &inflight(106));
    assert!(rounds.pace_x1000() >= 742);
}

#[test]
fn difference_5_the_first_phase_is_drawn_and_is_never_the_one_that_yields() {
    let mut paces = Vec::new();
    for draw in 0..7u64 {
        let random = ((draw << 32) / 7 + 1) as u32;
        // Enters PROBE_BW with the last round of the start.
        let mut rounds = Rounds::new("bbr");
        rounds.random = random;
        for pkts in [10, 20, 40, 80, 100, 100, 100, 100] {
            rounds.round(pkts);
        }
        paces.push(rounds.pace_x1000());
    }
    assert_eq!(paces, [1237, 990, 990, 990, 990, 990, 990]);
}

#[test]
fn difference_7_samples_of_its_own_probe_rtt_do_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing("bbr:bandwidth_rounds=2,probe_rtt_ms=1000", u32::MAX);
    let longer = SenderAck {
        rtt_us: RTT_US + 5000,
        inflight_pkts: 100,
        ..SenderAck::default()
    };
    while rounds.flow.window().cwnd_pkts > 4 {
        rounds.round_with(100, &longer);
    }
    let small = SenderAck {
        inflight_pkts: 4,
        ..SenderAck::default()
    };
    for _ in 0..11 {
        rounds.round_with(4, &small);
    }
    // 4 segments per round trip for 11 of them, and still 1 MB/s.
    assert!(rounds.pace_x1000() >= 742, "{}", rounds.pace_x1000());
}

#[test]
fn difference_6_a_time_out_starts_from_what_is_in_flight_and_the_window_comes_back() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_timeout(&rounds.event());
    assert_eq!(rounds.flow.window().cwnd_pkts, 1);
    let repairing = SenderAck {
        phase: Phase::Loss as u8,
        ..SenderAck::default()
    };
    rounds.round_with(1, &repairing);
    assert!(rounds.flow.window().cwnd_pkts < 10);
    rounds.round(4);
    assert!(rounds.flow.window().cwnd_pkts >= before);
}

#[test]
fn difference_1_the_bandwidth_is_the_greatest_of_the_last_ten_round_trips() {
    // A path that gets a segment per round trip slower: three best of all samples would
    // have forgotten those in between.
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    for pkts in (60..100).rev() {
        rounds.round(pkts);
        // The round of nine round trips ago is the greatest that counts.
        let greatest = (pkts + 9).min(100);
        let target = 2 * greatest + 6;
        let cwnd_pkts = rounds.flow.window().cwnd_pkts;
        assert!(
            (target..=target + 2).contains(&cwnd_pkts),
            "{pkts}: {cwnd_pkts}"
        );
    }
}

#[test]
fn difference_3_any_rtt_replaces_one_that_has_expired() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    let longer = SenderAck {
        rtt_us: 3 * RTT_US,
        inflight_pkts: 4,
        ..SenderAck::default()
    };
    // 300 ms, be it of a delayed acknowledgement, from 10 s after the least one on.
    while rounds.flow.window().cwnd_pkts > 4 {
        assert!(rounds.now_us < 12_000_000);
        rounds.round_with(100, &longer);
    }
    for _ in 0..10 {
        rounds.round_with(100, &longer);
    }
    // 2 x 1 MB/s x 300 ms, and 6 or 8 segments for bursts.
    assert!((606..=608).contains(&rounds.flow.window().cwnd_pkts));
}

#[test]
fn difference_4_the_pace_counts_payload() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    rounds.flow.on_idle(&rounds.event());
    // 100 segments of 1000 bytes in 100 ms, x 0.99; headers of 40 bytes would make 1029.
    assert_eq!(rounds.flow.window().pacing_bytes_per_s, 990_000);
}

#[test]
fn difference_6_the_window_after_a_time_out_is_the_flight_and_a_segment() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    rounds.flow.on_timeout(&SenderEvent {
        inflight_pkts: 7,
        ..rounds.event()
    });
    assert_eq!(rounds.flow.window().cwnd_pkts, 8);
}

#[test]
fn difference_8_an_rtt_that_equals_rtprop_does_not_renew_it() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let inflight = SenderAck {
        inflight_pkts: 100,
        ..SenderAck::default()
    };
    // The first RTT came at 1.1 s; the same one in each round trip until 11.1 s.
    while rounds.now_us < 11_100_000 {
        rounds.round_with(100, &inflight);
        assert!(rounds.flow.window().cwnd_pkts > 4);
    }
    rounds.round_with(100, &inflight);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4, "PROBE_RTT");
}
