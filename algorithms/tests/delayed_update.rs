// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of the delayed window update (`reno+`, `cubic+`), from its paper.

mod sender_path;

use ebb_algorithms::{Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use sender_path::{Path, Plan, run};

const LEAST_US: u32 = 20_000;

/// A sender in slow start: each acknowledgement that the law inside sees earns a segment.
struct Sender {
    flow: SenderFlow,
    now_us: u64,
    random: u32,
}

impl Sender {
    /// At 100 segments; the first acknowledgement opens the first period.
    fn new(policy: &str) -> Self {
        let start = SenderStart {
            mss_bytes: 1448,
            cwnd_pkts: 99,
            ..SenderStart::default()
        };
        let mut sender = Self {
            flow: SenderFlow::new(Policy::sender(policy).unwrap(), &start),
            now_us: 1_000_000,
            random: u32::MAX,
        };
        sender.acknowledge(LEAST_US);
        sender
    }

    fn acknowledge(&mut self, rtt_us: u32) {
        let window = self.flow.window();
        self.flow.on_ack(&SenderAck {
            now_us: self.now_us,
            acked_pkts: 1,
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: window.ssthresh_pkts,
            rtt_us,
            srtt_us: rtt_us,
            random: self.random,
            is_cwnd_limited: 1,
            ..SenderAck::default()
        });
    }

    /// A period of 100 ms with these RTTs; answers by how much the window has changed.
    fn period(&mut self, rtts_us: &[u32]) -> i64 {
        let from_us = self.now_us;
        let before = self.cwnd_pkts();
        for (index, rtt_us) in rtts_us.iter().enumerate() {
            self.now_us = from_us + 100_000 * (index as u64 + 1) / rtts_us.len() as u64;
            self.acknowledge(*rtt_us);
        }
        i64::from(self.cwnd_pkts()) - i64::from(before)
    }

    fn cwnd_pkts(&self) -> u32 {
        self.flow.window().cwnd_pkts
    }

    fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            ssthresh_pkts: self.flow.window().ssthresh_pkts,
            ..SenderEvent::default()
        }
    }
}

/// So many RTTs, of which so many are the least.
fn rtts(count: usize, least: usize, other_us: u32) -> Vec<u32> {
    let mut rtts = vec![other_us; count];
    rtts[..least].fill(LEAST_US);
    rtts
}

#[test]
fn leaves_the_law_alone_while_packets_meet_empty_queues() {
    let mut sender = Sender::new("reno+");
    // U = 1 - 5/10 = 0.5, however RTTs rise: 10 acknowledged earn 10.
    assert_eq!(sender.period(&rtts(10, 5, 21_000)), 10);
    assert_eq!(sender.period(&rtts(10, 5, 23_000)), 10);
}

#[test]
fn mild_congestion_holds_the_window_until_the_timer_ends() {
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
fn the_timer_is_a_random_part_of_the_least_rtt() {
    let mut sender = Sender::new("reno+:flag_rule=0");
    sender.random = (1 << 30) - 1;
    sender.period(&rtts(10, 9, 100_000));
    sender.period(&rtts(200, 100, 21_000));
    sender.period(&rtts(200, 1, 25_000));
    let before = sender.cwnd_pkts();
    // A quarter of 20 ms.
    sender.now_us += 4_999;
    sender.acknowledge(LEAST_US);
    assert_eq!(sender.cwnd_pkts(), before);
    sender.now_us += 1;
    sender.acknowledge(LEAST_US);
    assert_eq!(sender.cwnd_pkts(), before + 1);
}

#[test]
fn serious_congestion_takes_a_tenth_of_the_window_and_ends_slow_start() {
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 5, 21_000));
    let before = sender.cwnd_pkts();
    // No packet has met an empty queue, and the average has risen: 9 more, then x 0.9.
    sender.period(&rtts(10, 0, 30_000));
    // (110 + 9) x 922 / 1024 = 107.1
    assert_eq!((before, sender.cwnd_pkts()), (110, 107));
    assert_eq!(sender.flow.window().ssthresh_pkts, 107);
}

#[test]
fn a_decrease_can_leave_slow_start_to_go_on() {
    let mut sender = Sender::new("reno+:ends_slow_start=0");
    sender.period(&rtts(10, 5, 21_000));
    sender.period(&rtts(10, 0, 30_000));
    assert_eq!(sender.flow.window().ssthresh_pkts, 0x7fff_ffff);
}

#[test]
fn rtts_that_do_not_rise_are_serious_by_equation_3_only() {
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
fn the_first_average_has_risen_from_zero_or_is_compared_with_nothing() {
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
fn long_rtts_hold_the_window_until_they_are_shorter() {
    let mut sender = Sender::new("reno+");
    // Up to 40 ms; the average 38 is above (20 + 40) / 2.
    sender.period(&rtts(10, 1, 40_000));
    assert_eq!(sender.period(&rtts(10, 1, 40_000)), 0);
    // The average 30 is not: the law goes on from the end of the period.
    assert_eq!(sender.period(&rtts(10, 5, 40_000)), 1);
    assert_eq!(sender.period(&rtts(10, 5, 40_000)), 10);
}

#[test]
fn rtts_are_long_among_those_of_the_period_or_of_the_connection() {
    for (policy, gained) in [("reno+", 0), ("reno+:flag_rule=0", 10)] {
        let mut sender = Sender::new(policy);
        sender.period(&rtts(10, 9, 100_000));
        // The average of 29 ms is above (20 + 30) / 2, but not above (20 + 100) / 2.
        sender.period(&rtts(10, 1, 30_000));
        assert_eq!(sender.period(&rtts(10, 1, 30_000)), gained, "{policy}");
    }
}

#[test]
fn a_decrease_is_a_loss_to_the_law_inside_or_is_not_told() {
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
fn without_its_timer_mild_congestion_ends_when_rtts_are_short_and_steady() {
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
fn a_large_change_of_rtt_does_not_end_congestion() {
    let mut sender = Sender::new("reno+:timer_rule=1,threshold_us=1000");
    sender.period(&rtts(10, 9, 100_000));
    sender.period(&rtts(200, 100, 21_000));
    sender.period(&rtts(200, 1, 25_000));
    // From 25 to 20.5 ms.
    assert_eq!(sender.period(&rtts(10, 5, 21_000)), 0);
}

#[test]
fn an_rtt_within_the_slack_is_the_least_one() {
    let mut sender = Sender::new("reno+:rtt_slack_us=1000");
    sender.period(&rtts(10, 9, 100_000));
    assert_eq!(sender.period(&rtts(10, 0, 21_000)), 10);
    assert!(sender.period(&rtts(10, 0, 21_001)) < 10);
}

#[test]
fn a_loss_starts_the_mechanism_anew() {
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
fn an_idle_time_starts_the_mechanism_anew() {
    let mut sender = Sender::new("reno+");
    sender.period(&rtts(10, 1, 40_000));
    let before = sender.cwnd_pkts();
    sender.now_us += 60_000_000;
    sender.flow.on_idle(&sender.event());
    sender.acknowledge(40_000);
    assert_eq!(sender.cwnd_pkts(), before + 1);
}

#[test]
fn a_loss_keeps_the_extremes_of_the_rtt_or_forgets_them() {
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
fn a_path_that_becomes_longer_is_accepted_after_the_memory_s_time() {
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
fn does_not_lower_the_window_while_the_host_repairs_or_below_two() {
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
fn the_clock_of_cubic_goes_on_while_the_window_is_held_or_stops() {
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

/// The paper's scenario I: 2 Mbit/s, 20 ms, 500 or 50 kB.
fn scenario_1(buffer_bytes: usize) -> Path {
    Path {
        rate_bits_per_s: 2_000_000,
        rtt_us: 20_000,
        queue_pkts: buffer_bytes / 1500,
        ..Path::default()
    }
}

#[test]
fn keeps_the_paper_s_slow_link_busy_with_a_short_queue_and_no_loss() {
    for buffer_bytes in [500_000, 50_000] {
        let path = scenario_1(buffer_bytes);
        let cubic = run(&path, &[Plan::greedy("cubic:hystart=0")], 100);
        let plus = run(&path, &[Plan::greedy("cubic+:hystart=0")], 100);
        let waits_ms = [
            cubic.mean_wait_ms(0.0, 100.0),
            plus.mean_wait_ms(0.0, 100.0),
        ];
        assert!(plus.share(0, 1.0, 100.0) > 0.97, "{buffer_bytes}");
        assert!(
            waits_ms[1] * 3.0 < waits_ms[0],
            "{buffer_bytes}: {waits_ms:?}"
        );
        assert_eq!(plus.flows[0].lost_pkts, 0, "{buffer_bytes}");
        assert!(cubic.flows[0].lost_pkts > 0, "{buffer_bytes}");
    }
}
