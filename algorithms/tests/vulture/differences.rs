// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbered differences from the paper in vulture.h that no other test covers; 6, 7
//! and 8 are in estimate.rs, 9 and 11 in policies.rs.

use crate::connection::*;
use ebb_algorithms::{Ack, Segment};

/// A steady flow: a packet every 5 ms, RTT 100 ms, acknowledgements at once.
struct Steady {
    connection: Connection,
    tick_us: u64,
}

impl Steady {
    fn run(&mut self, from: u64, until: u64, queue_us: impl Fn(u64) -> u64) {
        for packet in from..until {
            let sent_us = packet * 5000;
            let arrived_us = sent_us + 50_000 + queue_us(packet);
            let echo = ORIGIN_TS + (sent_us / 1000) as u32;
            let connection = &mut self.connection;
            let seq = connection.next_seq;
            connection.next_seq = seq.wrapping_add(MSS);
            connection.flow.on_segment(&Segment {
                now_us: ORIGIN_US + arrived_us,
                seq,
                payload_bytes: MSS,
                segments: 1,
                tsval: 9_000 + (sent_us / self.tick_us) as u32,
                tsecr: echo.wrapping_sub(50),
                local_ts: ORIGIN_TS + (arrived_us / 1000) as u32,
                local_tick_us: 1000,
                rcv_nxt: seq,
                right_edge_seq: seq.wrapping_add(50 * MSS),
                mss_bytes: MSS,
                has_timestamps: 1,
                ..Segment::default()
            });
            let next_seq = connection.next_seq;
            connection.flow.on_ack(&Ack {
                now_us: ORIGIN_US + arrived_us,
                ack_seq: next_seq,
                local_ts: ORIGIN_TS + (arrived_us / 1000) as u32,
                local_tick_us: 1000,
                right_edge_seq: next_seq.wrapping_add(50 * MSS),
                mss_bytes: MSS,
                has_timestamps: 1,
                ..Ack::default()
            });
        }
    }
}

#[test]
fn difference_1_every_tick_gives_the_same_answers() {
    for tick_us in [1, 1000, 4000, 10_000] {
        let connection = Connection::new(as_printed("first_thresh_x1024=1024"));
        let mut steady = Steady {
            connection,
            tick_us,
        };
        steady.run(0, 2000, |_| 0);
        let still = steady.connection.window();
        assert!(
            still > 20 * MSS,
            "tick {tick_us}: rises on a still path, {still}"
        );
        // The queue grows by 3 ms for every 5 ms: 12 ms = 3 jiffies per pair.
        steady.run(2000, 2120, |packet| (packet - 2000) * 3000);
        let after = steady.connection.window();
        assert!(
            after <= still / 2 + MSS,
            "tick {tick_us}: yields, {still} -> {after}"
        );
    }
}

#[test]
fn difference_1_a_clock_that_stands_still_makes_no_pairs() {
    let connection = Connection::new(as_printed(""));
    let mut steady = Steady {
        connection,
        tick_us: 1 << 40,
    };
    steady.run(0, 4000, |packet| packet % 7 * 10_000);
    assert_eq!(steady.connection.policy(), FIX);
    assert_eq!(steady.connection.window(), 10 * MSS);
}

#[test]
fn difference_3_high_packet_rates_leave_enough_pairs() {
    // 20 packets a millisecond (240 Mbit/s at 1500 bytes) for 60 ms: only every
    // 156th microsecond counts, so that 20 ms need 129 of the ring's 512 places.
    let mut connection = Connection::new(as_printed("pair_rule=1"));
    for packet in 0..1200_u64 {
        let at_us = packet * 50;
        connection.segment((at_us / 1000) as u32, 40_000 + at_us, OLD_ECHO);
    }
    let (sum, pairs, ..) = connection.counts();
    assert!((150..=400).contains(&pairs), "{pairs}");
    assert!(
        sum.unsigned_abs() <= u64::from(pairs),
        "a still path: {sum}"
    );
}

#[test]
fn difference_3_a_full_ring_takes_no_more_and_goes_on() {
    let mut connection = Connection::new(as_printed(""));
    // 600 packets sent in one burst, then 600 spread out: 512 found a place.
    for packet in 0..600 {
        connection.segment(0, 40_000 + packet * 200, OLD_ECHO);
    }
    for packet in 0..600_u64 {
        let sent_ms = 200 + packet as u32;
        connection.segment(sent_ms, 240_000 + packet * 1000, OLD_ECHO);
    }
    let (_, pairs, ..) = connection.counts();
    assert!(pairs >= 512, "{pairs}");
}

#[test]
fn difference_3_the_queue_can_be_shorter() {
    let mut connection = Connection::new(as_printed("queue_packets=16"));
    for packet in 0..20 {
        connection.segment(0, 40_000 + packet * 200, OLD_ECHO);
    }
    for packet in 0..20 {
        connection.segment(200, 240_000 + packet * 200, OLD_ECHO);
    }
    // 16 found a place and a partner; the 17th found the queue empty.
    assert_eq!(connection.counts().1, 16);
}

#[test]
fn difference_4_a_packet_from_before_the_head_is_not_paired() {
    let mut connection = Connection::new(as_printed(""));
    connection.segment(100, 140_000, OLD_ECHO);
    connection.segment(95, 141_000, OLD_ECHO);
    assert_eq!(connection.counts().1, 0, "reordered by 5 ms");
    connection.segment(120, 160_000, OLD_ECHO);
    assert_eq!(connection.counts().1, 1, "the head is still there");
    connection.segment(0, 161_000, OLD_ECHO);
    connection.segment(20, 181_000, OLD_ECHO);
    assert_eq!(
        connection.counts().1,
        2,
        "the queue began anew with the one at 0"
    );
}

#[test]
fn difference_5_one_variation_is_bounded() {
    let mut connection = Connection::new(as_printed("no_piv_rule=2,jiffy_us=1,psi_jiffies=1000"));
    connection.segment(0, 0, ORIGIN_TS);
    // 100 s late in jiffies of 1 us: 10^8, counted as 10^6.
    connection.segment(2, 100_002_000, OLD_ECHO);
    assert!(connection.policy() == HALVE || connection.counts().0 <= 1_000_000);
}

#[test]
fn difference_10_a_pause_without_echo_ends_after_ten_seconds() {
    let mut connection = Connection::new(as_printed(""));
    connection.round(0, &[2; 4]);
    connection.segment(5_000, 5_040_000, OLD_ECHO);
    assert!(connection.is_pausing());
    connection.segment(10_200, 10_240_000, OLD_ECHO);
    assert!(!connection.is_pausing());
}

#[test]
fn difference_11_a_mark_counts_as_a_loss() {
    for (is_loss, policy) in [(1, HALVE), (0, FIX)] {
        let mut connection = Connection::new(as_printed(&format!("ce_is_loss={is_loss}")));
        let mut segment = Segment {
            now_us: ORIGIN_US,
            payload_bytes: MSS,
            segments: 1,
            mss_bytes: MSS,
            has_timestamps: 1,
            local_tick_us: 1000,
            ..Segment::default()
        };
        segment.is_ce = 1;
        connection.flow.on_segment(&segment);
        assert_eq!(connection.policy(), policy);
    }
}

#[test]
fn difference_11_a_loss_after_a_decision_to_halve_does_not_halve_again() {
    let mut connection = Connection::new(as_printed(""));
    connection.ack(0, 0);
    connection.round(0, &[2; 4]);
    let beyond = connection.next_seq + MSS;
    connection.segment_at(70, 110_000, ORIGIN_TS + 61, beyond);
    assert_eq!(connection.ack(111_000, 99 * MSS), 5 * MSS);
}

/// Segments every 10 ms with a kernel RTT of 100 ms and no timestamps.
fn without_timestamps(settings: &str, is_observing: bool) -> Connection {
    let mut connection = Connection::new(as_printed(settings));
    connection.has_timestamps = false;
    connection.kernel_rtt_us = 100_000;
    connection.is_observing = is_observing;
    for packet in 0..100_u64 {
        connection.segment(0, packet * 10_000, 0);
        let next_seq = connection.next_seq;
        connection.ack(packet * 10_000, next_seq);
    }
    connection
}

#[test]
fn difference_12_without_timestamps_the_window_rises_by_a_segment_a_round_trip() {
    // One second, ten round trips of 100 ms: the first to judge, then one segment each.
    let window = without_timestamps("", false).window();
    assert!((18 * MSS..=20 * MSS).contains(&window), "{window}");
    assert_eq!(
        without_timestamps("no_timestamps_increases=0", false).window(),
        10 * MSS
    );
}

#[test]
fn difference_12_without_timestamps_losses_halve() {
    let mut connection = without_timestamps("no_timestamps_increases=0", false);
    let hole = connection.next_seq + MSS;
    connection.segment_at(0, 1_000_000, 0, hole);
    assert_eq!(connection.ack(1_001_000, 150 * MSS), 5 * MSS);
    connection.segment_at(0, 1_050_000, 0, hole + 2 * MSS);
    assert_eq!(
        connection.ack(1_051_000, 160 * MSS),
        5 * MSS,
        "within the round trip"
    );
    connection.segment_at(0, 1_101_000, 0, hole + 4 * MSS);
    assert_eq!(connection.ack(1_102_000, 170 * MSS), 5 * MSS / 2);
}

#[test]
fn difference_12_without_timestamps_the_estimate_is_a_round_trips_bytes() {
    let mut connection = without_timestamps("", true);
    assert_eq!(connection.estimate(), 10 * MSS);
    connection.is_observing = false;
    connection.segment(0, 1_000_000, 0);
    assert_eq!(connection.window(), 10 * MSS);
}
