// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion, the timer and the flag as the paper has them.

use crate::{LEAST_US, Sender, rtts};

#[test]
fn leaves_the_law_alone_while_packets_meet_empty_queues() {
    let mut sender = Sender::new("reno+");
    // U = 1 - 5/10 = 0.5, however RTTs rise: 10 acknowledged earn 10.
    assert_eq!(sender.period(&rtts(10, 5, 21_000)), 10);
    assert_eq!(sender.period(&rtts(10, 5, 23_000)), 10);
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
fn a_large_change_of_rtt_does_not_end_congestion() {
    let mut sender = Sender::new("reno+:timer_rule=1,threshold_us=1000");
    sender.period(&rtts(10, 9, 100_000));
    sender.period(&rtts(200, 100, 21_000));
    sender.period(&rtts(200, 1, 25_000));
    // From 25 to 20.5 ms.
    assert_eq!(sender.period(&rtts(10, 5, 21_000)), 0);
}

#[test]
fn thirty_milliseconds_less_or_more_do_not_end_congestion() {
    // Averages of 20.5 ms, then of 79.7 ms with U = 0.995: mild, and no timer runs.
    for (y_us, gained) in [(81_400, 10), (77_400, 0)] {
        let mut sender = Sender::new("reno+:timer_rule=1,flag_rule=0");
        sender.period(&rtts(10, 9, 300_000));
        sender.period(&rtts(200, 100, 21_000));
        sender.period(&rtts(200, 1, 80_000));
        // 50.7 or 48.7 ms: 29 or 31 less. The next average, 34 ms more, ends nothing.
        sender.period(&rtts(10, 5, y_us));
        let next = sender.period(&rtts(10, 5, 150_000));
        assert_eq!(next.min(10), gained, "{y_us}");
    }
}
