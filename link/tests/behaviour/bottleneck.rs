// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queues, and what empties them.
use ebb_link::{
    Capacity, Class, Delivery, Ecn, Link, LinkSpec, Nanos, Packet, QueueLimit, QueueSpec, Rate,
    Trace,
};

use crate::{DELAY_NS, FULL_NS, drain, full, home_link, numbers};

#[test]
fn serialises_one_packet_after_the_other_and_then_delays() {
    let mut link = Link::new(&home_link(QueueLimit::Packets(86)), 1).unwrap();
    for number in 0..3 {
        link.enqueue(Nanos(7), full(Class::BestEffort, number))
            .unwrap();
    }
    let deliveries = drain(&mut link);
    for (number, delivery) in (0..).zip(&deliveries) {
        assert_eq!(delivery.queued_at, Nanos(7));
        assert_eq!(delivery.sent_from, Nanos(7 + number * FULL_NS));
        assert_eq!(delivery.waited(), Nanos(number * FULL_NS));
        assert_eq!(delivery.due, Nanos(7 + (number + 1) * FULL_NS + DELAY_NS));
    }
    let waiting = link.statistics().class(Class::BestEffort).waiting;
    assert_eq!(
        (waiting.count, waiting.sum_ns, waiting.max_ns),
        (3, 3 * FULL_NS, 2 * FULL_NS)
    );
    assert_eq!(waiting.mean_ns(), Some(FULL_NS as f64));
}

#[test]
fn gives_nothing_before_it_is_due() {
    let mut link = Link::new(&home_link(QueueLimit::Packets(86)), 1).unwrap();
    assert_eq!(link.next_deadline(), None);
    link.enqueue(Nanos::ZERO, full(Class::BestEffort, 0))
        .unwrap();
    let due = Nanos(FULL_NS + DELAY_NS);
    assert_eq!(link.next_deadline(), Some(due));
    assert_eq!(link.poll(Nanos(due.0 - 1)), None);
    assert_eq!(link.poll(due).unwrap().due, due);
    assert_eq!((link.next_deadline(), link.len_pkts()), (None, 0));
}

#[test]
fn does_not_drift_at_a_rate_that_does_not_divide() {
    // 1000 bytes at 3 Mbit/s take 8000/3 µs = 2 666 666.6… ns: 3000 of them 8 s.
    let rate = Rate::from_mbit_per_s(3);
    let spec = LinkSpec::drop_tail(rate, Nanos::ZERO, QueueLimit::Packets(3_000));
    let mut link = Link::new(&spec, 1).unwrap();
    for number in 0..3_000 {
        link.enqueue(Nanos::ZERO, Packet::new(1_000, Class::BestEffort, number))
            .unwrap();
    }
    let deliveries = drain(&mut link);
    assert_eq!(deliveries[0].due, Nanos(2_666_666));
    assert_eq!(deliveries[1].due, Nanos(5_333_333));
    assert_eq!(deliveries[2_999].due, Nanos::from_secs(8));
}

#[test]
fn queue_of_packets_drops_what_comes_beyond_its_limit() {
    let mut link = Link::new(&home_link(QueueLimit::Packets(86)), 1).unwrap();
    for number in 0..100 {
        let result = link.enqueue(Nanos::ZERO, full(Class::BestEffort, number));
        // One is being sent, 86 wait; the others come back to the caller.
        assert_eq!(result.is_ok(), number < 87);
        if let Err(rejected) = result {
            assert_eq!(rejected.0.payload, number);
        }
        assert!(link.queue_pkts() <= 86);
    }
    let counted = *link.statistics().class(Class::BestEffort);
    assert_eq!((counted.offered_pkts, counted.dropped_pkts), (100, 13));
    assert_eq!(numbers(&drain(&mut link)), (0..87).collect::<Vec<_>>());
}

#[test]
fn queue_of_bytes_takes_small_packets_where_large_ones_do_not_fit() {
    let mut link = Link::new(&home_link(QueueLimit::Bytes(4_000)), 1).unwrap();
    for number in 0..3 {
        link.enqueue(Nanos::ZERO, full(Class::BestEffort, number))
            .unwrap();
    }
    // 3000 of 4000 bytes wait.
    assert_eq!(link.queue_bytes(Class::BestEffort), 3_000);
    link.enqueue(Nanos::ZERO, full(Class::BestEffort, 3))
        .unwrap_err();
    link.enqueue(Nanos::ZERO, Packet::new(1_000, Class::BestEffort, 4))
        .unwrap();
    link.enqueue(Nanos::ZERO, Packet::new(1, Class::BestEffort, 5))
        .unwrap_err();
    assert_eq!(numbers(&drain(&mut link)), [0, 1, 2, 4]);
}

#[test]
fn strict_priority_sends_best_effort_first_but_interrupts_nothing() {
    let limit = QueueLimit::Packets(86);
    let spec = LinkSpec::strict_priority(Rate::from_mbit_per_s(10), Nanos(DELAY_NS), limit);
    let mut link = Link::new(&spec, 1).unwrap();
    for number in 0..3 {
        link.enqueue(Nanos::ZERO, full(Class::LessThanBestEffort, number))
            .unwrap();
    }
    // In the middle of the first packet, and at the very end of the second one's turn.
    for (time, number) in [(FULL_NS / 2, 10), (FULL_NS / 2, 11), (3 * FULL_NS, 12)] {
        link.enqueue(Nanos(time), full(Class::BestEffort, number))
            .unwrap();
    }
    // At 3 * FULL_NS the packets 0, 10, 11 are sent, and 1 has begun in that instant.
    let deliveries = drain(&mut link);
    assert_eq!(numbers(&deliveries), [0, 10, 11, 1, 12, 2]);
    let waited: Vec<u64> = deliveries
        .iter()
        .map(|delivery| delivery.waited().0)
        .collect();
    let half = FULL_NS / 2;
    assert_eq!(
        waited,
        [0, half, 3 * half, 3 * FULL_NS, FULL_NS, 5 * FULL_NS]
    );
}

#[test]
fn strict_priority_limits_each_class_by_itself() {
    let queue = QueueSpec::StrictPriority {
        best_effort: QueueLimit::Packets(2),
        less_than_best_effort: QueueLimit::Packets(4),
    };
    let spec = LinkSpec {
        queue,
        ..home_link(QueueLimit::Packets(1))
    };
    let mut link = Link::new(&spec, 1).unwrap();
    for number in 0..10 {
        for class in Class::ALL {
            let _ = link.enqueue(Nanos::ZERO, full(class, number));
        }
    }
    let dropped = |class| link.statistics().class(class).dropped_pkts;
    // The first packet of best effort is being sent.
    assert_eq!(dropped(Class::BestEffort), 10 - 1 - 2);
    assert_eq!(dropped(Class::LessThanBestEffort), 10 - 4);
    assert_eq!(link.queue_bytes(Class::LessThanBestEffort), 6_000);
    assert_eq!(link.statistics().total().dropped_pkts, 13);
}

#[test]
fn marks_capable_packets_above_the_threshold_and_no_others() {
    let ecn_threshold = Some(QueueLimit::Packets(2));
    let spec = LinkSpec {
        ecn_threshold,
        ..home_link(QueueLimit::Packets(86))
    };
    let mut link = Link::new(&spec, 1).unwrap();
    for number in 0..8 {
        let ecn = if number == 6 {
            Ecn::NotCapable
        } else {
            Ecn::Capable
        };
        let packet = Packet {
            ecn,
            ..full(Class::BestEffort, number)
        };
        link.enqueue(Nanos::ZERO, packet).unwrap();
    }
    let deliveries = drain(&mut link);
    let is_marked = |delivery: &&Delivery<u32>| delivery.packet.ecn == Ecn::Congested;
    let marked: Vec<_> = deliveries.iter().filter(is_marked).copied().collect();
    // 0 is being sent; 1, 2 and 3 find 0, 1 and 2 waiting; 4 finds 3: above 2.
    assert_eq!(numbers(&marked), [4, 5, 7]);
    assert_eq!(link.statistics().class(Class::BestEffort).marked_pkts, 3);
}

#[test]
fn follows_the_delivery_times_of_a_trace() {
    let trace = Trace::parse("cell", "5\n5\n20\n").unwrap();
    let delay = Nanos::from_millis(10);
    let capacity = Capacity::Trace(trace);
    let mut link = Link::new(
        &LinkSpec {
            capacity,
            delay,
            ..LinkSpec::default()
        },
        1,
    )
    .unwrap();
    let start = Nanos::from_secs(1_000);
    for number in 0..5 {
        link.enqueue(start, full(Class::BestEffort, number))
            .unwrap();
    }
    let due = drain(&mut link)
        .into_iter()
        .map(|delivery| delivery.due.since(start).0 / 1_000_000);
    assert_eq!(due.collect::<Vec<_>>(), [15, 15, 30, 35, 35]);
}
