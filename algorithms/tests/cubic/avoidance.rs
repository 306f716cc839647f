// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion avoidance, losses and what undoes them [RFC 9438].

use crate::{START_US, ack, drive, event, flow, lose};
use ebb_algorithms::{SenderAck, SenderEvent};

#[test]
fn a_loss_leaves_seven_tenths_of_the_window() {
    let mut flow = flow("cubic", 100);
    flow.on_loss(&event(&flow));
    // 100 x 717 / 1024 = 70.02
    assert_eq!(flow.window().ssthresh_pkts, 70);
}

#[test]
fn the_threshold_is_never_below_two_segments() {
    let mut flow = flow("cubic", 1);
    flow.on_loss(&event(&flow));
    assert_eq!(flow.window().ssthresh_pkts, 2);
}

#[test]
fn is_back_at_the_old_maximum_after_k_and_passes_it_slowly() {
    let mut flow = flow("cubic", 100);
    lose(&mut flow);
    // K = cbrt((100 - 70) / 0.4) = cbrt(75) = 4.217 s. RTT 0.2 s: Reno's part is smaller
    // (70 + 0.53 x 4.2 / 0.2 = 81 segments at K).
    let at_half_k = drive(&mut flow, START_US, START_US + 2_108_000, 200_000);
    // W(K/2) = 100 - 0.4 x 2.108^3 = 96.25
    assert!((95..=97).contains(&at_half_k), "{at_half_k}");
    let at_k = drive(
        &mut flow,
        START_US + 2_200_000,
        START_US + 4_217_000,
        200_000,
    );
    assert!((99..=100).contains(&at_k), "{at_k}");
    // W(K + 1 s) = 100 + 0.4
    let later = drive(
        &mut flow,
        START_US + 4_400_000,
        START_US + 5_217_000,
        200_000,
    );
    assert!((100..=101).contains(&later), "{later}");
}

#[test]
fn probes_ever_faster_beyond_the_old_maximum() {
    let mut flow = flow("cubic", 1000);
    lose(&mut flow);
    // K = cbrt((1000 - 700) / 0.4) = 9.09 s; W(K + 10 s) = 1000 + 0.4 x 10^3 = 1400, which
    // the window has reached when a round trip of 0.1 s before has asked for it.
    let cwnd_pkts = drive(&mut flow, START_US, START_US + 19_090_000, 100_000);
    assert!((1385..=1412).contains(&cwnd_pkts), "{cwnd_pkts}");
}

#[test]
fn a_flow_that_loses_below_its_maximum_aims_lower() {
    let mut flow = flow("cubic", 100);
    lose(&mut flow);
    // At 70 < 100: W_max = 70 x (1 + 0.7) / 2 = 59.5, the threshold 70 x 0.7 = 49.
    lose(&mut flow);
    assert_eq!(flow.window().ssthresh_pkts, 49);
    // K = cbrt((59 - 49) / 0.4) = 2.92 s; RTT 0.5 s keeps Reno's part small.
    let at_k = drive(&mut flow, START_US, START_US + 2_900_000, 500_000);
    assert!((58..=60).contains(&at_k), "{at_k}");
}

#[test]
fn without_fast_convergence_it_aims_at_the_window_that_was_lost() {
    let mut flow = flow("cubic:fast_convergence=0", 100);
    lose(&mut flow);
    lose(&mut flow);
    // W_max = 70, cwnd 49: K = cbrt(21 / 0.4) = 3.74 s.
    let at_k = drive(&mut flow, START_US, START_US + 3_740_000, 500_000);
    assert!((69..=70).contains(&at_k), "{at_k}");
}

#[test]
fn is_never_slower_than_reno_where_the_rtt_is_short() {
    let mut flow = flow("cubic", 20);
    lose(&mut flow);
    // alpha = 3 x 0.3 / 1.7 = 0.529: from 14 back to 20 in 6 / 0.529 = 11.3 round trips;
    // from there on one segment in each. Cubic itself would need K = 2.47 s.
    let cwnd_pkts = drive(&mut flow, START_US, START_US + 120_000, 10_000);
    assert!((19..=20).contains(&cwnd_pkts), "{cwnd_pkts}");
    let cwnd_pkts = drive(&mut flow, START_US + 120_000, START_US + 320_000, 10_000);
    // 20 round trips later.
    assert!((39..=41).contains(&cwnd_pkts), "{cwnd_pkts}");
}

#[test]
fn without_reno_friendliness_short_rtts_gain_nothing() {
    let mut flow = flow("cubic:reno_friendly=0", 20);
    lose(&mut flow);
    let cwnd_pkts = drive(&mut flow, START_US, START_US + 320_000, 10_000);
    // W(0.33 s) = 20 - 0.4 x (2.466 - 0.33)^3 = 16.1
    assert!((15..=16).contains(&cwnd_pkts), "{cwnd_pkts}");
}

#[test]
fn grows_by_half_a_window_per_round_trip_at_most() {
    let mut flow = flow("cubic:c_x1000=10000", 100);
    lose(&mut flow);
    // An hour later the curve asks for more than 10^11 segments.
    let now_us = START_US + 3_600_000_000;
    flow.on_ack(&ack(&flow, START_US, 1, 100_000));
    let before = flow.window().cwnd_pkts;
    for _ in 0..before {
        flow.on_ack(&SenderAck {
            cwnd_pkts: before,
            ..ack(&flow, now_us, 1, 100_000)
        });
    }
    let mut fresh = flow.clone();
    fresh.on_ack(&ack(&flow, now_us, before, 100_000));
    assert!(fresh.window().cwnd_pkts <= before + before / 2 + 1);
}

#[test]
fn idle_time_is_no_time_of_the_curve() {
    for policy in ["cubic", "cubic:rules=1"] {
        let mut flow = flow(policy, 100);
        lose(&mut flow);
        drive(&mut flow, START_US, START_US + 1_000_000, 200_000);
        let before = flow.window().cwnd_pkts;
        let idle_us = 3_600_000_000;
        flow.on_idle(&SenderEvent {
            now_us: START_US + 1_000_000 + idle_us,
            idle_us: idle_us as u32,
            ..event(&flow)
        });
        let from_us = START_US + 1_000_000 + idle_us;
        let after = drive(&mut flow, from_us, from_us + 200_000, 200_000);
        // K is 4.2 s, t 1 to 1.4 s: 0.4 x (3.2^3 - 2.8^3) = 4.3 segments.
        assert!(after - before <= 6, "{policy}: {before} -> {after}");
    }
}

#[test]
fn an_undo_restores_the_window_and_the_curve() {
    let mut flow = flow("cubic", 100);
    lose(&mut flow);
    drive(&mut flow, START_US, START_US + 5_000_000, 200_000);
    let untouched = flow.clone();
    let before = flow.window();
    flow.on_loss(&event(&flow));
    flow.on_undo(&SenderEvent {
        cwnd_pkts: 70,
        ssthresh_pkts: before.ssthresh_pkts,
        ..event(&flow)
    });
    assert_eq!(flow.window(), before);
    let mut again = untouched;
    let from_us = START_US + 5_000_000;
    assert_eq!(
        drive(&mut flow, from_us, from_us + 3_000_000, 200_000),
        drive(&mut again, from_us, from_us + 3_000_000, 200_000),
    );
}

#[test]
fn after_a_timeout_the_curve_starts_at_its_plateau() {
    let mut flow = flow("cubic", 100);
    flow.on_timeout(&event(&flow));
    assert_eq!(
        (flow.window().cwnd_pkts, flow.window().ssthresh_pkts),
        (1, 70)
    );
    // Slow start up to the threshold, then K = 0: W(2 s) = 70 + 0.4 x 2^3 = 73.2, and 75.6
    // at the round trip of 0.4 s beyond; Reno would have 70 + 0.53 x 5 = 72.6.
    for _ in 0..69 {
        flow.on_ack(&ack(&flow, START_US, 1, 400_000));
    }
    assert_eq!(flow.window().cwnd_pkts, 70);
    let cwnd_pkts = drive(&mut flow, START_US, START_US + 2_000_000, 400_000);
    assert!((72..=76).contains(&cwnd_pkts), "{cwnd_pkts}");
}

#[test]
fn a_congestion_mark_reduces_as_a_loss_does() {
    let mut flow = flow("cubic", 100);
    flow.on_loss(&SenderEvent {
        is_ecn: 1,
        ..event(&flow)
    });
    assert_eq!(flow.window().ssthresh_pkts, 70);
}
