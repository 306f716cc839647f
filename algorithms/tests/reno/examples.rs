// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `reno`, from RFC 5681.

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};

fn reno(cwnd_pkts: u32) -> SenderFlow {
    let start = SenderStart {
        mss_bytes: 1448,
        cwnd_pkts,
        local_tick_us: 1000,
        ..SenderStart::default()
    };
    SenderFlow::new(Policy::sender("reno").unwrap(), &start)
}

/// Acknowledges so many segments and answers the window.
fn acknowledge(flow: &mut SenderFlow, acked_pkts: u32) -> u32 {
    let window = flow.window();
    flow.on_ack(&SenderAck {
        acked_pkts,
        cwnd_pkts: window.cwnd_pkts,
        ssthresh_pkts: window.ssthresh_pkts,
        is_cwnd_limited: 1,
        ..SenderAck::default()
    });
    flow.window().cwnd_pkts
}

fn event(flow: &SenderFlow) -> SenderEvent {
    SenderEvent {
        cwnd_pkts: flow.window().cwnd_pkts,
        ssthresh_pkts: flow.window().ssthresh_pkts,
        ..SenderEvent::default()
    }
}

#[test]
fn doubles_per_round_trip_in_slow_start() {
    let mut flow = reno(10);
    assert_eq!(acknowledge(&mut flow, 10), 20);
    assert_eq!(acknowledge(&mut flow, 20), 40);
}

#[test]
fn difference_1_the_rest_of_an_increase_is_kept_and_gives_one_segment_per_window_exactly() {
    let mut flow = reno(40);
    flow.on_loss(&event(&flow));
    assert_eq!(flow.window().ssthresh_pkts, 20);
    // The host has led the window to the threshold.
    for cwnd_pkts in 20..25 {
        for _ in 0..cwnd_pkts {
            flow.on_ack(&SenderAck {
                acked_pkts: 1,
                cwnd_pkts,
                ssthresh_pkts: 20,
                is_cwnd_limited: 1,
                ..SenderAck::default()
            });
        }
        assert_eq!(flow.window().cwnd_pkts, cwnd_pkts + 1);
    }
}

#[test]
fn slow_start_ends_at_the_threshold_and_the_rest_counts_for_avoidance() {
    let mut flow = reno(18);
    let ack = |acked_pkts| SenderAck {
        acked_pkts,
        cwnd_pkts: 18,
        ssthresh_pkts: 20,
        is_cwnd_limited: 1,
        ..SenderAck::default()
    };
    flow.on_ack(&ack(2 + 19));
    assert_eq!(flow.window().cwnd_pkts, 20);
    flow.on_ack(&ack(2 + 1));
    assert_eq!(flow.window().cwnd_pkts, 21);
}

#[test]
fn a_timeout_starts_again_from_one_segment_and_an_undo_restores() {
    let mut flow = reno(64);
    flow.on_timeout(&event(&flow));
    assert_eq!(
        (flow.window().cwnd_pkts, flow.window().ssthresh_pkts),
        (1, 32)
    );
    flow.on_undo(&SenderEvent {
        cwnd_pkts: 2,
        ssthresh_pkts: 100,
        ..SenderEvent::default()
    });
    assert_eq!(flow.window().cwnd_pkts, 64);
}

#[test]
fn the_threshold_is_never_below_two_segments() {
    let mut flow = reno(1);
    flow.on_loss(&event(&flow));
    assert_eq!(flow.window().ssthresh_pkts, 2);
}

#[test]
fn difference_2_a_window_that_the_application_does_not_fill_does_not_grow() {
    let mut flow = reno(10);
    flow.on_ack(&SenderAck {
        acked_pkts: 10,
        cwnd_pkts: 10,
        ssthresh_pkts: 100,
        ..SenderAck::default()
    });
    assert_eq!(flow.window().cwnd_pkts, 10);
}

#[test]
fn difference_3_the_threshold_is_half_of_the_window_not_of_the_flight() {
    let mut flow = reno(64);
    flow.on_loss(&SenderEvent {
        inflight_pkts: 20,
        ..event(&flow)
    });
    assert_eq!(flow.window().ssthresh_pkts, 32);
}

#[test]
fn what_was_saved_up_at_a_larger_window_is_worth_one_segment() {
    let mut flow = reno(100);
    let ack = |acked_pkts, cwnd_pkts| SenderAck {
        acked_pkts,
        cwnd_pkts,
        ssthresh_pkts: 10,
        is_cwnd_limited: 1,
        ..SenderAck::default()
    };
    flow.on_ack(&ack(99, 100));
    assert_eq!(flow.window().cwnd_pkts, 100, "one acknowledgement lacks");
    // The host goes on from ten segments after an idle time: 99 are not nine of these.
    flow.on_ack(&ack(1, 10));
    assert_eq!(flow.window().cwnd_pkts, 11);
    flow.on_ack(&ack(9, 11));
    assert_eq!(flow.window().cwnd_pkts, 11);
    flow.on_ack(&ack(1, 11));
    assert_eq!(flow.window().cwnd_pkts, 12);
}
