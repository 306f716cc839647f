// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `ledbat`, from RFC 6817; and its controller against floating point.

use crate::delay_laws::Hand;
use ebb_algorithms::SenderAck;
use proptest::prelude::*;

/// The plain controller: target 100 ms, no slow start.
const PLAIN: &str = "ledbat:slow_start=0";

/// A flow of so many segments whose base delay is 50 ms.
fn with_base(policy: &str, cwnd_pkts: u32) -> Hand {
    let mut hand = Hand::new(policy, cwnd_pkts);
    hand.window.cwnd_pkts = cwnd_pkts;
    hand.srtt_us = 50_000;
    // Acknowledges nothing: the window stays whole.
    hand.ack(0, 50.0);
    hand.wait_ms(100);
    hand
}

/// Acknowledgements of one segment each until the window changes.
fn acks_until_change(hand: &mut Hand, rtt_ms: f64) -> (u32, u32) {
    let before = hand.cwnd();
    for count in 1..10_000 {
        hand.wait_ms(60);
        if hand.ack(1, rtt_ms) != before {
            return (count, hand.cwnd());
        }
    }
    panic!("the window stays at {before}");
}

#[test]
fn grows_by_one_segment_per_window_without_a_queue() {
    // GAIN * off_target * acked / cwnd = 1 * 1 * 1 / 20: twenty acknowledgements, and as
    // the window grows meanwhile one more.
    let mut hand = with_base(PLAIN, 20);
    assert_eq!(acks_until_change(&mut hand, 50.0), (21, 21));
}

#[test]
fn grows_half_as_fast_at_half_the_target() {
    let mut hand = with_base(PLAIN, 20);
    let (count, cwnd) = acks_until_change(&mut hand, 100.0);
    assert_eq!(cwnd, 21);
    assert!((40..=42).contains(&count), "{count}");
}

#[test]
fn stands_still_at_the_target_and_shrinks_above_it() {
    let mut hand = with_base(PLAIN, 20);
    for _ in 0..200 {
        hand.wait_ms(60);
        assert_eq!(hand.ack(1, 150.0), 20);
    }
    // off_target = (100 - 150) / 100: half a segment per window. Falls below 20 at once.
    assert_eq!(acks_until_change(&mut hand, 200.0), (1, 19));
    let (count, cwnd) = acks_until_change(&mut hand, 200.0);
    assert_eq!(cwnd, 18);
    assert!((35..=40).contains(&count), "{count}");
}

#[test]
fn shrinks_faster_with_a_larger_gain_for_that() {
    let mut hand = with_base("ledbat:slow_start=0,decrease_gain_x1024=4096", 20);
    acks_until_change(&mut hand, 200.0);
    let (count, _) = acks_until_change(&mut hand, 200.0);
    assert!((8..=10).contains(&count), "{count}");
}

#[test]
fn targets_from_one_millisecond_up_are_steered_to() {
    for target_ms in [1.0, 5.0, 25.0] {
        let policy = format!("ledbat:slow_start=0,target_us={}", target_ms * 1000.0);
        let mut hand = with_base(&policy, 20);
        for _ in 0..300 {
            hand.wait_ms(60);
            assert_eq!(hand.ack(1, 50.0 + target_ms), 20, "{target_ms} ms");
        }
        assert_eq!(acks_until_change(&mut hand, 50.0 + 2.0 * target_ms).1, 19);
    }
}

#[test]
fn a_base_delay_counts_for_ten_minutes_and_no_longer() {
    // Delays of 200 ms over a base of 50 ms: above the target.
    let shrinks_after = |minutes: u64, policy: &str| {
        let mut hand = with_base(policy, 20);
        // The clock starts at 5 s of a minute.
        for _ in 0..minutes {
            hand.wait_ms(60_000);
            hand.ack(1, 200.0);
        }
        hand.window.cwnd_pkts = 20;
        (0..100).any(|_| {
            hand.wait_ms(60);
            hand.ack(1, 200.0) < 20
        })
    };
    // The minimum of minute 0 counts in minutes 0 to 9.
    assert!(shrinks_after(9, PLAIN));
    assert!(!shrinks_after(10, PLAIN));
    assert!(shrinks_after(1, "ledbat:slow_start=0,base_history=2"));
    assert!(!shrinks_after(2, "ledbat:slow_start=0,base_history=2"));
}

#[test]
fn idle_minutes_age_the_history_too() {
    let mut hand = with_base(PLAIN, 20);
    hand.wait_ms(9 * 60_000);
    assert!(hand.ack(1, 200.0) < 20, "the base is known still");
    hand.wait_ms(60_000);
    hand.window.cwnd_pkts = 20;
    for _ in 0..30 {
        hand.wait_ms(60);
        assert!(hand.ack(1, 200.0) >= 20, "the new base is 200 ms");
    }
}

#[test]
fn the_least_of_the_last_four_delays_counts_if_it_is_of_this_round_trip() {
    let mut hand = with_base(PLAIN, 20);
    // Three delays far above the target, but the fourth last is below.
    hand.ack(1, 60.0);
    for _ in 0..3 {
        assert!(hand.ack(1, 500.0) >= 20);
    }
    hand.ack(1, 500.0);
    assert!(hand.ack(1, 500.0) < 20, "four above");
    let mut hand = with_base(PLAIN, 20);
    hand.ack(0, 60.0);
    hand.wait_ms(51);
    assert!(hand.ack(1, 500.0) < 20, "the low one is older than the RTT");
}

#[test]
fn a_loss_halves_at_most_once_per_round_trip_and_leaves_two_segments() {
    let mut hand = with_base(PLAIN, 40);
    assert_eq!(hand.lose(), 20);
    assert_eq!(hand.lose(), 20);
    let sent = hand.snd_nxt().wrapping_add(21_000);
    while hand.ack_seq != sent {
        hand.ack(1, 150.0);
    }
    hand.ack(1, 150.0);
    hand.window.cwnd_pkts = 20;
    assert_eq!(hand.lose(), 10);
    for _ in 0..5 {
        hand.pass_round(150.0);
        hand.pass_round(150.0);
        hand.window.cwnd_pkts = hand.window.cwnd_pkts.min(3);
        hand.lose();
    }
    assert_eq!(hand.cwnd(), 2);
}

#[test]
fn difference_3_the_hosts_time_out_leaves_one_segment_and_the_next_acknowledgement_two() {
    let mut hand = with_base(PLAIN, 40);
    assert_eq!(hand.time_out(), 1);
    assert_eq!(hand.ack(1, 500.0), 2);
}

#[test]
fn difference_5_the_window_exceeds_the_flight_by_one_segment_unless_it_is_the_limit() {
    let mut hand = with_base(PLAIN, 40);
    let ack = SenderAck {
        now_us: hand.now_us,
        acked_pkts: 1,
        prior_inflight_pkts: 10,
        cwnd_pkts: 40,
        ssthresh_pkts: 40,
        rtt_us: 50_000,
        srtt_us: 50_000,
        ..SenderAck::default()
    };
    assert_eq!(hand.give(&ack), 11);
    let limited = SenderAck {
        is_cwnd_limited: 1,
        ..ack
    };
    assert!(
        hand.give(&limited) >= 40,
        "the window limits: flight is full"
    );
}

#[test]
fn difference_4_slow_start_ends_at_three_quarters_of_the_target() {
    let mut hand = Hand::new("ledbat", 2);
    assert_eq!(hand.cwnd(), 2);
    assert_eq!(hand.ack(2, 50.0), 4);
    assert_eq!(hand.ack(4, 80.0), 8);
    hand.wait_ms(200);
    assert_eq!(hand.ack(8, 126.0), 8);
    assert_eq!(hand.window.ssthresh_pkts, 8);
    let mut hand = Hand::new(PLAIN, 2);
    hand.window.cwnd_pkts = 8;
    assert_eq!(hand.ack(8, 50.0), 9, "none: one segment per window");
}

#[test]
fn difference_1_a_queue_on_the_way_back_does_not_enter() {
    let least_cwnd = |has_timestamps: bool| {
        let mut hand = with_base(PLAIN, 20);
        hand.template.has_timestamps = u8::from(has_timestamps);
        let deliver = |hand: &mut Hand, rtt_ms: u64, back_ms: u64| {
            hand.wait_ms(20);
            // The peer's clock, in ms, when it sent the acknowledgement.
            hand.template.tsval = (77_000_000 + hand.now_us / 1000 - back_ms) as u32;
            hand.window.cwnd_pkts = 20;
            hand.ack(1, rtt_ms as f64)
        };
        for _ in 0..150 {
            deliver(&mut hand, 50, 25);
        }
        (0..40).map(|_| deliver(&mut hand, 250, 225)).min().unwrap()
    };
    assert_eq!(least_cwnd(true), 20);
    assert_eq!(least_cwnd(false), 19);
}

#[test]
fn difference_2_parts_of_a_segment_are_kept_and_an_acknowledgement_counts_for_4096() {
    // 8192 acknowledged at once count as 4096: half a segment, and the second time less.
    let mut hand = with_base(PLAIN, 8192);
    let windows: Vec<u32> = (0..3).map(|_| hand.ack(8192, 50.0)).collect();
    assert_eq!(windows, [8192, 8192, 8193]);
    // 1/2000 of a segment each are 32 of 65536: 2048 times.
    let mut hand = with_base(PLAIN, 2000);
    let (count, cwnd) = acks_until_change(&mut hand, 50.0);
    assert_eq!(cwnd, 2001);
    assert_eq!(count, 2048);
}

#[test]
fn difference_6_what_the_host_does_to_the_window_is_followed() {
    let mut hand = with_base(PLAIN, 40);
    hand.window.cwnd_pkts = 10;
    hand.flow.on_idle(&hand.event());
    assert_eq!(hand.flow.window().cwnd_pkts, 10);
    let mut hand = with_base(PLAIN, 40);
    assert_eq!(hand.lose(), 20);
    hand.flow.on_undo(&hand.event());
    assert_eq!(hand.flow.window().cwnd_pkts, 40);
}

#[test]
fn slow_start_does_not_undo_a_decrease() {
    let mut hand = with_base("ledbat", 40);
    hand.window.ssthresh_pkts = 20;
    let (_, cwnd) = acks_until_change(&mut hand, 300.0);
    hand.window.ssthresh_pkts = cwnd.max(40);
    let (_, cwnd) = acks_until_change(&mut hand, 300.0);
    hand.wait_ms(200);
    assert!(hand.ack(1, 50.0) <= cwnd + 1);
    assert!(hand.window.ssthresh_pkts <= cwnd + 1);
}

const SLACK_PKTS: f64 = 0.01;

/// RFC 6817's controller in floating point: window in segments. What is in flight is counted in
/// whole segments, so beside a whole number the rounding of one or the other decides: `slack` is how
/// far off the window may be there.
fn oracle(cwnd: f64, acked: f64, queue_us: f64, target_us: f64, slack: f64) -> f64 {
    let off_target = (target_us - queue_us) / target_us;
    (cwnd + off_target * acked / cwnd)
        .min((cwnd + slack).floor() + 1.0)
        .max(2.0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_controller_follows_floating_point_arithmetic(
        cwnd_pkts in 2u32..2000,
        target_ms in 1u32..=100,
        steps in proptest::collection::vec((1u32..4, 0u32..200_000), 1..400),
    ) {
        let policy = format!("ledbat:slow_start=0,current_filter=1,target_us={}", target_ms * 1000);
        let mut hand = Hand::new(&policy, cwnd_pkts);
        hand.ack(1, 50.0);
        hand.window.cwnd_pkts = cwnd_pkts + 5;
        let (mut least, mut most) = (f64::from(hand.cwnd()), f64::from(hand.cwnd()));
        for (acked, queue_us) in steps {
            let rtt_ms = f64::from(50_000 + queue_us) / 1000.0;
            hand.ack(acked, rtt_ms);
            let target_us = f64::from(target_ms) * 1000.0;
            let (acked, queue_us) = (f64::from(acked), f64::from(queue_us));
            least = oracle(least, acked, queue_us, target_us, -SLACK_PKTS);
            most = oracle(most, acked, queue_us, target_us, SLACK_PKTS);
            let cwnd = f64::from(hand.cwnd()) + 0.5;
            let is_near = cwnd > least - (1.0 + 0.03 * least) && cwnd < most + 1.0 + 0.03 * most;
            prop_assert!(is_near, "{} for {least} to {most}", hand.cwnd());
        }
    }
}
