// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::queue::testing::{dropped, full, keeping};

const MS: u64 = 1_000_000;

fn queue() -> DualPi2Queue<u32> {
    DualPi2Queue::new(DualPi2Spec::default())
}

/// A queue whose base probability is this, and stays so as long as time stands still.
fn queue_at(probability: f64) -> DualPi2Queue<u32> {
    let mut queue = queue();
    queue.controller.probability = probability;
    queue
}

fn push(queue: &mut DualPi2Queue<u32>, number: u32, ecn: Ecn) {
    let packet = full(number).with_ecn(ecn);
    queue.push(Nanos::ZERO, packet, &mut keeping()).unwrap();
}

fn controller(probability: f64, old_delay_ms: u64) -> Controller {
    Controller {
        probability,
        old_delay: Nanos(old_delay_ms * MS),
        next_update: Some(Nanos(16 * MS)),
        ..Controller::new(DualPi2Spec::default())
    }
}

#[test]
fn probabilities_follow_delay_and_its_growth_by_the_equations() {
    let mut controller = controller(0.1, 20);
    // The head waits since 40 ms before the update.
    let since = Nanos::ZERO;
    controller.next_update = Some(Nanos(40 * MS));
    controller.run_until(Nanos(40 * MS), Some(since));
    // 0.16 * (0.040 - 0.015) + 3.2 * (0.040 - 0.020) = 0.004 + 0.064.
    assert!((controller.probability - 0.168).abs() < 1e-12);
    // p_CL = k * p', p_C = p' ^ 2 = (p_CL / k) ^ 2.
    assert!((controller.coupled() - 0.336).abs() < 1e-12);
    assert!((controller.squared() - 0.028_224).abs() < 1e-12);
    controller.run_until(Nanos(55 * MS), Some(since));
    assert!(
        (controller.probability - 0.168).abs() < 1e-12,
        "not before its time"
    );
    controller.run_until(Nanos(56 * MS), Some(since));
    // 0.16 * 0.041 + 3.2 * 0.016 = 0.00656 + 0.0512.
    assert!((controller.probability - 0.225_76).abs() < 1e-12);
}

#[test]
fn updates_that_nobody_saw_are_made_up_for() {
    let (mut often, mut seldom) = (controller(0.9, 30), controller(0.9, 30));
    for ms in 0..=4_000 {
        often.run_until(Nanos(ms * MS), Some(Nanos(3_990 * MS)));
    }
    seldom.run_until(Nanos(4_000 * MS), Some(Nanos(3_990 * MS)));
    assert_eq!(often.probability, seldom.probability);
    // Empty for long: nothing is left, and the next update is at its multiple of 16 ms.
    seldom.run_until(Nanos(100_000 * MS + 1), None);
    assert_eq!((seldom.probability, seldom.old_delay), (0.0, Nanos::ZERO));
    assert_eq!(seldom.next_update, Some(Nanos(100_000 * MS + 16 * MS)));
}

#[test]
fn l4s_is_marked_k_times_and_classic_the_square_as_often_as_the_base_probability() {
    for (probability, l4s, classic) in [(0.1, 200, 10), (0.2, 400, 40), (0.05, 100, 2)] {
        for (ecn, expected) in [(Ecn::L4s, l4s), (Ecn::Capable, classic)] {
            let mut queue = queue_at(probability);
            let mut events = keeping();
            // The last two are spared.
            for number in 0..1_002 {
                push(&mut queue, number, ecn);
            }
            let sent = std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mut events)).count();
            let marked = events.statistics.total().marked_pkts;
            assert!(
                sent == 1_002 && marked.abs_diff(expected) <= 1,
                "{probability} {ecn:?}: {marked}"
            );
        }
    }
}

#[test]
fn classic_packets_without_ecn_are_dropped_in_place_of_the_mark() {
    let mut queue = queue_at(0.2);
    let mut events = keeping();
    for number in 0..1_002 {
        push(&mut queue, number, Ecn::NotCapable);
    }
    let sent = std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mut events)).count();
    // 0.2 ^ 2 = 0.04: each 25th.
    assert_eq!(
        (sent, dropped(&mut events, DropCause::Early).len()),
        (962, 40)
    );
}

#[test]
fn marked_and_l4s_packets_have_the_queue_of_little_delay() {
    let mut queue = queue();
    for (number, ecn) in [Ecn::NotCapable, Ecn::Capable, Ecn::L4s, Ecn::Congested]
        .into_iter()
        .enumerate()
    {
        push(&mut queue, number as u32, ecn);
    }
    assert_eq!((queue.l4s.len_pkts(), queue.classic.len_pkts()), (2, 2));
    let mut pop = || queue.pop(Nanos::ZERO, &mut keeping()).unwrap().packet;
    assert_eq!([0; 4].map(|_| pop().payload), [2, 3, 0, 1]);
}

#[test]
fn l4s_packets_above_the_step_are_marked_if_another_waits() {
    let mut queue = queue();
    let mut events = keeping();
    for number in 0..4 {
        push(&mut queue, number, Ecn::L4s);
    }
    let mut is_marked = |at_us| {
        let waiting = queue.pop(Nanos::from_micros(at_us), &mut events).unwrap();
        waiting.packet.ecn == Ecn::Congested
    };
    // Exactly the step is not above it; behind the last one nobody waits.
    assert!(!is_marked(1_000));
    assert!(is_marked(1_001));
    assert!(is_marked(1_500));
    assert!(!is_marked(2_000));
}

#[test]
fn the_classic_queue_has_a_tenth_while_both_wait_and_all_alone() {
    let mut queue = queue();
    for number in 0..1_000 {
        push(&mut queue, number, Ecn::L4s);
        push(&mut queue, number + 1_000, Ecn::NotCapable);
    }
    let mut pop = || {
        queue
            .pop(Nanos::ZERO, &mut keeping())
            .map(|one| one.packet.payload)
    };
    let turns: Vec<u32> = std::iter::from_fn(&mut pop).collect();
    let classic = |turns: &[u32]| turns.iter().filter(|number| **number >= 1_000).count();
    assert_eq!(classic(&turns[..1_000]), 100);
    // Never more than ten turns away.
    assert!(turns[..1_000].windows(11).all(|part| classic(part) > 0));
    assert_eq!(turns.len(), 2_000);
    assert!(classic(&turns[1_200..]) == 800, "the rest of it at the end");
}

#[test]
fn overload_drops_of_both_alike_and_marks_what_is_left_of_l4s() {
    // p_CL = 2 * 0.6 is above 1: p_C = 0.36 of each is dropped.
    let mut queue = queue_at(0.6);
    let mut events = keeping();
    for number in 0..1_000 {
        push(&mut queue, number, Ecn::L4s);
        push(&mut queue, number + 1_000, Ecn::Capable);
    }
    let sent: Vec<_> = std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mut events)).collect();
    let dropped = dropped(&mut events, DropCause::Early);
    let of_l4s = dropped.iter().filter(|number| **number < 1_000).count();
    let of_classic = dropped.len() - of_l4s;
    assert!(
        of_l4s.abs_diff(360) <= 1 && of_classic.abs_diff(360) <= 1,
        "{of_l4s} {of_classic}"
    );
    let is_l4s = |one: &&Waiting<u32>| one.packet.payload < 1_000;
    let marked = |one: &&Waiting<u32>| one.packet.ecn == Ecn::Congested;
    let l4s_unmarked = sent
        .iter()
        .filter(is_l4s)
        .filter(|one| !marked(one))
        .count();
    assert_eq!(l4s_unmarked, 0);
    assert_eq!(
        sent.iter()
            .filter(|one| !is_l4s(one))
            .filter(marked)
            .count(),
        0
    );
}

#[test]
fn both_queues_share_one_limit() {
    let spec = DualPi2Spec {
        limit: QueueLimit::Packets(3),
        ..DualPi2Spec::default()
    };
    let mut queue = DualPi2Queue::new(spec);
    let mut events = keeping();
    for (number, ecn) in [Ecn::L4s, Ecn::NotCapable, Ecn::L4s]
        .into_iter()
        .enumerate()
    {
        push(&mut queue, number as u32, ecn);
    }
    for ecn in [Ecn::L4s, Ecn::NotCapable] {
        let packet = full(9).with_ecn(ecn);
        assert!(queue.push(Nanos::ZERO, packet, &mut events).is_err());
    }
    let counted = events.statistics.total();
    assert_eq!((counted.dropped_pkts, counted.early_dropped_pkts), (2, 0));
}

#[test]
fn unresponsive_traffic_of_twice_the_rate_loses_half_and_waits_no_longer() {
    let mut queue = queue();
    let mut events = keeping();
    let mut waited = Vec::new();
    for ms in 0..20_000_u64 {
        if ms == 10_000 {
            events = keeping();
            waited.clear();
        }
        for _ in 0..2 {
            let _ = queue.push(Nanos(ms * MS), full(0), &mut events);
        }
        if let Some(waiting) = queue.pop(Nanos(ms * MS), &mut events) {
            waited.push(ms - waiting.queued_at.0 / MS);
        }
    }
    let dropped = events.statistics.total().early_dropped_pkts as f64 / 20_000.0;
    assert!((dropped - 0.5).abs() < 0.02, "{dropped}");
    // p_C = 0.5 is p' = 0.707, which only a delay above the target can hold.
    assert!((queue.controller.probability - 0.707).abs() < 0.03);
    let mean = waited.iter().sum::<u64>() as f64 / waited.len() as f64;
    assert!((10.0..30.0).contains(&mean), "{mean}");
}
