// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a link does to packets, with worked arithmetic.
use ebb_link::{
    Capacity, Class, Delivery, Ecn, Link, LinkSpec, Nanos, Packet, Probability, QueueLimit,
    QueueSpec, Rate, Reroute, Trace,
};

/// 1500 bytes at 10 Mbit/s: 12 000 bits / 10^7 bits/s.
const FULL_NS: u64 = 1_200_000;
const DELAY_NS: u64 = 50_000_000;

fn home_link(limit: QueueLimit) -> LinkSpec {
    LinkSpec::drop_tail(Rate::from_mbit_per_s(10), Nanos(DELAY_NS), limit)
}

fn full(class: Class, number: u32) -> Packet<u32> {
    Packet::new(1_500, class, number)
}

/// Everything that comes out at the deadlines that the link names.
fn drain(link: &mut Link<u32>) -> Vec<Delivery<u32>> {
    let mut deliveries = Vec::new();
    while let Some(deadline) = link.next_deadline() {
        deliveries.extend(std::iter::from_fn(|| link.poll(deadline)));
    }
    deliveries
}

fn numbers(deliveries: &[Delivery<u32>]) -> Vec<u32> {
    deliveries
        .iter()
        .map(|delivery| delivery.packet.payload)
        .collect()
}

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

fn delay_only(spec: LinkSpec) -> LinkSpec {
    LinkSpec {
        delay: Nanos(DELAY_NS),
        ..spec
    }
}

/// Sends so many packets, one per millisecond, dropped ones included.
fn send_steadily(link: &mut Link<u32>, packets: u32) -> Vec<Delivery<u32>> {
    let mut deliveries = Vec::new();
    for number in 0..packets {
        let now = Nanos::from_millis(u64::from(number));
        let _ = link.enqueue(now, full(Class::BestEffort, number));
        deliveries.extend(std::iter::from_fn(|| link.poll(now)));
    }
    deliveries.extend(drain(link));
    deliveries
}

#[test]
fn loses_the_share_of_packets_that_it_is_told_to() {
    let spec = LinkSpec {
        loss: Probability::new(0.02).unwrap(),
        ..LinkSpec::default()
    };
    let mut link = Link::new(&spec, 0xebb).unwrap();
    let delivered = send_steadily(&mut link, 100_000).len() as i64;
    let lost = link.statistics().total().lost_pkts as i64;
    assert_eq!(delivered + lost, 100_000);
    // Binomial: 2000 expected, sigma = sqrt(100 000 * 0.02 * 0.98) = 44.3; 5 sigma.
    assert!((lost - 2_000).abs() < 222, "{lost}");
}

#[test]
fn jitter_keeps_the_order_unless_it_may_reorder() {
    let jitter = Nanos::from_millis(5);
    let mut spec = delay_only(LinkSpec {
        jitter,
        ..LinkSpec::default()
    });
    for jitter_reorders in [false, true] {
        spec.jitter_reorders = jitter_reorders;
        let mut link = Link::new(&spec, 0xebb).unwrap();
        let deliveries = send_steadily(&mut link, 2_000);
        let order = numbers(&deliveries);
        assert_eq!(order.is_sorted(), !jitter_reorders);
        let added = deliveries
            .iter()
            .map(|delivery| delivery.due.0 - delivery.queued_at.0 - DELAY_NS);
        let added: Vec<u64> = added.collect();
        assert!(
            added.iter().all(|added| *added <= jitter.0),
            "held order adds nothing on top"
        );
        let mean_ns = added.iter().sum::<u64>() as f64 / 2_000.0;
        if jitter_reorders {
            // Uniform from 0 to 5 ms: mean 2.5 ms, sigma of it 5 / sqrt(12 * 2000) ms.
            assert!((mean_ns - 2.5e6).abs() < 5.0 * 32_275.0, "{mean_ns}");
        }
    }
}

#[test]
fn a_reroute_changes_the_delay_and_a_shorter_way_lets_packets_overtake() {
    let reroute = |at_ms, delay_ms| Reroute {
        at: Nanos::from_millis(at_ms),
        delay: Nanos::from_millis(delay_ms),
    };
    let spec = LinkSpec {
        delay: Nanos::from_millis(50),
        reroutes: vec![reroute(10, 80), reroute(20, 55)],
        ..LinkSpec::default()
    };
    let mut link = Link::new(&spec, 1).unwrap();
    for (number, at_ms) in [(0, 0), (1, 9), (2, 10), (3, 19), (4, 20), (5, 44), (6, 45)] {
        let packet = full(Class::BestEffort, number);
        link.enqueue(Nanos::from_millis(at_ms), packet).unwrap();
    }
    let arrivals: Vec<_> = drain(&mut link)
        .iter()
        .map(|delivery| (delivery.packet.payload, delivery.due.0 / 1_000_000))
        .collect();
    // On the ways of 50, 80 and 55 ms; those on the shorter overtake those on the longer.
    let expected = [
        (0, 50),
        (1, 59),
        (4, 75),
        (2, 90),
        (3, 99),
        (5, 99),
        (6, 100),
    ];
    assert_eq!(arrivals, expected);
}

#[test]
fn reordered_packets_come_later_and_others_overtake() {
    let reorder = Probability::new(0.1).unwrap();
    let reorder_delay = Nanos(3_500_000);
    let spec = delay_only(LinkSpec {
        reorder,
        reorder_delay,
        ..LinkSpec::default()
    });
    let mut link = Link::new(&spec, 0xebb).unwrap();
    let deliveries = send_steadily(&mut link, 10_000);
    let delays = deliveries
        .iter()
        .map(|delivery| delivery.due.since(delivery.queued_at).0);
    let late = delays
        .clone()
        .filter(|delay| *delay == DELAY_NS + 3_500_000)
        .count();
    let right = delays.filter(|delay| *delay == DELAY_NS).count();
    assert_eq!(
        late + right,
        10_000,
        "held back or not, but nothing between"
    );
    assert_eq!(late as u64, link.statistics().total().reordered_pkts);
    // 1000 expected, sigma 30; 5 sigma.
    assert!(late.abs_diff(1_000) < 150, "{late}");
    assert!(!numbers(&deliveries).is_sorted());
}

#[test]
fn duplicates_arrive_together_with_their_originals() {
    let spec = delay_only(LinkSpec {
        duplicate: Probability::ALWAYS,
        ..LinkSpec::default()
    });
    let mut link = Link::new(&spec, 1).unwrap();
    assert_eq!(numbers(&send_steadily(&mut link, 3)), [0, 0, 1, 1, 2, 2]);
    let counted = link.statistics().total();
    assert_eq!(
        (
            counted.offered_pkts,
            counted.delivered_pkts,
            counted.duplicated_pkts
        ),
        (3, 6, 3)
    );
}

fn everything_at_once() -> LinkSpec {
    LinkSpec {
        jitter: Nanos::from_millis(3),
        loss: Probability::new(0.1).unwrap(),
        reorder: Probability::new(0.1).unwrap(),
        reorder_delay: Nanos::from_millis(2),
        duplicate: Probability::new(0.1).unwrap(),
        ..home_link(QueueLimit::Packets(20))
    }
}

#[test]
fn equal_seeds_give_equal_packets_and_others_do_not() {
    let run = |seed| send_steadily(&mut Link::new(&everything_at_once(), seed).unwrap(), 500);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn one_impairment_does_not_change_the_dice_of_another() {
    let lost = |spec: &LinkSpec| {
        let mut numbers = numbers(&send_steadily(&mut Link::new(spec, 7).unwrap(), 500));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let all = everything_at_once();
    let only_loss = LinkSpec {
        jitter: Nanos::ZERO,
        reorder: Probability::NEVER,
        duplicate: Probability::NEVER,
        ..all.clone()
    };
    assert_eq!(lost(&all), lost(&only_loss));
}

#[test]
fn polling_often_or_seldom_gives_the_same() {
    let mut often = Link::new(&everything_at_once(), 3).unwrap();
    let mut seldom = Link::new(&everything_at_once(), 3).unwrap();
    let mut from_often = Vec::new();
    for step in 0..5_000 {
        let now = Nanos(step * 100_000);
        if step % 10 == 0 {
            let packet = full(Class::BestEffort, step as u32);
            let _ = often.enqueue(now, packet);
            let _ = seldom.enqueue(now, packet);
        }
        from_often.extend(std::iter::from_fn(|| often.poll(now)));
    }
    from_often.extend(drain(&mut often));
    assert_eq!(from_often, drain(&mut seldom));
}
