// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Capacity, LinkSpec, Nanos, QueueLimit, Rate, Trace};
use ebb_scenario::{ApplicationMeasure, Interval, LateShare, Scenario, Traffic, Video};

use crate::{between_two_hosts, outcome, seen};

/// 450 kbit/s as in scenario 5 of the BWSS paper, in packets of 1000 bytes: one each
/// 17.8 ms; watched with these pre-buffering times (ms) over a link of this rate (kbit/s) that
/// drops nothing.
fn scenario(link_kbit: u64, pre_buffer_ms: &[u64]) -> Scenario {
    let rate = |kbit: u64| Rate::from_bits_per_s(kbit * 1_000).unwrap();
    let link = |kbit| {
        LinkSpec::drop_tail(
            rate(kbit),
            Nanos::from_millis(25),
            QueueLimit::Packets(1_000),
        )
    };
    let video = Video {
        rate: rate(450),
        packet_bytes: 1_000,
        pre_buffer: pre_buffer_ms
            .iter()
            .map(|ms| Nanos::from_millis(*ms))
            .collect(),
    };
    let length = Nanos::from_secs(100);
    between_two_hosts(link(link_kbit), link(1_000), Traffic::Video(video), length)
}

fn late(scenario: &Scenario, interval: usize) -> Vec<LateShare> {
    match seen(&outcome(scenario), interval) {
        ApplicationMeasure::Video { late } => late,
        other => panic!("not a video: {other:?}"),
    }
}

#[test]
fn nothing_is_late_where_there_is_room_and_time() {
    let late = late(&scenario(1_000, &[500, 2_000]), 0);
    // 99.5 s * 450 000 / 8000 = 5596.9, and 98 s: 5512.5, each begun one counted.
    assert_eq!((late[0].due_pkts, late[0].late_pkts), (5_597, 0));
    assert_eq!((late[1].due_pkts, late[1].late_pkts), (5_513, 0));
    assert_eq!(late[0].pre_buffer_s, 0.5);
}

#[test]
fn everything_is_late_that_is_played_before_it_can_have_come() {
    let late = late(&scenario(1_000, &[10]), 0);
    assert_eq!(late[0].late_pkts, late[0].due_pkts);
}

#[test]
fn too_slow_a_link_makes_packets_late_once_the_buffer_is_used_up() {
    let late = late(&scenario(400, &[2_000, 5_000, 100_000]), 0);
    // Each write is a segment, 1052 bytes with headers: data arrives at 400 * 1000 / 1052 =
    // 380.2 kbit/s. After t seconds the last packet is t * (450 / 380.2 - 1) = 0.1835 t
    // behind; with p seconds of buffer packets are late that were written after
    // p / 0.1835, of those whose turn comes within 100 s.
    for (share, pre_buffer_s) in late.iter().zip([2.0_f64, 5.0]) {
        let watched_s = 100.0 - pre_buffer_s;
        let expected = 1.0 - pre_buffer_s / 0.1835 / watched_s;
        let seen = share.late_pkts as f64 / share.due_pkts as f64;
        assert!(
            (seen - expected).abs() < 0.005,
            "{pre_buffer_s}: {seen} {expected}"
        );
    }
    assert_eq!((late[2].due_pkts, late[2].late_pkts), (0, 0));
}

#[test]
fn packets_count_where_their_turn_is() {
    let mut scenario = scenario(1_000, &[1_000, 10]);
    let interval = |from, to| Interval {
        name: format!("{from}-{to}"),
        from: Nanos::from_secs(from),
        to: Nanos::from_secs(to),
    };
    scenario.intervals = vec![interval(0, 10), interval(10, 20)];
    scenario.flows[0].stop = Some(Nanos::from_secs(15));
    let (first, second) = (late(&scenario, 0), late(&scenario, 1));
    // From 1 s to 10 s: 9 * 56.25 = 506.25; until 16 s 337.5 more, 843.75 together.
    assert_eq!((first[0].due_pkts, second[0].due_pkts), (507, 844 - 507));
    assert_eq!(first[0].late_pkts + second[0].late_pkts, 0);
    assert_eq!(second[1].late_pkts, second[1].due_pkts);
}

#[test]
fn everything_is_late_after_the_connection_broke() {
    let mut scenario = scenario(1_000, &[1_000]);
    // The link sends for two seconds, and then not for longer than any sender waits.
    let mut times: Vec<u64> = (1..=2_000).map(|ms| ms * 1_000_000).collect();
    times.push(3_000_000_000_000);
    scenario.links[0].spec.capacity = Capacity::Trace(Trace::try_from(times).unwrap());
    scenario.duration = Nanos::from_secs(3_500);
    scenario.intervals[0].to = scenario.duration;
    let Traffic::Video(video) = &mut scenario.flows[0].traffic else {
        panic!("not a video");
    };
    // A packet each second.
    video.rate = Rate::from_bits_per_s(8_000).unwrap();
    let late = late(&scenario, 0)[0];
    // The first two came in time; there is one per second from 1 s to 3500 s.
    assert_eq!((late.due_pkts, late.late_pkts), (3_499, 3_497));
}
