// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `ledbat++`.

use crate::delay_laws::Hand;
use ebb_algorithms::SenderEvent;

const STEADY: &str = "ledbat++:slowdown_interval=0";

/// A flow in congestion avoidance with this base delay.
fn steady(cwnd_pkts: u32, base_ms: f64) -> Hand {
    let mut hand = Hand::new(STEADY, cwnd_pkts);
    hand.srtt_us = 50_000;
    hand.window.ssthresh_pkts = 2;
    hand.ack(1, base_ms);
    hand.window.cwnd_pkts = cwnd_pkts;
    hand.wait_ms(200);
    hand
}

/// The window's change over a window of acknowledgements.
fn change_per_round(hand: &mut Hand, rtt_ms: f64) -> i64 {
    let before = i64::from(hand.cwnd());
    for _ in 0..before {
        hand.ack(1, rtt_ms);
    }
    i64::from(hand.cwnd()) - before
}

#[test]
fn growth_is_divided_by_how_often_the_path_fits_into_two_targets() {
    // F = min(16, ceil(120 ms / base)): 1 at 120 ms and more, 2 at 60, 6 at 20, 16 below 8.
    for (base_ms, divisor) in [(250.0, 1), (120.0, 1), (60.0, 2), (20.0, 6), (5.0, 16)] {
        let mut hand = steady(50, base_ms);
        let mut rounds = 0;
        while change_per_round(&mut hand, base_ms) == 0 {
            rounds += 1;
        }
        assert!(
            (divisor - 1..=divisor).contains(&rounds),
            "{base_ms} ms: {rounds} + 1"
        );
    }
}

#[test]
fn slow_start_grows_by_the_divided_number_of_acknowledged_segments() {
    // Base 60 ms: F = 2.
    let mut hand = Hand::new("ledbat++", 2);
    assert_eq!(hand.cwnd(), 2);
    assert_eq!(hand.ack(2, 60.0), 3);
    assert_eq!(hand.ack(2, 60.0), 4);
    assert_eq!(hand.ack(8, 60.0), 8);
}

#[test]
fn the_first_slow_start_ends_above_forty_five_milliseconds_of_queue() {
    let mut hand = Hand::new(STEADY, 2);
    hand.ack(2, 60.0);
    for _ in 0..10 {
        hand.ack(4, 105.0);
    }
    let cwnd = hand.cwnd();
    assert!(cwnd > 20, "{cwnd}: not ended at 45 ms");
    for _ in 0..4 {
        hand.ack(1, 106.0);
    }
    assert_eq!(hand.window.ssthresh_pkts, hand.cwnd());
}

#[test]
fn a_queue_above_the_target_takes_its_excess_times_the_window_per_round_trip() {
    // W (q / T - 1) = 100 * (75 / 60 - 1) = 25, spread over the acknowledgements.
    let mut hand = steady(100, 100.0);
    let change = change_per_round(&mut hand, 175.0);
    assert!((-26..=-22).contains(&change), "{change}");
    // At most half: q = 600 ms.
    let mut hand = steady(100, 100.0);
    let change = change_per_round(&mut hand, 700.0);
    assert!((-51..=-48).contains(&change), "{change}");
}

#[test]
fn up_to_the_target_it_grows_as_without_a_queue() {
    let mut hand = steady(50, 120.0);
    let change = change_per_round(&mut hand, 180.0);
    assert!((0..=1).contains(&change), "{change}");
    assert_eq!(change + change_per_round(&mut hand, 180.0), 1);
}

#[test]
fn the_window_never_falls_below_two_segments() {
    let mut hand = steady(100, 100.0);
    for _ in 0..500 {
        hand.ack(1, 2000.0);
    }
    assert_eq!(hand.cwnd(), 2);
    assert_eq!(hand.lose(), 2);
}

#[test]
fn a_loss_halves_and_a_time_out_permits_slow_start() {
    let mut hand = steady(100, 120.0);
    assert_eq!(hand.lose(), 50);
    assert_eq!(hand.time_out(), 1);
    assert_eq!(hand.window.ssthresh_pkts, 25);
    // Base 120 ms: F = 1.
    assert_eq!(hand.ack(1, 120.0), 2);
    assert_eq!(hand.ack(2, 120.0), 4);
    assert_eq!(hand.ack(100, 120.0), 25);
}

#[test]
fn slow_start_does_not_undo_a_decrease() {
    let mut hand = steady(100, 100.0);
    hand.window.ssthresh_pkts = 100;
    change_per_round(&mut hand, 400.0);
    let cwnd = hand.cwnd();
    hand.wait_ms(200);
    assert!(hand.ack(10, 100.0) <= cwnd + 1);
}

#[test]
fn slowdowns_come_two_round_trips_after_slow_start_and_then_take_a_tenth_of_the_time() {
    let mut hand = Hand::new("ledbat++", 2);
    hand.srtt_us = 120_000;
    // The round trip is 120 ms (F = 1), an acknowledgement every 10 ms acknowledges a
    // twelfth of the window; slow start ends by a loss.
    let mut turns: Vec<(u64, u32)> = Vec::new();
    for step in 0..6000u64 {
        if step == 60 {
            hand.lose();
        }
        let before = hand.cwnd();
        hand.wait_ms(10);
        let cwnd = hand.ack((before / 12).max(1), 120.0);
        if cwnd == 2 && before > 2 {
            turns.push((step, before));
        }
    }
    // Two round trips after the loss at step 60: 24 steps.
    assert_eq!(turns[0].0, 60 + 23, "{turns:?}");
    for pair in turns.windows(2) {
        let (from, _) = pair[0];
        let (until, before) = pair[1];
        // Two round trips; one more segment at a time up to twelve; a twelfth more each.
        let back = 10.0 + (f64::from(before) / 12.0).ln() / (13.0f64 / 12.0).ln();
        let expected = 10.0 * (24.0 + back);
        let took = (until - from) as f64;
        assert!(
            (0.95..1.15).contains(&(took / expected)),
            "{took}, not {expected}: {turns:?}"
        );
    }
    assert!(turns.len() > 4, "{turns:?}");
}

#[test]
fn a_slowdown_holds_two_segments_for_two_round_trips_whatever_the_host_does() {
    let mut hand = Hand::new("ledbat++", 2);
    hand.ack(2, 120.0);
    for _ in 0..8 {
        hand.ack(10, 120.0);
    }
    hand.lose();
    let back_to = hand.cwnd();
    hand.ack(1, 120.0);
    hand.wait_ms(201);
    assert_eq!(hand.ack(1, 120.0), 2);
    assert!((back_to..back_to + 2).contains(&hand.window.ssthresh_pkts));
    // A recovery that ends puts the window to the threshold: not now.
    hand.window.cwnd_pkts = 30;
    hand.wait_ms(199);
    assert_eq!(hand.ack(1, 120.0), 2);
    hand.wait_ms(2);
    assert_eq!(hand.ack(2, 120.0), 4);
}

#[test]
fn difference_1_each_acknowledgement_takes_its_share_of_a_decrease_in_parts_of_a_segment() {
    // C (q / T - 1) = 0.25 of each acknowledged segment; 100 - 1 = 99 after four of them,
    // but for what the window grows meanwhile: two in a hundred.
    let mut hand = steady(100, 100.0);
    let windows: Vec<u32> = (0..9).map(|_| hand.ack(1, 175.0)).collect();
    assert_eq!(windows, [99, 99, 99, 99, 98, 98, 98, 98, 97]);
}

#[test]
fn difference_2_a_low_delay_counts_while_it_is_not_older_than_a_round_trip() {
    // The round trip is 50 ms.
    for (wait_ms, cwnd) in [(10, 100), (51, 99)] {
        let mut hand = steady(100, 100.0);
        hand.ack(0, 100.0);
        hand.wait_ms(wait_ms);
        assert_eq!(hand.ack(1, 400.0), cwnd, "{wait_ms} ms");
    }
}

#[test]
fn difference_3_no_growth_while_the_application_leaves_the_window_unused() {
    for (policy, cwnd_pkts) in [("ledbat++", 2), (STEADY, 50)] {
        let mut hand = Hand::new(policy, cwnd_pkts);
        hand.template.is_cwnd_limited = 0;
        hand.window.cwnd_pkts = cwnd_pkts;
        assert_eq!(hand.ack(100, 120.0), cwnd_pkts, "{policy}");
        hand.window.ssthresh_pkts = 2;
        for _ in 0..5 {
            assert_eq!(hand.ack(200, 120.0), cwnd_pkts, "{policy}");
        }
    }
}

#[test]
fn an_undo_during_a_slowdown_does_not_take_the_window_to_come_back_to() {
    let mut hand = Hand::new("ledbat++", 2);
    for _ in 0..8 {
        hand.ack(10, 120.0);
    }
    let before_loss = hand.event();
    hand.lose();
    hand.ack(1, 120.0);
    hand.wait_ms(201);
    assert_eq!(hand.ack(1, 120.0), 2);
    let back_to = hand.window.ssthresh_pkts;
    // Before the loss there was no threshold.
    assert_eq!(before_loss.ssthresh_pkts, 0x7fff_ffff);
    hand.flow.on_undo(&SenderEvent {
        ssthresh_pkts: before_loss.ssthresh_pkts,
        ..hand.event()
    });
    hand.window = hand.flow.window();
    assert_eq!(hand.window.ssthresh_pkts, back_to);
    // As the kernel does, behind the law's back.
    hand.window.ssthresh_pkts = before_loss.ssthresh_pkts;
    assert_eq!(hand.ack(1, 120.0), 2);
    hand.lose();
    assert_eq!(hand.window.ssthresh_pkts, back_to / 2);
}

#[test]
fn difference_4_a_loss_at_the_beginning_of_a_slowdown_halves_what_to_come_back_to() {
    let mut hand = Hand::new("ledbat++", 2);
    for _ in 0..8 {
        hand.ack(10, 120.0);
    }
    hand.lose();
    hand.ack(1, 120.0);
    hand.wait_ms(201);
    hand.ack(1, 120.0);
    let back_to = hand.window.ssthresh_pkts;
    hand.flow.on_loss(&hand.event());
    assert_eq!(hand.flow.window().ssthresh_pkts, back_to / 2);
}
