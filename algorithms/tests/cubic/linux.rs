// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Differences 8 to 11 of cubic.h: what rules=1 does as Linux does.

use crate::{START_US, ack, drive, event, flow, lose};
use ebb_algorithms::SenderAck;

#[test]
fn difference_8_as_linux_it_reads_the_curve_at_the_least_rtt() {
    // The least RTT is 20 ms, the smoothed one 2 s: the RFC looks 2 s ahead.
    let grown = |policy| {
        let mut flow = flow(policy, 1000);
        flow.on_ack(&SenderAck {
            acked_pkts: 0,
            ..ack(&flow, START_US, 0, 20_000)
        });
        lose(&mut flow);
        // The curve rises by 3 x 0.4 x 9.1^2 = 99 segments in the first second.
        for index in 0..10 {
            flow.on_ack(&ack(&flow, START_US + index * 10_000, 70, 2_000_000));
        }
        flow.window().cwnd_pkts - 700
    };
    // W(2 s) is 858: nine tenths of a window go 1 - 0.9^9 of the way of 158 segments.
    assert!((90..105).contains(&grown("cubic")));
    assert!(grown("cubic:rules=1") < 20);
}

#[test]
fn difference_8_as_linux_it_is_at_the_plateau_before_the_curve() {
    // K = cbrt(10 / 0.4) = 2.92 s: from 1.37 s before (0.4 x 1.35^3 < 1) Linux aims at the
    // plateau itself, whole segments away from it at most; the RFC still below.
    let at = |policy| {
        let mut flow = flow(policy, 32);
        lose(&mut flow);
        drive(&mut flow, START_US, START_US + 2_400_000, 150_000)
    };
    assert_eq!(at("cubic:rules=1"), 32);
    assert!(at("cubic") < 32);
}

#[test]
fn difference_10_as_linux_it_grows_by_a_twentieth_per_round_trip_before_the_first_loss() {
    let mut flow = flow("cubic:rules=1", 200);
    flow.on_ack(&SenderAck {
        ssthresh_pkts: 200,
        ..ack(&flow, START_US, 1, 100_000)
    });
    let after = drive(&mut flow, START_US, START_US + 100_000, 100_000);
    assert!((209..=211).contains(&after), "{after}");
}

#[test]
fn difference_9_as_linux_it_follows_reno_at_half_a_segment_per_round_trip() {
    let mut flow = flow("cubic:rules=1", 20);
    lose(&mut flow);
    let cwnd_pkts = drive(&mut flow, START_US, START_US + 320_000, 10_000);
    // 14 + 32 x 0.53 = 31, a little late by the 1/32 s of the steps.
    assert!((27..=31).contains(&cwnd_pkts), "{cwnd_pkts}");
}

#[test]
fn difference_11_as_linux_a_timeout_forgets_the_least_rtt() {
    let mut flow = flow("cubic:rules=1,reno_friendly=0,hystart=0", 100);
    flow.on_ack(&SenderAck {
        acked_pkts: 0,
        ..ack(&flow, START_US, 0, 20_000)
    });
    flow.on_timeout(&event(&flow));
    for _ in 0..70 {
        flow.on_ack(&SenderAck {
            cwnd_pkts: flow.window().cwnd_pkts.max(70),
            ssthresh_pkts: 70,
            ..ack(&flow, START_US, 1, 5_000_000)
        });
    }
    // At 5 s, now the least RTT, the curve is at 70 + 0.4 x 5^3 = 120 segments: half a
    // window per round trip. At 20 ms it would be at 70, and 70 acknowledged would earn 3.
    assert!(flow.window().cwnd_pkts > 90);
}

#[test]
fn difference_11_as_linux_an_undo_restores_the_window_alone() {
    let mut flow = flow("cubic:rules=1", 100);
    flow.on_loss(&event(&flow));
    flow.on_undo(&event(&flow));
    assert_eq!(flow.window().cwnd_pkts, 100);
}

#[test]
fn difference_10_as_linux_it_grows_by_a_hundredth_of_a_segment_per_window_beyond_the_curve() {
    let mut flow = flow("cubic:rules=1,reno_friendly=0", 32);
    lose(&mut flow);
    // At the plateau, as above.
    assert_eq!(
        drive(&mut flow, START_US, START_US + 2_400_000, 150_000),
        32
    );
    let mut acked_pkts = 0;
    while flow.window().cwnd_pkts == 32 {
        flow.on_ack(&ack(&flow, START_US + 2_400_000, 1, 150_000));
        acked_pkts += 1;
    }
    // 100 windows, less what was saved up before the plateau.
    assert!((2800..=3200).contains(&acked_pkts), "{acked_pkts}");
}

#[test]
fn difference_11_as_linux_a_lazy_application_does_not_stop_the_clock() {
    let grown = |policy| {
        let mut flow = flow(policy, 100);
        lose(&mut flow);
        drive(&mut flow, START_US, START_US + 1_000_000, 200_000);
        let before = flow.window().cwnd_pkts;
        // 20 s in which something is always outstanding, but less than the window.
        for round in 0..100 {
            flow.on_ack(&SenderAck {
                is_cwnd_limited: 0,
                ..ack(&flow, START_US + 1_000_000 + round * 200_000, 10, 200_000)
            });
        }
        let from_us = START_US + 21_000_000;
        drive(&mut flow, from_us, from_us + 1_000_000, 200_000) - before
    };
    // K is 4.2 s: the curve of Linux is at 100 + 0.4 x 17^3 = 2065 segments by then.
    assert!(grown("cubic") < 15);
    assert!(grown("cubic:rules=1") > 100);
}
