// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds on any link, whatever comes.
use ebb_link::{
    Capacity, Class, Ecn, Link, LinkSpec, Nanos, Packet, Probability, QueueLimit, QueueSpec, Rate,
    Trace,
};
use proptest::prelude::*;

fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|number| Probability::new(number).unwrap())
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1_u64..50).prop_map(QueueLimit::Packets),
        (1_u64..50_000).prop_map(QueueLimit::Bytes),
    ]
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let rate = (1_000_u64..10_000_000_000).prop_map(|rate| Rate::from_bits_per_s(rate).unwrap());
    let times = prop::collection::vec(0_u64..50_000_000, 1..20).prop_map(|mut times| {
        times.push(60_000_000);
        times.sort_unstable();
        Trace::try_from(times).unwrap()
    });
    prop_oneof![
        Just(Capacity::Unlimited),
        rate.prop_map(Capacity::Rate),
        times.prop_map(Capacity::Trace)
    ]
}

fn queue() -> impl Strategy<Value = QueueSpec> {
    prop_oneof![
        limit().prop_map(QueueSpec::DropTail),
        (limit(), limit()).prop_map(|(best_effort, less_than_best_effort)| {
            QueueSpec::StrictPriority {
                best_effort,
                less_than_best_effort,
            }
        }),
    ]
}

prop_compose! {
    fn spec()(
        capacity in capacity(),
        queue in queue(),
        delay_us in 0_u64..100_000,
        jitter_us in 1_u64..20_000,
        jitter_reorders: bool,
        loss in probability(),
        reorder in probability(),
        duplicate in probability(),
    ) -> LinkSpec {
        LinkSpec {
            capacity,
            queue,
            ecn_threshold: None,
            delay: Nanos::from_micros(delay_us),
            jitter: Nanos::from_micros(jitter_us),
            jitter_reorders,
            loss,
            reorder,
            reorder_delay: Nanos::from_millis(5),
            duplicate,
        }
    }
}

/// Time since the packet before it (µs), size, class.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, bool)>> {
    prop::collection::vec((0_u64..5_000, 20_u32..1_501, any::<bool>()), 1..200)
}

fn is_within(link: &Link<usize>, queue: &QueueSpec) -> bool {
    let holds = |limit: QueueLimit, bytes: u64, packets: usize| match limit {
        QueueLimit::Packets(limit) => packets as u64 <= limit,
        QueueLimit::Bytes(limit) => bytes <= limit,
    };
    match *queue {
        QueueSpec::DropTail(limit) => holds(
            limit,
            link.queue_bytes(Class::BestEffort),
            link.queue_pkts(),
        ),
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
    }
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
        let mut now = Nanos::ZERO;
        let mut last_due = Nanos::ZERO;
        let mut check = |link: &mut Link<usize>, now| {
            while let Some(delivery) = link.poll(now) {
                prop_assert!(delivery.due <= now && delivery.due >= last_due);
                prop_assert!(delivery.sent_from >= delivery.queued_at);
                prop_assert!(delivery.due >= delivery.sent_from + spec.delay);
                last_due = delivery.due;
            }
            prop_assert!(link.next_deadline().is_none_or(|deadline| deadline > now));
            Ok(())
        };
        for (number, (gap_us, size_bytes, is_less)) in arrivals.iter().enumerate() {
            now += Nanos::from_micros(*gap_us);
            let class = Class::ALL[usize::from(*is_less)];
            let ecn = Ecn::NotCapable;
            let _ = link.enqueue(now, Packet { size_bytes: *size_bytes, class, ecn, flow: 0, payload: number });
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
        prop_assert_eq!(link.len_pkts(), 0);
    }
}
