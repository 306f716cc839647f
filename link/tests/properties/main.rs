// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds on any link, whatever comes.
mod specs;

use ebb_link::{
    Capacity, Class, Delivery, DropCause, Dropped, Ecn, Link, LinkSpec, Nanos, Packet, QueueLimit,
    QueueSpec, Rate,
};
use proptest::prelude::*;

use specs::{capacity, limit, simple_queue, spec};

/// A packet that is offered: time since the one before it (µs), size, class, ECN, flow.
type Arrival = (u64, u32, bool, Ecn, u32);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = (
        0_u64..5_000,
        20_u32..1_501,
        any::<bool>(),
        prop::sample::select(&[Ecn::NotCapable, Ecn::Capable, Ecn::L4s][..]),
        0_u32..12,
    );
    prop::collection::vec(arrival, 1..200)
}

fn packet(arrival: &Arrival, payload: usize) -> Packet<usize> {
    let &(_, size_bytes, is_less, ecn, flow) = arrival;
    Packet::new(size_bytes, Class::ALL[usize::from(is_less)], payload)
        .with_ecn(ecn)
        .with_flow(flow)
        .with_hosts([flow as u16 % 3, flow as u16 % 2])
}

fn is_within(link: &Link<usize>, queue: &QueueSpec) -> bool {
    let holds = |limit: QueueLimit, bytes: u64, packets: usize| match limit {
        QueueLimit::Packets(limit) => packets as u64 <= limit,
        QueueLimit::Bytes(limit) => bytes <= limit,
    };
    match *queue {
        // Packets are only known of both together; bytes of each.
        QueueSpec::StrictPriority {
            best_effort,
            less_than_best_effort,
        } => {
            let bytes_hold = |limit, class| match limit {
                QueueLimit::Bytes(limit) => link.queue_bytes(class) <= limit,
                QueueLimit::Packets(limit) => link.queue_bytes(class) <= limit * 1_500,
            };
            bytes_hold(best_effort, Class::BestEffort)
                && bytes_hold(less_than_best_effort, Class::LessThanBestEffort)
        }
        ref one => holds(
            one.limit(),
            link.queue_bytes(Class::BestEffort),
            link.queue_pkts(),
        ),
    }
}

/// What one run gave: packets handed back, packets dropped inside, packets delivered.
type Outcome = (Vec<usize>, Vec<Dropped<usize>>, Vec<Delivery<usize>>);

/// Offers all arrivals, and polls each `poll_every` of them.
fn run(spec: &LinkSpec, seed: u64, arrivals: &[Arrival], poll_every: usize) -> Outcome {
    let mut link = Link::new(spec, seed).unwrap();
    link.keep_dropped();
    let (mut rejected, mut delivered) = (Vec::new(), Vec::new());
    let mut now = Nanos::ZERO;
    for (number, arrival) in arrivals.iter().enumerate() {
        now += Nanos::from_micros(arrival.0);
        if let Err(back) = link.enqueue(now, packet(arrival, number)) {
            rejected.push(back.0.payload);
        }
        if number % poll_every == 0 {
            delivered.extend(std::iter::from_fn(|| link.poll(now)));
        }
    }
    while let Some(deadline) = link.next_deadline() {
        delivered.extend(std::iter::from_fn(|| link.poll(deadline)));
    }
    let dropped = std::iter::from_fn(|| link.next_dropped()).collect();
    (rejected, dropped, delivered)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_delivered_on_time_or_accounted_for(
        spec in spec(),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let mut link = Link::new(&spec, seed).unwrap();
        let delays = spec.reroutes.iter().map(|route| route.delay);
        let least_delay = delays.fold(spec.delay, Nanos::min);
        let mut now = Nanos::ZERO;
        let mut last_due = Nanos::ZERO;
        let mut check = |link: &mut Link<usize>, now| {
            while let Some(delivery) = link.poll(now) {
                prop_assert!(delivery.due <= now && delivery.due >= last_due);
                prop_assert!(delivery.sent_from >= delivery.queued_at);
                prop_assert!(delivery.due >= delivery.sent_from + least_delay);
                last_due = delivery.due;
            }
            prop_assert!(link.next_deadline().is_none_or(|deadline| deadline > now));
            Ok(())
        };
        for (number, arrival) in arrivals.iter().enumerate() {
            now += Nanos::from_micros(arrival.0);
            let _ = link.enqueue(now, packet(arrival, number));
            prop_assert!(is_within(&link, &spec.queue));
            check(&mut link, now)?;
        }
        while let Some(deadline) = link.next_deadline() {
            check(&mut link, deadline)?;
        }
        let total = link.statistics().total();
        prop_assert_eq!(total.offered_pkts, arrivals.len() as u64);
        prop_assert_eq!(
            total.delivered_pkts + total.lost_pkts + total.dropped_pkts,
            total.offered_pkts + total.duplicated_pkts
        );
        prop_assert_eq!(total.waiting.count, total.offered_pkts - total.dropped_pkts);
        prop_assert!(total.early_dropped_pkts <= total.dropped_pkts);
        prop_assert_eq!(link.len_pkts(), 0);
        let capable = arrivals.iter().filter(|arrival| arrival.3.is_markable()).count();
        prop_assert!(total.marked_pkts <= capable as u64);
    }

    #[test]
    fn packets_that_are_dropped_are_handed_out_once_and_no_others(
        spec in spec(),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let (rejected, dropped, delivered) = run(&spec, seed, &arrivals, 1);
        let mut seen: Vec<usize> = delivered.iter().map(|one| one.packet.payload).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.extend(rejected);
        seen.extend(dropped.iter().map(|one| one.packet.payload));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrivals.len()).collect::<Vec<_>>());
        let is_simple = matches!(
            spec.queue,
            QueueSpec::DropTail(_) | QueueSpec::StrictPriority { .. }
        );
        prop_assert!(!is_simple || dropped.iter().all(|one| one.cause == DropCause::Lost));
    }

    #[test]
    fn equal_seeds_give_equal_packets_however_often_the_link_is_polled(
        spec in spec(),
        arrivals in arrivals(),
        seed: u64,
        poll_every in 2_usize..50,
    ) {
        let (rejected, dropped, delivered) = run(&spec, seed, &arrivals, 1);
        let seldom = run(&spec, seed, &arrivals, poll_every);
        prop_assert_eq!(&rejected, &seldom.0);
        prop_assert_eq!(&dropped, &seldom.1);
        prop_assert_eq!(&delivered, &seldom.2);
    }

    #[test]
    fn occupancy_is_the_sum_of_all_waiting_times_over_time(
        queue in simple_queue(),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let capacity = Capacity::Rate(Rate::from_mbit_per_s(3));
        let spec = LinkSpec { queue, capacity, ..LinkSpec::default() };
        let mut link = Link::new(&spec, seed).unwrap();
        let mut now = Nanos::ZERO;
        for (number, arrival) in arrivals.iter().enumerate() {
            now += Nanos::from_micros(arrival.0);
            let _ = link.enqueue(now, packet(arrival, number));
        }
        while let Some(deadline) = link.next_deadline() {
            now = deadline;
            while link.poll(now).is_some() {}
        }
        // Little's law, exact once the queue is empty.
        let occupancy = link.occupancy(now);
        let waited_ns = link.statistics().total().waiting.sum_ns as f64;
        let integral = occupancy.mean_pkts() * occupancy.duration().0 as f64;
        prop_assert!((integral - waited_ns).abs() <= 1e-9 * waited_ns + 1.0);
        prop_assert!(occupancy.mean_pkts() <= occupancy.max_pkts() as f64);
        prop_assert!(occupancy.mean_bytes() <= occupancy.max_bytes() as f64);
    }

    #[test]
    fn plain_links_do_the_same_by_their_short_cut(
        capacity in capacity(),
        limit in limit(),
        threshold in prop::option::of(limit()),
        delay_us in 0_u64..20_000,
        arrivals in arrivals(),
    ) {
        let ecn_threshold = threshold.filter(|_| capacity != Capacity::Unlimited);
        let delay = Nanos::from_micros(delay_us);
        let queue = QueueSpec::DropTail(limit);
        let plain = LinkSpec { capacity, queue, ecn_threshold, delay, ..LinkSpec::default() };
        // One class only has the strict priorities for itself, the long way.
        let queue = QueueSpec::StrictPriority { best_effort: limit, less_than_best_effort: limit };
        let long = LinkSpec { queue, ..plain.clone() };
        let mut links = [plain, long].map(|spec| Link::new(&spec, 1).unwrap());
        let mut now = Nanos::ZERO;
        for (number, arrival) in arrivals.iter().enumerate() {
            now += Nanos::from_micros(arrival.0);
            let mut packet = packet(arrival, number);
            packet.class = Class::BestEffort;
            let [plain, long] = links.each_mut().map(|link| {
                let result = link.enqueue(now, packet);
                let next = (number % 3 == 0).then(|| link.poll(now));
                (result, next, link.queue_pkts(), link.len_pkts(), link.occupancy(now))
            });
            prop_assert_eq!(plain, long);
        }
        let [plain, long] = links.map(|mut link| {
            let mut delivered = Vec::new();
            while let Some(deadline) = link.next_deadline() {
                delivered.extend(std::iter::from_fn(|| link.poll(deadline)));
                now = now.max(deadline);
            }
            (delivered, *link.statistics(), link.occupancy(now))
        });
        prop_assert_eq!(plain, long);
    }
}
