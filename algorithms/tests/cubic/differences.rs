// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Differences 1 to 6 from the RFC in cubic.h; 7 is in slow_start.rs, the others in linux.rs.

use crate::{START_US, ack, drive, event, flow, lose};
use ebb_algorithms::{SenderAck, SenderEvent};

#[test]
fn difference_3_a_window_that_is_not_filled_stands_still_and_so_does_the_clock() {
    let mut busy = flow("cubic", 100);
    lose(&mut busy);
    drive(&mut busy, START_US, START_US + 1_000_000, 200_000);
    let mut lazy = busy.clone();
    let before = lazy.window().cwnd_pkts;
    // 20 s of an application that leaves the window half empty.
    for round in 0..100 {
        lazy.on_ack(&SenderAck {
            is_cwnd_limited: 0,
            ..ack(&lazy, START_US + 1_000_000 + round * 200_000, 10, 200_000)
        });
    }
    assert_eq!(lazy.window().cwnd_pkts, before);
    let lazy_us = START_US + 1_000_000 + 100 * 200_000;
    let lazy_pkts = drive(&mut lazy, lazy_us, lazy_us + 1_000_000, 200_000);
    let busy_pkts = drive(
        &mut busy,
        START_US + 1_000_000,
        START_US + 2_000_000,
        200_000,
    );
    assert!(
        lazy_pkts.abs_diff(busy_pkts) <= 1,
        "{lazy_pkts} {busy_pkts}"
    );
}

#[test]
fn difference_4_an_undo_never_takes_what_the_host_has() {
    let mut flow = flow("cubic", 100);
    flow.on_loss(&event(&flow));
    flow.on_undo(&SenderEvent {
        cwnd_pkts: 130,
        ..event(&flow)
    });
    assert_eq!(flow.window().cwnd_pkts, 130);
}

#[test]
fn difference_5_a_host_without_a_smoothed_rtt_reads_the_curve_now() {
    let mut flow = flow("cubic", 100);
    lose(&mut flow);
    flow.on_ack(&SenderAck {
        srtt_us: 0,
        ..ack(&flow, START_US, 70, 0)
    });
    // W(0) is the window itself.
    assert_eq!(flow.window().cwnd_pkts, 70);
}

#[test]
fn difference_6_a_window_that_others_lowered_is_not_restored_at_once() {
    let mut flow = flow("cubic", 20);
    lose(&mut flow);
    // Reno's part rules at an RTT of 10 ms: to 40 segments in 0.32 s, as above.
    drive(&mut flow, START_US, START_US + 320_000, 10_000);
    let now_us = START_US + 330_000;
    flow.on_ack(&SenderAck {
        cwnd_pkts: 10,
        ssthresh_pkts: 10,
        ..ack(&flow, now_us, 10, 10_000)
    });
    // The curve is at 16 segments: half a window more at the most.
    assert!(flow.window().cwnd_pkts <= 15);
}

#[test]
fn difference_1_parts_of_a_segment_are_kept_as_credit() {
    // The window that so many acknowledgements of so many segments lead to, a second after
    // a loss: 70 segments earn what the curve rises in the RTT ahead.
    let window_after = |acks: u32, acked_pkts: u32| {
        let mut flow = flow("cubic:reno_friendly=0", 100);
        lose(&mut flow);
        flow.on_ack(&SenderAck {
            is_cwnd_limited: 1,
            ..ack(&flow, START_US, 1, 1)
        });
        for _ in 0..acks {
            let cwnd_pkts = flow.window().cwnd_pkts;
            flow.on_ack(&ack(&flow, START_US + 1_000_000, acked_pkts, 200_000));
            assert!(flow.window().cwnd_pkts - cwnd_pkts <= acked_pkts);
        }
        flow.window().cwnd_pkts
    };
    // W(1.2 s) = 100 - 0.4 x 3.017^3 = 89.0: one earns (89 - 70) / 70 = 0.27 at first.
    assert_eq!(window_after(3, 1), 70);
    assert_eq!(window_after(4, 1), 71);
    let (singly, at_once) = (window_after(70, 1), window_after(1, 70));
    assert!((88..=89).contains(&at_once), "{at_once}");
    // 19 x (1 - 1 / e) = 12
    assert!((81..=83).contains(&singly), "{singly}");
}

#[test]
fn difference_2_the_threshold_is_a_part_of_the_window_not_of_the_flight() {
    let mut flow = flow("cubic", 100);
    flow.on_loss(&SenderEvent {
        inflight_pkts: 20,
        ..event(&flow)
    });
    assert_eq!(flow.window().ssthresh_pkts, 70);
}

#[test]
fn difference_6_a_window_that_others_lowered_stays_low_when_the_next_loss_was_none() {
    let mut flow = flow("cubic", 20);
    lose(&mut flow);
    // Reno's part rules: to 40 segments.
    drive(&mut flow, START_US, START_US + 320_000, 10_000);
    let lowered = SenderEvent {
        cwnd_pkts: 10,
        ssthresh_pkts: 10,
        ..event(&flow)
    };
    // A loss comes before any acknowledgement, and is undone.
    flow.on_loss(&lowered);
    flow.on_undo(&lowered);
    assert_eq!(flow.window().cwnd_pkts, 10);
    flow.on_ack(&ack(&flow, START_US + 330_000, 1, 10_000));
    assert!(flow.window().cwnd_pkts <= 11, "{:?}", flow.window());
}
