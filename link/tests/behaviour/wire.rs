// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens on the way: loss, delay, other orders, duplicates.
use ebb_link::{Class, Delivery, Link, LinkSpec, Nanos, Probability, QueueLimit, Reroute};

use crate::{DELAY_NS, drain, full, home_link, numbers};

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
