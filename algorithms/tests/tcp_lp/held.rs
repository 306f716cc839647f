// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Difference 3 of `tcp-lp`: which delays a receiver's delayed acknowledgement may have
//! stretched.

use crate::after_first_loss;
use crate::delay_laws::{Hand, MSS};
use ebb_algorithms::SenderAck;

/// Six acknowledgements that come late, but not as if they were held. If all of them count,
/// the sixth smoothed delay is 115.4 ms, above the threshold of 115.04: from 100 ms, in eighths
/// of the rest to 128.
fn take_six_late(hand: &mut Hand) -> u32 {
    for _ in 0..6 {
        hand.wait_ms(40);
        hand.ack(1, 128.0);
    }
    hand.cwnd()
}

/// An acknowledgement that was under way for `back_ms` since the peer's clock showed its
/// timestamp.
fn deliver(hand: &mut Hand, pkts: u32, rtt_ms: u64, back_ms: u64) -> u32 {
    hand.template.tsval = (77_000_000 + hand.now_us / 1000 - back_ms) as u32;
    hand.window.cwnd_pkts = 40;
    hand.ack(pkts, rtt_ms as f64)
}

/// The peer's clock is known.
fn on_a_path_with_clocks() -> Hand {
    let mut hand = after_first_loss("tcp-lp:lone_extremes=1");
    hand.template.has_timestamps = 1;
    for _ in 0..150 {
        hand.wait_ms(20);
        deliver(&mut hand, 2, 100, 50);
    }
    hand
}

/// As with a range of 100 ms, the threshold of which is 115. With 500 it is 175.
fn reacts_to_130_ms(hand: &mut Hand) -> bool {
    (0..20).any(|_| {
        hand.wait_ms(20);
        deliver(hand, 2, 130, 50) < 40
    })
}

#[test]
fn difference_3_delayed_acknowledgements_do_not_count() {
    // A lone segment in flight.
    let lone = |policy: &str| {
        let mut hand = after_first_loss(policy);
        let ack = SenderAck {
            now_us: hand.now_us,
            ack_seq: hand.ack_seq.wrapping_add(MSS),
            snd_nxt: hand.snd_nxt(),
            acked_pkts: 1,
            delivered_now_pkts: 1,
            prior_inflight_pkts: 1,
            cwnd_pkts: 40,
            ssthresh_pkts: 40,
            rtt_us: 199_000,
            srtt_us: 100_000,
            ..SenderAck::default()
        };
        (0..20).map(|_| hand.give(&ack)).min().unwrap()
    };
    assert_eq!(lone("tcp-lp"), 40);
    assert_eq!(lone("tcp-lp:lone_samples=1"), 20);
    // One acknowledged alone where two are the rule, after a silence.
    let mut hand = after_first_loss("tcp-lp");
    hand.ack(2, 100.0);
    for _ in 0..7 {
        hand.wait_ms(30);
        assert_eq!(hand.ack(1, 199.0), 40);
    }
    // Not held: from 100 ms to 112.4, then 123.2, which is above 115.04.
    hand.ack(2, 100.0);
    hand.wait_ms(29);
    assert_eq!(hand.ack(1, 199.0), 40);
    hand.wait_ms(29);
    assert_eq!(hand.ack(1, 199.0), 20);
}

#[test]
fn difference_3_where_each_acknowledgement_comes_alone_and_late_they_count() {
    let mut hand = after_first_loss("tcp-lp");
    for _ in 0..7 {
        hand.wait_ms(40);
        assert_eq!(hand.ack(1, 199.0), 40);
    }
    for _ in 0..3 {
        hand.wait_ms(40);
        hand.ack(1, 199.0);
    }
    assert_eq!(hand.cwnd(), 20);
    // One that comes at once begins the row anew.
    let mut hand = after_first_loss("tcp-lp");
    hand.template.is_cwnd_limited = 0;
    for _ in 0..20 {
        for _ in 0..7 {
            hand.wait_ms(40);
            assert_eq!(hand.ack(1, 199.0), 40);
        }
        hand.ack(1, 100.0);
    }
}

#[test]
fn difference_3_late_ones_count_of_a_receiver_that_delays_none() {
    // More than 32 acknowledged at once and one by one.
    let mut hand = after_first_loss("tcp-lp");
    assert_eq!(take_six_late(&mut hand), 20);
}

#[test]
fn difference_3_no_less_than_32_single_ones_show_that_a_receiver_delays_none() {
    // The late ones are single, too: with 30 before them the first does not count, and the
    // other five leave the smoothed delay at 113.6.
    for (singles, cwnd) in [(30, 40), (31, 20)] {
        let mut hand = after_first_loss("tcp-lp");
        hand.template.is_cwnd_limited = 0;
        hand.ack(2, 100.0);
        for _ in 0..singles {
            hand.wait_ms(1);
            hand.ack(1, 100.0);
        }
        assert_eq!(take_six_late(&mut hand), cwnd, "{singles}");
    }
}

#[test]
fn difference_3_acknowledgements_of_nothing_or_without_a_delay_show_nothing() {
    for (pkts, rtt_ms) in [(0, 100.0), (0, 0.0), (1, 0.0)] {
        let mut hand = after_first_loss("tcp-lp");
        hand.template.is_cwnd_limited = 0;
        hand.ack(2, 100.0);
        for _ in 0..40 {
            hand.wait_ms(1);
            hand.ack(pkts, rtt_ms);
        }
        assert_eq!(take_six_late(&mut hand), 40, "{pkts} in {rtt_ms} ms");
    }
}

#[test]
fn difference_3_a_receiver_may_delay_before_it_has_acknowledged_two_at_once() {
    let mut hand = Hand::new("tcp-lp:lone_extremes=1", 80);
    hand.window.ssthresh_pkts = 80;
    hand.ack(1, 100.0);
    hand.wait_ms(40);
    hand.ack(1, 600.0);
    hand.ack(1, 200.0);
    hand.lose();
    for _ in 0..3 {
        hand.pass_round(100.0);
    }
    // The range is 100 ms, the threshold 115.
    hand.window.cwnd_pkts = 40;
    for _ in 0..20 {
        hand.ack(1, 130.0);
    }
    assert_eq!(hand.cwnd(), 20);
}

#[test]
fn difference_3_single_acknowledgements_after_a_loss_do_not_make_a_delayed_one_count() {
    let mut hand = after_first_loss("tcp-lp");
    hand.template.is_cwnd_limited = 0;
    hand.ack(2, 100.0);
    hand.lose();
    hand.window.cwnd_pkts = 8;
    // Reports about the gap, and 16 at once as Linux has them after it, of which the ninth is
    // of a segment sent since.
    for (phase, acks) in [(3, 40), (0, 16)] {
        hand.template.phase = phase;
        for _ in 0..acks {
            hand.wait_ms(1);
            hand.ack(1, 100.0);
        }
    }
    hand.window.cwnd_pkts = 40;
    assert_eq!(take_six_late(&mut hand), 40);
}

#[test]
fn difference_3_the_silence_is_that_in_which_none_left() {
    let mut hand = on_a_path_with_clocks();
    // The one before waited for 60 ms on the way back, this one does not: 20 ms lie
    // between them, where they left it was 80, of which the receiver may have held it 40.
    hand.wait_ms(20);
    deliver(&mut hand, 2, 160, 110);
    hand.wait_ms(20);
    deliver(&mut hand, 1, 600, 50);
    assert!(reacts_to_130_ms(&mut hand), "the range is 100 ms still");
}

#[test]
fn difference_3_the_silence_is_that_in_which_none_came_if_the_clock_shows_less() {
    let mut hand = on_a_path_with_clocks();
    // It came 40 ms after the one before; by the peer's clock it left 10 ms after it.
    hand.wait_ms(40);
    deliver(&mut hand, 1, 600, 80);
    assert!(reacts_to_130_ms(&mut hand), "the range is 100 ms still");
    // With 29 and 10 ms it was not held, and the range is up to 530 ms.
    let mut hand = on_a_path_with_clocks();
    hand.wait_ms(29);
    deliver(&mut hand, 1, 600, 69);
    hand.template.is_cwnd_limited = 0;
    for _ in 0..40 {
        hand.wait_ms(20);
        deliver(&mut hand, 2, 100, 50);
    }
    assert!(!reacts_to_130_ms(&mut hand), "the range is larger");
}
