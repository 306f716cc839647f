// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `rledbat`, and what must hold for it and `rate` whatever arrives.

use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};
use proptest::prelude::*;

const MSS: u32 = 1000;

/// A receiver whose segments a test makes up.
struct Hand {
    flow: ReceiverFlow,
    now_us: u64,
    first_seq: u32,
    next_byte: u32,
    tsval: u32,
    template: Segment,
}

impl Hand {
    fn new(policy: &str) -> Self {
        Self::from(policy, 0, 0)
    }

    fn from(policy: &str, first_seq: u32, first_ts: u32) -> Self {
        let policy: Policy = policy.parse().unwrap();
        let start = Start {
            now_us: 5_000_000,
            mss_bytes: MSS,
            rcv_nxt: first_seq,
            has_timestamps: 1,
            tsval: first_ts,
        };
        Self {
            flow: ReceiverFlow::new(policy, &start),
            now_us: start.now_us,
            first_seq,
            next_byte: 0,
            tsval: first_ts,
            template: Segment {
                payload_bytes: MSS,
                segments: 1,
                mss_bytes: MSS,
                local_tick_us: 1000,
                has_timestamps: 1,
                ..Segment::default()
            },
        }
    }

    fn window(&self) -> u32 {
        self.flow.window_bytes()
    }

    /// A segment from a byte on whose echo is so old.
    fn segment(&mut self, byte: u32, tsval: u32, rtt_ms: u32) -> u32 {
        let local_ts = self.local_ts();
        self.flow.on_segment(&Segment {
            now_us: self.now_us,
            seq: self.first_seq.wrapping_add(byte),
            tsval,
            tsecr: local_ts.wrapping_sub(rtt_ms),
            local_ts,
            rcv_nxt: self.first_seq.wrapping_add(self.next_byte),
            right_edge_seq: self.first_seq.wrapping_add(self.next_byte + (1 << 24)),
            ..self.template
        });
        self.window()
    }

    fn local_ts(&self) -> u32 {
        0xffff_f000u32.wrapping_add((self.now_us / 1000) as u32)
    }

    /// The next segment, so many milliseconds after the last one.
    fn next(&mut self, after_ms: u64, rtt_ms: u32) -> u32 {
        self.now_us += after_ms * 1000;
        self.tsval = self.tsval.wrapping_add(after_ms as u32);
        let (byte, tsval) = (self.next_byte, self.tsval);
        self.next_byte += MSS;
        self.segment(byte, tsval, rtt_ms)
    }

    /// Windows of segments for a time, evenly spread.
    fn run(&mut self, ms: u64, rtt_ms: u32) {
        let until_us = self.now_us + ms * 1000;
        while self.now_us < until_us {
            let gap_ms = u64::from(rtt_ms * MSS / self.window().max(MSS)).max(1);
            self.next(gap_ms, rtt_ms);
        }
    }
}

#[test]
fn starts_with_two_segments_and_grows_by_the_divided_bytes() {
    let mut hand = Hand::new("rledbat");
    assert_eq!(hand.window(), 2 * MSS);
    // Base 60 ms: F = 2; each segment adds half a segment.
    assert_eq!(hand.next(1, 60), 2 * MSS + MSS / 2);
    assert_eq!(hand.next(1, 60), 3 * MSS);
}

#[test]
fn round_trips_come_from_echoes_one_sample_each() {
    // The echo is 60 ms old, and 5 segments repeat it, each later: only the first counts.
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(300, 60);
    let echo = hand.local_ts().wrapping_sub(60);
    let before = hand.window();
    for age in 1..=5u32 {
        hand.now_us += 40_000;
        let (byte, tsval) = (hand.next_byte, hand.tsval);
        hand.next_byte += MSS;
        let age_ms = hand.local_ts().wrapping_sub(echo);
        assert_eq!(age_ms, 60 + 40 * age);
        if age == 1 {
            // A sample of 100 ms: 40 ms of queue, below the target.
            hand.segment(byte, tsval, age_ms);
        } else {
            // 140 to 260 ms would be far above it.
            assert!(hand.segment(byte, tsval, age_ms) >= before);
        }
    }
}

#[test]
fn a_queue_above_the_target_shrinks_the_window() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(2000, 60);
    hand.run(500, 110);
    let before = hand.window();
    hand.run(400, 200);
    assert!(hand.window() < before / 2, "{before} -> {}", hand.window());
}

#[test]
fn a_repeated_segment_with_a_newer_timestamp_halves_once_per_round_trip() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(1000, 60);
    let before = hand.window();
    let (old, newer) = (hand.next_byte - 5 * MSS, hand.tsval + 60);
    hand.now_us += 1000;
    let half = hand.segment(old, newer, 60);
    assert!(half.abs_diff(before / 2) <= MSS, "{before} -> {half}");
    hand.now_us += 1000;
    assert_eq!(
        hand.segment(old + MSS, newer + 1, 61),
        half,
        "the same round trip"
    );
    hand.now_us += 100_000;
    assert!(hand.segment(old + 2 * MSS, newer + 100, 60) < half);
}

#[test]
fn a_segment_that_was_overtaken_is_no_loss() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(1000, 60);
    let before = hand.window();
    let (old, older) = (hand.next_byte - 2 * MSS, hand.tsval - 2);
    assert_eq!(hand.segment(old, older, 60), before);
}

#[test]
fn a_congestion_mark_counts_as_a_loss() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(1000, 60);
    let before = hand.window();
    hand.template.is_ce = 1;
    let after = hand.next(1, 60);
    assert!(after.abs_diff(before / 2) <= MSS, "{before} -> {after}");
}

#[test]
fn difference_4_what_the_sender_does_not_use_is_not_granted() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    // Four segments in each round trip of 60 ms, for 20 s.
    for _ in 0..1300 {
        hand.next(15, 60);
    }
    let window = hand.window();
    assert!((8 * MSS..=15 * MSS).contains(&window), "{window}");
}

#[test]
fn difference_5_observing_does_not_limit_and_acts_from_what_arrived() {
    let mut hand = Hand::new("rledbat");
    hand.template.is_observing = 1;
    for _ in 0..200 {
        hand.next(3, 60);
    }
    assert_eq!(hand.window(), 0x7fff_ffff);
    hand.template.is_observing = 0;
    // 20 segments in 60 ms.
    let window = hand.next(3, 60);
    assert!((19 * MSS..=22 * MSS).contains(&window), "{window}");
}

#[test]
fn difference_1_a_decrease_is_told_at_once_for_the_host_to_spread() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.run(1000, 60);
    let before = hand.window();
    hand.now_us += 1000;
    let after = hand.segment(hand.next_byte - 5 * MSS, hand.tsval + 60, 60);
    // One segment arrived, but much more than its bytes is taken.
    assert!(before - after > 3 * MSS, "{before} -> {after}");
}

#[test]
fn difference_2_a_round_trip_begins_with_the_echos_tick() {
    let policy = "rledbat:slowdown_interval=0,target_us=1000,exit_x1024=1,current_filter=1";
    // The base is 60 ms, arrivals are at whole milliseconds; then one is 900 us later, with
    // an echo that is as old, or one tick older and 100 us later: queues of 0.9 and 1.1 ms.
    let after = |late_us: u64, echo_ms: u32| {
        let mut hand = Hand::new(policy);
        hand.run(2000, 60);
        hand.segment(hand.next_byte - 5 * MSS, hand.tsval + 60, 60);
        hand.run(2000, 60);
        let before = hand.window();
        hand.now_us += late_us;
        i64::from(hand.next(2, echo_ms)) - i64::from(before)
    };
    assert!(after(900, 60) >= 0, "{}", after(900, 60));
    assert!(after(100, 61) < 0, "{}", after(100, 61));
}

#[test]
fn difference_3_without_timestamps_the_hosts_estimate_counts_and_each_filled_hole() {
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.template.has_timestamps = 0;
    hand.template.kernel_rtt_us = 60_000;
    for _ in 0..300 {
        hand.next(3, 0);
    }
    let before = hand.window();
    assert!(before > 20 * MSS, "{before}");
    // 200 ms of queue, as the host sees it.
    hand.template.kernel_rtt_us = 260_000;
    for _ in 0..300 {
        hand.next(3, 0);
    }
    let after = hand.window();
    assert!(after < before / 2, "{before} -> {after}");
    // A segment below the highest byte that was missing still.
    let mut hand = Hand::new("rledbat:slowdown_interval=0");
    hand.template.has_timestamps = 0;
    hand.template.kernel_rtt_us = 60_000;
    for _ in 0..300 {
        hand.next(3, 0);
    }
    let before = hand.window();
    let hole = hand.next_byte;
    hand.next_byte += MSS;
    hand.next(3, 0);
    hand.next_byte = hole;
    let after = hand.segment(hole, 0, 0);
    assert!(after.abs_diff(before / 2) <= 2 * MSS, "{before} -> {after}");
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let ticks = prop_oneof![Just(0u32), Just(1), Just(1000), Just(10_000)];
    (any::<[u32; 8]>(), any::<[u8; 4]>(), ticks).prop_map(|(words, flags, tick)| Segment {
        seq: words[0],
        payload_bytes: words[1] >> (flags[3] % 32),
        segments: words[2],
        tsval: words[3],
        tsecr: words[4],
        local_ts: words[5],
        local_tick_us: tick,
        rcv_nxt: words[6],
        right_edge_seq: words[7],
        mss_bytes: words[1] >> (flags[3] % 17),
        kernel_rtt_us: words[2] >> (flags[3] % 23),
        has_timestamps: flags[0] % 2,
        is_ce: flags[1] / 200,
        is_observing: flags[2] / 200,
        can_delay_acks: flags[0] / 128,
        ..Segment::default()
    })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just("rledbat"),
        Just("rate"),
        Just("rledbat:target_us=1000,most_gain_divisor=1,unused_x1024=65536"),
        Just("rate:target_kbit_per_s=1,most_delay_us=10000000"),
        Just("rate:target_kbit_per_s=34000000,hysteresis_pkts=0"),
        Just("rate:slack_x1024=1,stability_x1024=1023,period_loss_x1024=1"),
    ]
    .prop_map(|policy| policy.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn windows_and_delays_stay_in_bounds_whatever_arrives(
        policy in any_policy(),
        mss_bytes in any::<u32>(),
        steps in proptest::collection::vec((any_segment(), any::<u64>(), 0u32..64), 1..200),
    ) {
        let start = Start { mss_bytes, ..Start::default() };
        let mut flow = ReceiverFlow::new(policy, &start);
        let mut now_us = 0u64;
        for (segment, wait_us, shift) in steps {
            now_us = now_us.wrapping_add(wait_us >> shift);
            flow.on_segment(&Segment { now_us, ..segment });
            flow.on_ack(&Ack { now_us, ..Ack::default() });
            let window = flow.window_bytes();
            prop_assert!((64..1 << 30).contains(&window) || window == 0x7fff_ffff, "{window}");
            prop_assert!(flow.ack_delay_us() <= 10_000_000);
            if segment.can_delay_acks == 0 {
                prop_assert_eq!(flow.ack_delay_us(), 0);
            }
        }
    }

    #[test]
    fn only_differences_of_sequence_numbers_and_timestamps_count(
        first_seq in any::<u32>(),
        first_ts in any::<u32>(),
        gaps in proptest::collection::vec((1u64..30, 20u32..300), 1..300),
    ) {
        let windows = |seq, ts| {
            let mut hand = Hand::from("rledbat", seq, ts);
            gaps.iter().map(|(gap_ms, rtt_ms)| hand.next(*gap_ms, *rtt_ms)).collect::<Vec<_>>()
        };
        prop_assert_eq!(windows(first_seq, first_ts), windows(0, 0));
    }
}
