// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::queue::testing::{dropped, full, keeping};
use crate::{Class, Ecn, Probability, QueueSpec};

const BITS_PER_S: Option<f64> = Some(10e6);

fn red(spec: &RedSpec) -> RedQueue<u32> {
    RedQueue::new(spec.into(), BITS_PER_S, 1)
}

/// A queue of 20 packets that forgets at once: the average is the queue.
fn immediate() -> RedSpec {
    RedSpec {
        limit: QueueLimit::Packets(100),
        min_threshold: QueueLimit::Packets(5),
        max_threshold: QueueLimit::Packets(15),
        max_probability: Probability::new(0.02).unwrap(),
        weight: 1.0,
        gentle: false,
        ..RedSpec::default()
    }
}

#[test]
fn averages_the_queue_that_packets_find() {
    let mut queue = red(&RedSpec {
        weight: 0.25,
        ..immediate()
    });
    let mut events = keeping();
    // The link is busy: nothing is popped in vain.
    queue.average.idle_since = None;
    let averages: Vec<f64> = (0..4)
        .map(|number| {
            queue.push(Nanos::ZERO, full(number), &mut events).unwrap();
            queue.average.value
        })
        .collect();
    // 0; 0.75 * 0 + 0.25 * 1; 0.75 * 0.25 + 0.25 * 2; 0.75 * 0.6875 + 0.25 * 3.
    assert_eq!(averages, [0.0, 0.25, 0.6875, 1.265_625]);
}

#[test]
fn decays_while_idle_as_if_typical_packets_found_it_empty() {
    let mut queue = red(&RedSpec {
        weight: 0.5,
        typical_packet_bytes: 500,
        ..immediate()
    });
    let mut events = keeping();
    queue.average.value = 8.0;
    queue.average.idle_since = None;
    assert!(queue.pop(Nanos::from_millis(1)).is_none());
    // 500 bytes at 10 Mbit/s take 0.4 ms: in 1.3 ms idle 3 whole ones; 8 * 0.5^3.
    let now = Nanos::from_micros(2_300);
    queue.push(now, full(0), &mut events).unwrap();
    assert_eq!(queue.average.value, 1.0);
    // Now the link is busy, and the next packet finds the first.
    queue.push(now, full(1), &mut events).unwrap();
    assert_eq!(queue.average.value, 1.0);
}

#[test]
fn takes_all_below_the_minimum_and_none_above_the_maximum() {
    let mut queue = red(&immediate());
    let mut events = keeping();
    for number in 0..60 {
        let found = queue.fifo.len_pkts();
        let result = queue.push(Nanos::ZERO, full(number), &mut events);
        match found {
            0..5 => assert!(result.is_ok()),
            15.. => assert!(result.is_err()),
            _ => {}
        }
    }
    assert_eq!(queue.fifo.len_pkts(), 15);
    let counted = events.statistics.total();
    assert_eq!(counted.dropped_pkts, counted.early_dropped_pkts);
}

/// Distances between chosen packets at a constant average in the middle.
fn gaps(seed: u64) -> Vec<u64> {
    let mut random = Stream::new(seed, Purpose::Red);
    let mut dice = EarlyDetection::new(immediate().curve());
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < 10_000 {
        gap += 1;
        if dice.is_chosen(10.0, 1_500, &mut random) {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

#[test]
fn gaps_between_marks_are_uniform_as_the_paper_has_it() {
    // p_b = 0.02 * (10 - 5) / (15 - 5) = 0.01. The packet after a mark has count 1,
    // hence gaps uniform on 1 to 1/p_b - 1 = 99: mean 50, variance (99^2 - 1) / 12.
    let gaps = &gaps(7)[1..];
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    let sigma = (9_800.0_f64 / 12.0).sqrt() / (gaps.len() as f64).sqrt();
    assert!((mean - 50.0).abs() < 5.0 * sigma, "{mean}");
    assert!(gaps.iter().all(|gap| (1..=99).contains(gap)));
    // 10 of 99 are at most 10.
    let small = gaps.iter().filter(|gap| **gap <= 10).count();
    assert!(small.abs_diff(1_000) < 150, "{small}");
}

#[test]
fn equal_seeds_choose_equal_packets() {
    assert_eq!(gaps(3), gaps(3));
    assert_ne!(gaps(3), gaps(4));
}

#[test]
fn gentle_rises_to_one_at_twice_the_maximum() {
    let curve = RedCurve {
        gentle: true,
        ..immediate().curve()
    };
    let probability = |average| EarlyDetection::new(curve).probability(average);
    assert_eq!(probability(4.9), None);
    assert_eq!(probability(15.0), Some(0.02));
    // 0.02 + 0.98 / 2.
    assert_eq!(probability(22.5), Some(0.51));
    assert_eq!(probability(30.0), Some(1.0));
}

#[test]
fn counts_bytes_and_spares_small_packets_with_thresholds_in_bytes() {
    let curve = RedCurve {
        min_threshold: QueueLimit::Bytes(1_000),
        max_threshold: QueueLimit::Bytes(31_000),
        max_probability: Probability::new(0.1).unwrap(),
        gentle: false,
    };
    let chosen = |size_bytes| {
        let mut random = Stream::new(5, Purpose::Red);
        let mut dice = EarlyDetection::new(curve);
        (0..100_000)
            .filter(|_| dice.is_chosen(16_000.0, size_bytes, &mut random))
            .count()
    };
    // p_b = 0.05: gaps of 1 to 19, one in 10; at 150 bytes, a tenth of the size,
    // p_b = 0.005: gaps of 1 to 199, one in 100.
    assert!(chosen(1_500).abs_diff(10_000) < 300, "{}", chosen(1_500));
    assert!(chosen(150).abs_diff(1_000) < 100, "{}", chosen(150));
    let mut queue = red(&RedSpec {
        weight: 1.0,
        min_threshold: QueueLimit::Bytes(20_000),
        max_threshold: QueueLimit::Bytes(30_000),
        ..immediate()
    });
    queue.average.idle_since = None;
    for number in 0..2 {
        queue
            .push(Nanos::ZERO, full(number), &mut keeping())
            .unwrap();
    }
    assert_eq!(queue.average.value, 1_500.0);
}

#[test]
fn tcp_lp_ecn_marks_its_own_class_above_the_threshold_and_no_other() {
    let QueueSpec::ClassRed(mut spec) = QueueSpec::tcp_lp_ecn(20, 0.15) else {
        panic!("not a queue with thresholds by class");
    };
    spec.weight = 1.0;
    let mut queue: RedQueue<u32> = RedQueue::new((&spec).into(), BITS_PER_S, 1);
    let mut events = keeping();
    let mut marked = Vec::new();
    for number in 0..30 {
        let class = Class::ALL[number as usize % 2];
        let packet = Packet::new(1_500, class, number).with_ecn(Ecn::Capable);
        let _ = queue.push(Nanos::ZERO, packet, &mut events);
    }
    while let Some(waiting) = queue.pop(Nanos::ZERO) {
        if waiting.packet.ecn == Ecn::Congested {
            marked.push(waiting.packet.payload);
        }
    }
    // delta * Q = 0.15 * 20 = 3 packets: number 3 finds 3, and is the first that is
    // marked; odd numbers are LBE. The queue overflows at 20 for both.
    assert_eq!(marked, (3..20).step_by(2).collect::<Vec<_>>());
    let best_effort = events.statistics.class(Class::BestEffort);
    assert_eq!(
        (best_effort.marked_pkts, best_effort.early_dropped_pkts),
        (0, 0)
    );
    assert_eq!(
        (
            best_effort.dropped_pkts,
            events.statistics.total().dropped_pkts
        ),
        (5, 10)
    );
}

#[test]
fn marks_capable_packets_and_drops_others() {
    let mut queue = red(&immediate());
    let mut events = keeping();
    for number in 0..60 {
        let ecn = if number % 2 == 0 {
            Ecn::Capable
        } else {
            Ecn::NotCapable
        };
        let _ = queue.push(Nanos::ZERO, full(number).with_ecn(ecn), &mut events);
    }
    let counted = events.statistics.total();
    assert!(counted.marked_pkts > 15 && counted.early_dropped_pkts > 15);
    assert_eq!(queue.fifo.len_pkts() as u64 + counted.dropped_pkts, 60);
    assert!(
        dropped(&mut events, DropCause::Early).is_empty(),
        "they go back instead"
    );
}

#[test]
fn goes_on_decaying_while_the_idle_link_drops_what_comes() {
    let mut queue = red(&RedSpec {
        weight: 0.5,
        typical_packet_bytes: 500,
        ..immediate()
    });
    let mut events = keeping();
    queue.average.value = 64.0;
    queue.average.idle_since = Some(Nanos::ZERO);
    // 0.4 ms each: 64 * 0.5, dropped; then 32 * 0.5 and 16 * 0.5, of which 0.3 ms pass
    // before a packet that is dropped, too.
    assert!(
        queue
            .push(Nanos::from_micros(400), full(0), &mut events)
            .is_err()
    );
    assert_eq!(queue.average.value, 32.0);
    assert!(
        queue
            .push(Nanos::from_micros(700), full(1), &mut events)
            .is_err()
    );
    assert_eq!(queue.average.value, 32.0);
    let now = Nanos::from_micros(1_200);
    queue.push(now, full(2), &mut events).unwrap();
    assert_eq!(queue.average.value, 8.0);
    assert_eq!(queue.average.idle_since, None);
}

#[test]
fn tcp_lp_ecn_lets_pass_what_cannot_be_marked() {
    let QueueSpec::ClassRed(mut spec) = QueueSpec::tcp_lp_ecn(20, 0.15) else {
        panic!("not a queue with thresholds by class");
    };
    spec.weight = 1.0;
    let mut queue: RedQueue<u32> = RedQueue::new((&spec).into(), BITS_PER_S, 1);
    let mut events = keeping();
    for number in 0..20 {
        let packet = Packet::new(1_500, Class::LessThanBestEffort, number);
        queue.push(Nanos::ZERO, packet, &mut events).unwrap();
    }
    // Only a full queue drops.
    let packet = Packet::new(1_500, Class::LessThanBestEffort, 20);
    assert!(queue.push(Nanos::ZERO, packet, &mut events).is_err());
    let total = events.statistics.total();
    assert_eq!((total.early_dropped_pkts, total.marked_pkts), (0, 0));
}
