// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several packets in one transmission.
use super::*;
use ebb_link::Aggregation;

/// 10 Mbit/s in transmissions of 3 ms and three packets at the most, 0.5 ms before each.
fn wireless() -> LinkSpec {
    LinkSpec {
        aggregation: Some(Aggregation {
            overhead: Nanos::from_micros(500),
            airtime: Nanos::from_millis(3),
            max_pkts: 3,
        }),
        delay: Nanos::ZERO,
        ..home_link(QueueLimit::Packets(100))
    }
}

fn due_us(deliveries: &[Delivery<u32>]) -> Vec<u64> {
    let us = |delivery: &Delivery<u32>| delivery.due.0 / 1_000;
    deliveries.iter().map(us).collect()
}

#[test]
fn what_waits_is_sent_in_one_and_arrives_as_a_whole() {
    let mut link = Link::new(&wireless(), 1).unwrap();
    for number in 0..8 {
        link.enqueue(Nanos::ZERO, full(Class::BestEffort, number))
            .unwrap();
    }
    assert_eq!((link.queue_pkts(), link.len_pkts()), (7, 8));
    let deliveries = drain(&mut link);
    assert_eq!(numbers(&deliveries), [0, 1, 2, 3, 4, 5, 6, 7]);
    // The first found the link idle and goes alone: 0.5 + 1.2 ms. Then three, as many as it
    // takes: 0.5 + 3.6 ms. Again three, and the last alone.
    let expected = [1_700, 5_800, 5_800, 5_800, 9_900, 9_900, 9_900, 11_600];
    assert_eq!(due_us(&deliveries), expected);
    // A packet waits until its transmission begins, with all that are in it.
    assert_eq!(deliveries[3].sent_from, Nanos::from_micros(1_700));
    assert_eq!(link.statistics().total().waiting.count, 8);
}

#[test]
fn no_packet_is_added_after_the_airtime_or_the_number() {
    for (airtime_us, max_pkts, expected) in [
        (1_200, 64, vec![1_700, 3_400, 5_100, 6_800]),
        (1_201, 64, vec![1_700, 4_600, 4_600, 6_300]),
        (9_000, 2, vec![1_700, 4_600, 4_600, 6_300]),
        (9_000, 64, vec![1_700, 5_800, 5_800, 5_800]),
    ] {
        let aggregation = Aggregation {
            overhead: Nanos::from_micros(500),
            airtime: Nanos::from_micros(airtime_us),
            max_pkts,
        };
        let spec = LinkSpec {
            aggregation: Some(aggregation),
            ..wireless()
        };
        let mut link = Link::new(&spec, 1).unwrap();
        for number in 0..4 {
            link.enqueue(Nanos::ZERO, full(Class::BestEffort, number))
                .unwrap();
        }
        assert_eq!(
            due_us(&drain(&mut link)),
            expected,
            "{airtime_us} {max_pkts}"
        );
    }
}

#[test]
fn what_comes_during_a_transmission_waits_for_the_next() {
    let mut link = Link::new(&wireless(), 1).unwrap();
    for (at_us, number) in [(0, 0), (1_699, 1), (1_701, 2), (2_000, 3)] {
        let at = Nanos::from_micros(at_us);
        link.enqueue(at, full(Class::BestEffort, number)).unwrap();
    }
    assert_eq!(due_us(&drain(&mut link)), [1_700, 3_400, 6_300, 6_300]);
}
