// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `rate`, from the BWSS paper, section III and its appendix.

use ebb_algorithms::{Policy, ReceiverFlow, Segment, Start};

/// 10 kbit: at an RTT of 100 ms one segment of window is 100 kbit/s.
const MSS: u32 = 1250;
const RTT_MS: u32 = 100;

/// A receiver at which segments arrive at a steady rate.
struct Hand {
    flow: ReceiverFlow,
    now_us: u64,
    next_byte: u32,
    rtt_ms: u32,
    can_delay_acks: bool,
}

impl Hand {
    fn new(policy: &str) -> Self {
        let policy: Policy = policy.parse().unwrap();
        let start = Start {
            now_us: 5_000_000,
            mss_bytes: MSS,
            has_timestamps: 1,
            ..Start::default()
        };
        Self {
            flow: ReceiverFlow::new(policy, &start),
            now_us: start.now_us,
            next_byte: 0,
            rtt_ms: RTT_MS,
            can_delay_acks: true,
        }
    }

    /// The window in segments.
    fn window(&self) -> u32 {
        assert_eq!(self.flow.window_bytes() % MSS, 0, "whole segments");
        self.flow.window_bytes() / MSS
    }

    fn delay_ms(&self) -> f64 {
        f64::from(self.flow.ack_delay_us()) / 1000.0
    }

    fn segment(&mut self) {
        let local_ts = (self.now_us / 1000) as u32;
        self.flow.on_segment(&Segment {
            now_us: self.now_us,
            seq: self.next_byte,
            payload_bytes: MSS,
            segments: 1,
            tsecr: local_ts - self.rtt_ms,
            local_ts,
            local_tick_us: 1000,
            rcv_nxt: self.next_byte,
            right_edge_seq: self.next_byte + (1 << 20),
            mss_bytes: MSS,
            has_timestamps: 1,
            can_delay_acks: u8::from(self.can_delay_acks),
            ..Segment::default()
        });
        self.next_byte = self.next_byte.wrapping_add(MSS);
    }

    /// Segments at a rate for a time, one more first; answers the window.
    fn arrive(&mut self, kbit_per_s: u64, ms: u64) -> u32 {
        let until_us = self.now_us + ms * 1000;
        while self.now_us < until_us {
            self.segment();
            self.now_us += u64::from(MSS) * 8000 / kbit_per_s;
        }
        self.window()
    }

    /// Segments at a rate until window or delay changes; answers after how many ms.
    fn until_change(&mut self, kbit_per_s: u64) -> u64 {
        let (before, from_us) = ((self.window(), self.flow.ack_delay_us()), self.now_us);
        while (self.window(), self.flow.ack_delay_us()) == before {
            assert!(self.now_us < from_us + 10_000_000, "no change in 10 s");
            self.arrive(kbit_per_s, 1);
        }
        (self.now_us - from_us) / 1000
    }
}

#[test]
fn begins_with_the_window_that_the_target_needs() {
    // w = T RTT / p_size: 1 Mbit/s * 100 ms / 10 kbit = 10.
    for (kbit, window) in [(1000, 10), (2000, 20), (2550, 25), (100, 1), (30, 1)] {
        let mut hand = Hand::new(&format!("rate:target_kbit_per_s={kbit}"));
        assert_eq!(hand.window(), 10, "before the RTT is known");
        assert_eq!(hand.arrive(1000, 1), window, "{kbit} kbit/s");
    }
}

#[test]
fn difference_2_nothing_is_done_within_the_slack() {
    for kbit in [920, 1000, 1090] {
        let mut hand = Hand::new("rate");
        assert_eq!(hand.arrive(kbit, 5000), 10, "{kbit} kbit/s");
        assert_eq!(hand.delay_ms(), 0.0);
    }
}

#[test]
fn step_2_widens_by_part_of_what_is_missing_and_by_one_segment_at_least() {
    // (T - R) / (dR / dw) = 500 / 100 = 5, times 0.8, rounded down: 3 (of 3.999).
    // 200 / 100 = 2: 1. 120 / 100: max(0, 1).
    for (kbit, window) in [(500, 13), (800, 11), (880, 11)] {
        let mut hand = Hand::new("rate");
        hand.until_change(kbit);
        assert_eq!(hand.window(), window, "{kbit} kbit/s");
    }
}

#[test]
fn waits_a_round_trip_and_three_periods_between_adjustments() {
    let mut hand = Hand::new("rate");
    // The first: a round trip and one period of two.
    let first_ms = hand.until_change(500);
    assert!((300..=340).contains(&first_ms), "{first_ms}");
    let next_ms = hand.until_change(500);
    assert!((700..=760).contains(&next_ms), "{next_ms}");
}

#[test]
fn step_4_narrows_by_what_is_too_much_while_no_smaller_window_was_too_small() {
    // 500 / 100 = 5.
    let mut hand = Hand::new("rate:target_kbit_per_s=2000");
    assert_eq!(hand.arrive(2520, 1), 20);
    hand.until_change(2520);
    assert_eq!(hand.window(), 15);
    assert_eq!(hand.delay_ms(), 0.0);
}

#[test]
fn step_5_delays_acknowledgements_once_a_smaller_window_was_too_small() {
    let mut hand = Hand::new("rate");
    hand.until_change(800);
    assert_eq!(hand.window(), 11);
    // (R - T) / |dR / dd| = 200 kbit/s * (100 ms)^2 / (11 * 10 kbit) = 18.2 ms; the window
    // would shrink by floor(2 + 0.5) = 2, which the hysteresis of 2 allows.
    hand.until_change(1200);
    assert_eq!(hand.window(), 11);
    assert!(
        (17.0..20.0).contains(&hand.delay_ms()),
        "{}",
        hand.delay_ms()
    );
}

#[test]
fn step_3_shortens_the_delay_before_it_widens_the_window() {
    let mut hand = Hand::new("rate");
    hand.until_change(800);
    hand.until_change(1200);
    let before = hand.delay_ms();
    // 120 kbit/s * (118.2 ms)^2 / 110 kbit = 15.2 ms less.
    hand.until_change(880);
    let less = before - hand.delay_ms();
    assert!((13.0..17.0).contains(&less), "{less}");
    assert_eq!(hand.window(), 11);
    hand.until_change(600);
    assert_eq!((hand.window(), hand.delay_ms()), (11, 0.0));
    hand.until_change(600);
    assert!(hand.window() > 11);
}

#[test]
fn difference_4_step_5_narrows_the_window_resets_the_delay_and_clears_d() {
    let mut hand = Hand::new("rate");
    hand.until_change(800);
    hand.until_change(1200);
    assert!(hand.delay_ms() > 0.0);
    // 300 kbit/s of excess at RTT + d = 118 ms are 3.5 segments; without the delay the
    // window brings 18.2 / 118.2 * 11 = 1.7 more: floor(3.5 + 1.7 + 0.5) = 5 less.
    hand.until_change(1300);
    assert_eq!(hand.window(), 6);
    assert_eq!(hand.delay_ms(), 0.0, "reset");
    // D is cleared: step 4 takes the next excess.
    hand.until_change(1200);
    assert_eq!((hand.window(), hand.delay_ms()), (4, 0.0));
}

#[test]
fn difference_1_a_host_that_cannot_delay_leaves_what_the_hysteresis_allows() {
    let mut hand = Hand::new("rate");
    hand.can_delay_acks = false;
    hand.until_change(800);
    assert_eq!(hand.arrive(1200, 5000), 11);
    assert_eq!(hand.delay_ms(), 0.0);
    // R = 0.3 * 1200 + 0.7 * 1400 = 1340: floor(3.4 + 0.5) = 3 segments too many.
    hand.until_change(1400);
    assert_eq!(hand.window(), 8);
}

#[test]
fn difference_3_a_window_of_one_segment_is_helped_by_the_delay_at_once() {
    // 100 kbit/s in place of 50: 50 kbit/s * (100 ms)^2 / 10 kbit = 50 ms.
    let mut hand = Hand::new("rate:target_kbit_per_s=50");
    hand.arrive(100, 1);
    assert_eq!(hand.window(), 1);
    hand.until_change(100);
    assert!(
        (44.0..56.0).contains(&hand.delay_ms()),
        "{}",
        hand.delay_ms()
    );
}

#[test]
fn difference_5_a_flow_that_something_else_limits_gathers_no_window() {
    let mut hand = Hand::new("rate");
    hand.arrive(200, 60_000);
    assert_eq!(hand.window(), 20);
}

#[test]
fn difference_6_the_delay_grows_by_100_ms_at_once_and_has_a_limit() {
    let mut hand = Hand::new("rate:target_kbit_per_s=10,most_delay_us=250000");
    hand.arrive(100, 1);
    let mut delays = Vec::new();
    for _ in 0..3 {
        hand.until_change(100);
        delays.push(hand.delay_ms());
    }
    // 90 kbit/s * (100 ms)^2 / 10 kbit = 90 ms; 90 kbit/s * (190 ms)^2 / 10 kbit = 325 ms.
    assert_eq!(delays, [90.0, 190.0, 250.0]);
}

#[test]
fn past_rates_count_three_tenths_until_the_next_adjustment() {
    let mut hand = Hand::new("rate");
    hand.arrive(1000, 2000);
    // Periods of 200 ms at 800 kbit/s: 0.3 * 1000 + 0.7 * 800 = 860, below 900 at once.
    let ms = hand.until_change(800);
    assert!((40..=420).contains(&ms), "{ms}");
    // At 870: 0.3 * 1000 + 0.7 * 870 = 909 is within the slack, then 881.7 is not.
    let mut hand = Hand::new("rate");
    hand.arrive(1000, 2000);
    let ms = hand.until_change(870);
    assert!((220..=620).contains(&ms), "{ms}");
}

#[test]
fn difference_7_frequent_losses_shorten_the_period_to_a_round_trip_at_the_least() {
    // A hole every 450 ms, below RTT w / 2 = 500 ms: phi = 180 ms in place of 200. Every
    // 100 ms and more rarely than a round trip: phi is a round trip.
    let wait_ms = |hole_every_ms: u64| {
        let mut hand = Hand::new("rate");
        let mut changes = Vec::new();
        let mut before = hand.window();
        let mut next_hole_us = hand.now_us + 50_000;
        while changes.len() < 3 {
            if hand.now_us >= next_hole_us {
                hand.next_byte += MSS;
                next_hole_us += hole_every_ms * 1000;
            }
            let window = hand.arrive(500, 1);
            if window != before {
                changes.push(hand.now_us / 1000);
                before = window;
            }
        }
        changes[2] - changes[1]
    };
    // A round trip and three periods: 100 + 3 * 200, 100 + 3 * 100 (120 ms of interval).
    let (rare, frequent) = (wait_ms(5000), wait_ms(120));
    assert!((700..=760).contains(&rare), "{rare}");
    assert!((400..=480).contains(&frequent), "{frequent}");
}

#[test]
fn observing_does_not_limit_and_begins_anew_then() {
    let mut hand = Hand::new("rate");
    hand.arrive(500, 3000);
    let local_ts = (hand.now_us / 1000) as u32;
    let segment = Segment {
        now_us: hand.now_us,
        seq: hand.next_byte,
        payload_bytes: MSS,
        rcv_nxt: hand.next_byte,
        mss_bytes: MSS,
        local_tick_us: 1000,
        local_ts,
        tsecr: local_ts - 100,
        has_timestamps: 1,
        is_observing: 1,
        ..Segment::default()
    };
    hand.flow.on_segment(&segment);
    assert_eq!(hand.flow.window_bytes(), 0x7fff_ffff);
    hand.now_us += 1000;
    assert_eq!(hand.arrive(1000, 1), 10);
}

#[test]
fn difference_9_before_the_rtt_is_known_the_window_is_that_of_a_new_connection() {
    for (start_pkts, policy) in [(10, "rate"), (3, "rate:start_pkts=3")] {
        let policy = format!(
            "{policy}{}target_kbit_per_s=5000",
            [":", ","][policy.len() / 10]
        );
        let mut hand = Hand::new(&policy);
        // Echoes of 0 tell nothing.
        let segment = Segment {
            payload_bytes: MSS,
            segments: 1,
            mss_bytes: MSS,
            local_tick_us: 1000,
            has_timestamps: 1,
            ..Segment::default()
        };
        for count in 0..50u32 {
            hand.flow.on_segment(&Segment {
                now_us: hand.now_us + u64::from(count) * 10_000,
                seq: count * MSS,
                rcv_nxt: count * MSS,
                local_ts: 7000 + count * 10,
                ..segment
            });
            assert_eq!(hand.window(), start_pkts, "{policy}");
        }
        hand.now_us += 500_000;
        hand.next_byte = 50 * MSS;
        assert_eq!(hand.arrive(5000, 1), 50, "{policy}");
    }
}
