// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use ebb_scenario::{ApplicationMeasure, Call, Distribution, Interval, Scenario, Traffic};

use crate::{between_two_hosts, outcome, seen};

/// 200 bytes each 20 ms for ten seconds, late after 150 ms.
fn call(is_two_way: bool) -> Traffic {
    Traffic::Call(Call {
        interval: Nanos::from_millis(20),
        packet_bytes: 200,
        is_two_way,
        late_after: Nanos::from_millis(150),
    })
}

fn ten_seconds(there: LinkSpec, back: LinkSpec, is_two_way: bool) -> Scenario {
    // A millisecond less than ten seconds: the packet of that instant is not sent.
    let length = Nanos::from_millis(9_999);
    between_two_hosts(there, back, call(is_two_way), length)
}

/// 1 Mbit/s: 200 bytes take 1.6 ms.
fn link(delay_ms: u64) -> LinkSpec {
    let rate = Rate::from_mbit_per_s(1);
    LinkSpec::drop_tail(rate, Nanos::from_millis(delay_ms), QueueLimit::Packets(10))
}

struct Heard {
    delay_ms: Distribution,
    sent_pkts: u64,
    lost_pkts: u64,
    late_pkts: u64,
}

fn heard(scenario: &Scenario, interval: usize) -> Heard {
    match seen(&outcome(scenario), interval) {
        ApplicationMeasure::Call {
            delay_ms,
            sent_pkts,
            lost_pkts,
            late_pkts,
        } => Heard {
            delay_ms,
            sent_pkts,
            lost_pkts,
            late_pkts,
        },
        other => panic!("not a call: {other:?}"),
    }
}

#[test]
fn sends_a_packet_each_interval_and_hears_it_after_the_path() {
    let heard = heard(&ten_seconds(link(30), link(30), false), 0);
    assert_eq!(
        (heard.sent_pkts, heard.lost_pkts, heard.late_pkts),
        (500, 0, 0)
    );
    assert_eq!(
        heard.delay_ms.count,
        500 - 1,
        "the last is on its way still"
    );
    assert!((heard.delay_ms.min - 31.6).abs() < 1e-9);
    assert!((heard.delay_ms.max - 31.6).abs() < 1e-9);
}

#[test]
fn both_sides_talk_in_a_call_and_each_way_counts() {
    let heard = heard(&ten_seconds(link(30), link(198), true), 0);
    assert_eq!(heard.sent_pkts, 1_000);
    // 199.6 ms back: all of that way are late, but for ten that had not arrived.
    assert!((heard.delay_ms.max - 199.6).abs() < 1e-9);
    assert_eq!(heard.late_pkts, 500 - 10);
    assert_eq!(heard.delay_ms.count, 1_000 - 1 - 10);
    assert_eq!(heard.lost_pkts, 0);
}

#[test]
fn counts_what_the_path_loses() {
    let lossy = LinkSpec {
        loss: Probability::new(0.1).unwrap(),
        ..link(10)
    };
    let heard = heard(&ten_seconds(lossy, link(10), false), 0);
    assert_eq!(heard.lost_pkts + heard.delay_ms.count, heard.sent_pkts);
    // 50 of 500 expected, sigma 6.7; 5 sigma.
    assert!(heard.lost_pkts.abs_diff(50) < 34, "{}", heard.lost_pkts);
}

#[test]
fn counts_packets_by_the_interval_in_which_they_were_sent() {
    let mut scenario = ten_seconds(link(30), link(30), false);
    let interval = |from, to| Interval {
        name: format!("{from}-{to}"),
        from: Nanos::from_secs(from),
        to: Nanos::from_secs(to),
    };
    scenario.intervals = vec![interval(0, 2), interval(1, 4)];
    scenario.flows[0].stop = Some(Nanos::from_secs(3));
    assert_eq!(heard(&scenario, 0).sent_pkts, 100);
    // From 1 s until it hangs up at 3 s.
    assert_eq!(heard(&scenario, 1).sent_pkts, 100);
    assert_eq!(heard(&scenario, 1).delay_ms.count, 100);
}
