// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `tcp-lp`, from the TCP-LP paper, and a test of each difference from it. Two
//! hold `tcp-lp-ecn` to the same.

mod closed_loop;
#[path = "../support/delay_laws.rs"]
mod delay_laws;
mod held;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
#[path = "../support/models/tcp_lp.rs"]
mod tcp_lp_model;

use delay_laws::Hand;
use ebb_algorithms::SenderEvent;

/// A flow of 40 segments that has seen delays from 100 to 200 ms and repaired its first
/// loss: from now on delays count. The threshold is 100 + 0.1504 * 100 = 115.04 ms.
fn after_first_loss(policy: &str) -> Hand {
    let mut hand = Hand::new(policy, 80);
    hand.window.ssthresh_pkts = 80;
    // Two samples have to agree.
    for delay_ms in [100.0, 100.0, 200.0, 200.0] {
        hand.ack(1, delay_ms);
    }
    assert_eq!(hand.lose(), 40);
    // What was in flight with the larger window, and the first segment sent since.
    hand.pass_round(100.0);
    hand.pass_round(100.0);
    hand.pass_round(100.0);
    hand.window.cwnd_pkts = 40;
    hand
}

/// Makes the smoothed delay exceed the threshold.
fn indicate(hand: &mut Hand) -> u32 {
    let mut before = hand.cwnd();
    for _ in 0..50 {
        let cwnd = hand.ack(1, 190.0);
        if cwnd < before {
            return cwnd;
        }
        before = cwnd;
    }
    panic!("no reaction: {before}");
}

#[test]
fn a_smoothed_delay_above_a_part_of_the_range_halves_the_window() {
    let mut hand = after_first_loss("tcp-lp");
    // Equation (1) with gamma = 1/8, from 100 ms: 100 + 20 / 8 = 102.5, then + 97.5 / 8 =
    // 114.69 (below 115.04), then + 3 / 8 = 115.06: congestion.
    assert_eq!(hand.ack(1, 120.0), 40);
    assert_eq!(hand.ack(1, 200.0), 40);
    assert_eq!(hand.ack(1, 117.7), 20);
}

#[test]
fn delays_do_not_count_before_the_first_loss() {
    let mut hand = Hand::new("tcp-lp", 10);
    for _ in 0..50 {
        hand.ack(1, 100.0);
    }
    for _ in 0..50 {
        hand.ack(1, 200.0);
    }
    assert_eq!(hand.cwnd(), 110);
}

#[test]
fn a_second_indication_within_the_inference_phase_leaves_one_segment() {
    let mut hand = after_first_loss("tcp-lp");
    assert_eq!(indicate(&mut hand), 20);
    // 3 round trips of 100 ms: the second comes after 200 ms.
    hand.wait_ms(200);
    hand.pass_round(190.0);
    hand.pass_round(190.0);
    assert_eq!(hand.cwnd(), 1);
    assert_eq!(hand.window.ssthresh_pkts, 1);
}

#[test]
fn at_most_one_reaction_per_round_trip() {
    let mut hand = after_first_loss("tcp-lp");
    let sent = hand.snd_nxt();
    assert_eq!(indicate(&mut hand), 20);
    while hand.ack_seq != sent {
        assert_eq!(hand.ack(1, 199.0), 20, "what was sent before cannot know");
    }
}

#[test]
fn the_window_stands_still_in_the_inference_phase_and_grows_by_one_per_round_trip_then() {
    let mut hand = after_first_loss("tcp-lp:resume_x1024=0");
    indicate(&mut hand);
    for _ in 0..100 {
        hand.wait_ms(2);
        assert_eq!(hand.ack(1, 100.0), 20);
    }
    hand.wait_ms(101);
    for _ in 0..19 {
        assert_eq!(hand.ack(1, 100.0), 20);
    }
    assert_eq!(hand.ack(1, 100.0), 21);
}

#[test]
fn an_indication_after_the_inference_phase_is_a_first_one() {
    let mut hand = after_first_loss("tcp-lp:resume_x1024=0");
    assert_eq!(indicate(&mut hand), 20);
    hand.pass_round(100.0);
    hand.wait_ms(301);
    hand.ack(1, 100.0);
    assert_eq!(indicate(&mut hand), 10);
}

#[test]
fn difference_1_a_queue_on_the_way_back_does_not_enter() {
    let reacts = |has_timestamps: bool| {
        let mut hand = after_first_loss("tcp-lp");
        hand.template.has_timestamps = u8::from(has_timestamps);
        let deliver = |hand: &mut Hand, rtt_ms: u64, back_ms: u64| {
            hand.wait_ms(20);
            // The peer's clock, in ms, when it sent the acknowledgement.
            hand.template.tsval = (77_000_000 + hand.now_us / 1000 - back_ms) as u32;
            hand.window.cwnd_pkts = 40;
            hand.ack(1, rtt_ms as f64)
        };
        for _ in 0..150 {
            deliver(&mut hand, 100, 50);
        }
        (0..40).any(|_| deliver(&mut hand, 150, 100) < 40)
    };
    assert!(!reacts(true));
    assert!(reacts(false));
}

#[test]
fn difference_2_delays_do_not_count_while_a_loss_is_repaired() {
    let mut hand = after_first_loss("tcp-lp");
    hand.lose();
    hand.template.phase = 3;
    let sent = hand.snd_nxt();
    while hand.ack_seq != sent {
        assert_eq!(hand.ack(1, 199.0), 20);
    }
    hand.template.phase = 0;
    assert_eq!(hand.ack(1, 199.0), 20, "sent during the repair");
}

#[test]
fn difference_4_a_reset_forgets_the_least_delay_and_not_the_range() {
    let mut hand = after_first_loss("tcp-lp");
    // The path is 60 ms longer from now on; delays of 165 ms are congestion ...
    hand.ack(1, 165.0);
    assert_eq!(indicate(&mut hand), 20);
    // ... until the second reset, 3 to 6 minutes later.
    for _ in 0..40 {
        hand.wait_ms(10_000);
        hand.pass_round(160.0);
    }
    hand.window.cwnd_pkts = 40;
    hand.window.ssthresh_pkts = 20;
    for _ in 0..30 {
        assert!(hand.ack(1, 165.0) >= 40);
    }
    // The range is 100 ms still: 160 + 15 ms is the threshold.
    for _ in 0..30 {
        assert!(hand.ack(1, 174.0) >= 40);
    }
    assert!(indicate(&mut hand) <= 21);
}

#[test]
fn difference_4_of_a_range_above_100_ms_a_reset_keeps_half_of_the_excess() {
    let mut hand = after_first_loss("tcp-lp");
    hand.ack(1, 1300.0);
    hand.ack(1, 1300.0);
    hand.wait_ms(2000);
    hand.pass_round(100.0);
    // Range 1200 ms: the first reset has seen it itself, the others leave 650, 375, 237.5,
    // 168.75, 134.375 ms.
    for _ in 0..6 {
        hand.wait_ms(181_000);
        hand.pass_round(100.0);
    }
    // Threshold 100 + 0.1504 * 134.375 = 120.2.
    hand.window.cwnd_pkts = 40;
    hand.window.ssthresh_pkts = 20;
    for _ in 0..40 {
        assert!(hand.ack(1, 120.0) >= 40);
    }
    for _ in 0..39 {
        hand.ack(1, 121.0);
    }
    assert!(hand.cwnd() <= 21, "{}", hand.cwnd());
}

#[test]
fn difference_5_smoothing_starts_anew_after_an_idle_time() {
    let mut hand = after_first_loss("tcp-lp");
    for _ in 0..10 {
        hand.ack(1, 114.0);
    }
    hand.flow.on_idle(&SenderEvent {
        idle_us: 2_000_000,
        ..hand.event()
    });
    // From 100 ms: 100 + 90 / 8 = 111.25. Without: 113 + 77 / 8 = 122.6.
    hand.ack(1, 100.0);
    assert_eq!(hand.ack(1, 190.0), 40);
}

#[test]
fn difference_6_an_inference_phase_without_a_second_indication_gives_back_four_fifths() {
    let mut hand = after_first_loss("tcp-lp");
    indicate(&mut hand);
    hand.wait_ms(301);
    // 40 * 820 / 1024 = 32.03, at 32 segments of 1000 bytes per 100 ms for a round trip.
    assert_eq!(hand.ack(1, 100.0), 32);
    assert_eq!(hand.window.pacing_bytes_per_s, 320_000);
    let sent = hand.snd_nxt();
    while hand.ack_seq != sent {
        hand.ack(1, 100.0);
    }
    hand.ack(1, 100.0);
    assert_eq!(hand.window.pacing_bytes_per_s, 0);
    assert!((32..=34).contains(&hand.cwnd()));
}

#[test]
fn difference_7_no_growth_while_the_application_leaves_the_window_unused() {
    let mut hand = Hand::new("tcp-lp", 10);
    hand.template.is_cwnd_limited = 0;
    assert_eq!(hand.ack(10, 100.0), 10);
}

#[test]
fn difference_8_an_indication_at_the_end_of_the_inference_phase_halves_the_window_in_use() {
    let mut hand = after_first_loss("tcp-lp");
    assert_eq!(indicate(&mut hand), 20);
    for _ in 0..45 {
        hand.ack(1, 100.0);
    }
    // Smoothed to 114 ms, below the threshold of 115.04.
    for _ in 0..60 {
        assert_eq!(hand.ack(1, 114.0), 20);
    }
    hand.wait_ms(301);
    // 32 would come back; the delay of the same acknowledgement says otherwise. It is of two
    // segments: of one, after that time, it would not count.
    assert_eq!(hand.ack(2, 190.0), 10);
    // And it was a first one: half of 20, not a single segment; 20 * 0.8 come back.
    hand.wait_ms(301);
    assert_eq!(hand.ack(1, 100.0), 16);
}

#[test]
fn difference_9_a_delay_that_one_sample_showed_is_no_extreme() {
    // A path that seems to take 10 ms: with 100 ms as before it would seem to have a queue.
    let reacts_after = |policy: &str, lie_ms: f64, delay_ms: f64| {
        let mut hand = after_first_loss(policy);
        hand.template.is_cwnd_limited = 0;
        hand.ack(1, lie_ms);
        for _ in 0..60 {
            hand.ack(1, 100.0);
        }
        hand.pass_round(100.0);
        hand.window.cwnd_pkts = 40;
        for _ in 0..40 {
            hand.ack(1, delay_ms);
        }
        hand.cwnd() < 40
    };
    assert!(!reacts_after("tcp-lp", 10.0, 100.0));
    assert!(reacts_after("tcp-lp:lone_extremes=1", 10.0, 100.0));
    // And a queue that seems to be able to take a minute: nothing would be a sign of others.
    assert!(reacts_after("tcp-lp", 60_000.0, 190.0));
    assert!(!reacts_after("tcp-lp:lone_extremes=1", 60_000.0, 190.0));
}

#[test]
fn segments_are_small_below_five() {
    for (cwnd_pkts, bytes) in [(1, 64), (4, 64), (5, 0), (40, 0)] {
        let hand = Hand::new("tcp-lp", cwnd_pkts);
        assert_eq!(hand.window.segment_bytes, bytes, "{cwnd_pkts}");
        let hand = Hand::new("tcp-lp-ecn", cwnd_pkts);
        assert_eq!(hand.window.segment_bytes, bytes, "{cwnd_pkts}");
    }
    assert_eq!(
        Hand::new("tcp-lp:small_segment_bytes=0", 1)
            .window
            .segment_bytes,
        0
    );
}

#[test]
fn losses_and_time_outs_are_tcps() {
    for policy in ["tcp-lp", "tcp-lp-ecn"] {
        let mut hand = Hand::new(policy, 64);
        assert_eq!(hand.lose(), 32);
        assert_eq!(hand.time_out(), 1);
        assert_eq!(hand.window.ssthresh_pkts, 16);
        assert_eq!(hand.ack(1, 100.0), 2, "slow start");
        hand.flow.on_undo(&hand.event());
        assert_eq!(hand.flow.window().cwnd_pkts, 32);
    }
}
