// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbered differences from the paper in delayed_update.h.

use crate::{LEAST_US, Sender, rtts};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};

#[test]
fn difference_4_mild_congestion_holds_the_window_until_the_timer_ends() {
    let mut sender = Sender::new("reno+:flag_rule=0");
    // An RTT of 100 ms once: later ones are in the lower half of what they have been.
    sender.period(&rtts(10, 9, 100_000));
    sender.period(&rtts(200, 100, 21_000));
    // U = 1 - 1/200 = 0.995, and the average rises from 20.5 to 25 ms: mild, at the end.
    assert_eq!(sender.period(&rtts(200, 1, 25_000)), 199);
    let before = sender.cwnd_pkts();
    // The timer: 20 ms x 1, from the end of the period.
    sender.now_us += 19_999;
    sender.acknowledge(LEAST_US);
    assert_eq!(sender.cwnd_pkts(), before);
    sender.now_us += 1;
    sender.acknowledge(LEAST_US);
    assert_eq!(sender.cwnd_pkts(), before + 1);
}

#[test]
fn difference_5_a_decrease_ends_slow_start_or_leaves_it_to_go_on() {
    for (params, threshold) in [("", 107), (":ends_slow_start=0", 0x7fff_ffff)] {
        let mut sender = Sender::new(&format!("reno+{params}"));
        sender.period(&rtts(10, 5, 21_000));
        sender.period(&rtts(10, 0, 30_000));
        assert_eq!(sender.flow.window().ssthresh_pkts, threshold, "{params}");
    }
}

#[test]
fn difference_3_rtts_that_do_not_rise_are_serious_by_equation_3_only() {
    for (policy, is_lowered) in [("reno+", false), ("reno+:serious_rule=1", true)] {
        let mut sender = Sender::new(policy);
        sender.period(&rtts(10, 5, 60_000));
        let before = sender.cwnd_pkts();
        // The average falls from 40 to 30 ms.
        sender.period(&rtts(10, 0, 30_000));
        assert_eq!(sender.cwnd_pkts() < before, is_lowered, "{policy}");
    }
}

#[test]
fn difference_9_the_first_average_has_risen_from_zero_or_is_compared_with_nothing() {
    for (policy, is_lowered) in [("reno+", true), ("reno+:first_rule=1", false)] {
        let mut sender = Sender::new(policy);
        sender.now_us = 2_000_000;
        // The least RTT was in the period before; the idle time ends that.
        sender.flow.on_idle(&sender.event());
        sender.acknowledge(30_000);
        sender.period(&rtts(10, 0, 30_000));
        assert_eq!(sender.cwnd_pkts() < 100, is_lowered, "{policy}");
    }
}

#[test]
fn difference_7_rtts_are_long_among_those_of_the_period_or_of_the_connection() {
    for (policy, gained) in [("reno+", 0), ("reno+:flag_rule=0", 10)] {
        let mut sender = Sender::new(policy);
        sender.period(&rtts(10, 9, 100_000));
        // The average of 29 ms is above (20 + 30) / 2, but not above (20 + 100) / 2.
        sender.period(&rtts(10, 1, 30_000));
        assert_eq!(sender.period(&rtts(10, 1, 30_000)), gained, "{policy}");
    }
}

#[test]
fn difference_6_a_decrease_is_a_loss_to_the_law_inside_or_is_not_told() {
    // From 0.9 x 1000 segments cubic is back after cbrt(100 / 0.4) = 6.3 s, or, if it has
    // not been told, as fast as half a window per round trip allows.
    let grown = |policy: &str| {
        let mut sender = Sender::new(policy);
        let cubic = |sender: &mut Sender, cwnd_pkts: u32| {
            sender.flow.on_ack(&SenderAck {
                now_us: sender.now_us,
                acked_pkts: 1,
                is_cwnd_limited: 1,
                cwnd_pkts,
                ssthresh_pkts: cwnd_pkts.min(1000),
                rtt_us: LEAST_US,
                srtt_us: LEAST_US,
                ..SenderAck::default()
            });
        };
        cubic(&mut sender, 1000);
        // Ten seconds later the first curve asks for 400 segments more.
        for _ in 0..100 {
            sender.period(&rtts(10, 1, 40_000));
        }
        sender.period(&rtts(10, 0, 50_000));
        let lowered = sender.cwnd_pkts();
        sender.period(&rtts(50, 45, 100_000));
        sender.period(&rtts(50, 45, 100_000));
        sender.cwnd_pkts() - lowered
    };
    assert!(grown("cubic+") < 12);
    assert!(grown("cubic+:restarts_law=0") > 25);
}

#[test]
fn difference_4_without_its_timer_mild_congestion_ends_when_rtts_are_short_and_steady() {
    let mut sender = Sender::new("reno+:timer_rule=1");
    sender.period(&rtts(10, 9, 100_000));
    sender.period(&rtts(200, 100, 21_000));
    sender.period(&rtts(200, 1, 25_000));
    assert_eq!(sender.period(&rtts(200, 1, 24_000)), 0, "U is still 0.995");
    // U = 0.5 and the average changes by less than 30 ms: free at the end of the period.
    assert_eq!(sender.period(&rtts(10, 5, 24_000)), 1);
    assert_eq!(sender.period(&rtts(10, 5, 24_000)), 10);
}

#[test]
fn difference_1_an_rtt_within_the_slack_is_the_least_one() {
    let mut sender = Sender::new("reno+:rtt_slack_us=1000");
    sender.period(&rtts(10, 9, 100_000));
    assert_eq!(sender.period(&rtts(10, 0, 21_000)), 10);
    assert!(sender.period(&rtts(10, 0, 21_001)) < 10);
}

#[test]
fn difference_10_a_loss_starts_the_mechanism_anew() {
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 1, 40_000));
    sender.flow.on_loss(&sender.event());
    // Held before; in slow start up to the threshold of half again.
    sender.flow.on_ack(&SenderAck {
        cwnd_pkts: 2,
        ssthresh_pkts: 50,
        acked_pkts: 1,
        is_cwnd_limited: 1,
        now_us: sender.now_us,
        ..SenderAck::default()
    });
    assert_eq!(sender.cwnd_pkts(), 3);
}

#[test]
fn difference_12_an_idle_time_starts_the_mechanism_anew() {
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 1, 40_000));
    let before = sender.cwnd_pkts();
    sender.now_us += 60_000_000;
    sender.flow.on_idle(&sender.event());
    sender.acknowledge(40_000);
    assert_eq!(sender.cwnd_pkts(), before + 1);
}

#[test]
fn difference_10_a_loss_keeps_the_extremes_of_the_rtt_or_forgets_them() {
    for (policy, gained) in [
        ("reno+:flag_rule=0", 0),
        ("reno+:flag_rule=0,forgets_rtts=1", 10),
    ] {
        let mut sender = Sender::new(policy);
        sender.period(&rtts(10, 9, 40_000));
        sender.flow.on_timeout(&sender.event());
        // 38 ms is long between 20 and 40, and the least of all where these are forgotten.
        sender.acknowledge(38_000);
        sender.period(&rtts(10, 0, 38_000));
        assert_eq!(sender.period(&rtts(10, 0, 38_000)), gained, "{policy}");
    }
}

#[test]
fn difference_13_a_path_that_becomes_longer_is_accepted_after_the_memory_s_time() {
    let mut sender = Sender::new("reno+:flag_rule=0,rtt_memory_s=2,ends_slow_start=0");
    sender.period(&rtts(10, 5, 21_000));
    sender.period(&[200_000; 10]);
    assert_eq!(
        sender.period(&[200_000; 10]),
        0,
        "long, and nothing to compare with"
    );
    for _ in 0..20 {
        sender.period(&[200_000; 10]);
    }
    assert_eq!(sender.period(&[200_000; 10]), 10);
}

#[test]
fn difference_11_does_not_lower_the_window_while_the_host_repairs_or_below_two() {
    let mut sender = Sender::new("reno+:theta_x1024=64");
    sender.period(&rtts(10, 5, 21_000));
    for step in 1..=8 {
        sender.period(&[21_000 + step * 1000]);
    }
    assert_eq!(sender.cwnd_pkts(), 2);
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 5, 21_000));
    sender.now_us += 100_000;
    sender.flow.on_ack(&SenderAck {
        now_us: sender.now_us,
        cwnd_pkts: 100,
        ssthresh_pkts: 50,
        rtt_us: 40_000,
        phase: Phase::Recovery as u8,
        ..SenderAck::default()
    });
    assert_eq!(sender.cwnd_pkts(), 100);
}

#[test]
fn difference_8_the_clock_of_cubic_goes_on_while_the_window_is_held_or_stops() {
    let grown = |policy| {
        let mut sender = Sender::new(policy);
        let cwnd_pkts = sender.cwnd_pkts();
        sender.flow.on_ack(&SenderAck {
            now_us: sender.now_us,
            acked_pkts: 1,
            is_cwnd_limited: 1,
            cwnd_pkts,
            ssthresh_pkts: cwnd_pkts,
            ..SenderAck::default()
        });
        // Held for 10 s by long RTTs.
        for _ in 0..100 {
            sender.period(&rtts(10, 1, 40_000));
        }
        let before = sender.cwnd_pkts();
        sender.period(&rtts(50, 40, 40_000));
        sender.period(&rtts(50, 40, 40_000));
        sender.cwnd_pkts() - before
    };
    // 0.4 x 10^3 segments are due: half a window per round trip; else 0.4 x 0.1^3.
    assert!(grown("cubic+") > 20);
    assert!(grown("cubic+:stops_clock=1") <= 1);
}

#[test]
fn difference_2_one_acknowledgement_is_one_packet_whatever_it_acknowledges() {
    let mut sender = Sender::new("reno+:flag_rule=0");
    // An RTT of 100 ms once: later ones are in the lower half of what they have been.
    sender.period(&rtts(10, 9, 100_000));
    let from_us = sender.now_us;
    for index in 0..10u64 {
        sender.now_us = from_us + 10_000 * (index + 1);
        let (acked_pkts, rtt_us) = if index < 5 {
            (1, LEAST_US)
        } else {
            (200, 45_000)
        };
        let window = sender.flow.window();
        sender.flow.on_ack(&SenderAck {
            now_us: sender.now_us,
            acked_pkts,
            delivered_now_pkts: acked_pkts,
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: window.ssthresh_pkts,
            rtt_us,
            is_cwnd_limited: 1,
            random: u32::MAX,
            ..SenderAck::default()
        });
    }
    // U = 1 - 5/10, though of 1005 segments 1000 met a queue: that would be 0.995 and, with
    // the average risen from 28 to 32.5 ms, congestion.
    assert_eq!(sender.period(&rtts(10, 5, 21_000)), 10);
}

#[test]
fn difference_12_an_undo_starts_the_mechanism_anew() {
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 1, 40_000));
    assert_eq!(sender.period(&rtts(10, 1, 40_000)), 0, "held");
    let before = sender.cwnd_pkts();
    sender.flow.on_undo(&sender.event());
    sender.acknowledge(40_000);
    assert_eq!(sender.cwnd_pkts(), before + 1);
}

#[test]
fn difference_14_parts_of_segments_are_dropped_or_kept_for_the_next_decrease() {
    let lowered = |policy: &str| -> Vec<u32> {
        let mut sender = Sender::new(policy);
        sender.period(&rtts(1, 1, LEAST_US));
        // One acknowledgement in each period, which ends it: nothing grows between decreases.
        (1..=40)
            .map(|rise| {
                sender.period(&rtts(1, 0, 30_000 + rise * 1_000));
                sender.cwnd_pkts()
            })
            .skip_while(|cwnd_pkts| *cwnd_pkts > 10)
            .take(7)
            .collect()
    };
    assert_eq!(lowered("reno+"), [9, 8, 7, 6, 5, 4, 3]);
    assert_eq!(lowered("reno+:keeps_parts=1"), [10, 9, 8, 7, 6, 5, 5]);
}

#[test]
fn difference_6_a_new_curve_leads_to_the_maximum_of_the_last_loss_or_starts_below_it() {
    // Lost at 1000 segments, lowered from 600 to 540: a loss there would leave a maximum of
    // 510, so that the new curve starts flat; that to 1000 is 11 s long and steep at first.
    let grown = |policy: &str| {
        let mut sender = Sender::new(policy);
        sender.flow.on_loss(&SenderEvent {
            cwnd_pkts: 1000,
            ..sender.event()
        });
        sender.flow.on_ack(&SenderAck {
            now_us: sender.now_us,
            acked_pkts: 1,
            is_cwnd_limited: 1,
            cwnd_pkts: 600,
            ssthresh_pkts: 600,
            rtt_us: 45_000,
            srtt_us: LEAST_US,
            ..SenderAck::default()
        });
        sender.period(&rtts(10, 0, 50_000));
        let lowered = sender.cwnd_pkts();
        for _ in 0..3 {
            sender.period(&rtts(500, 450, 30_000));
        }
        (lowered, sender.cwnd_pkts() - lowered)
    };
    let (after_loss, to_maximum) = (grown("cubic+"), grown("cubic+:restarts_law=2"));
    assert_eq!((after_loss.0, to_maximum.0), (540, 540));
    assert!(after_loss.1 < 3, "{after_loss:?}");
    assert!(to_maximum.1 > 10, "{to_maximum:?}");
}
