// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::Rate;
use crate::queue::testing::{dropped, full, keeping};

const MS: u64 = 1_000_000;

fn spec(isolation: Isolation) -> CakeSpec {
    CakeSpec {
        isolation,
        ..CakeSpec::default()
    }
}

fn queue(spec: CakeSpec) -> CakeQueue<u32> {
    CakeQueue::new(spec, &link(10_000_000), 1)
}

fn link(bits_per_s: u64) -> LinkSpec {
    LinkSpec {
        capacity: Capacity::Rate(Rate::from_bits_per_s(bits_per_s).unwrap()),
        ..LinkSpec::default()
    }
}

fn push(queue: &mut CakeQueue<u32>, at: Nanos, packet: Packet<u32>) {
    queue.push(at, packet, &mut keeping()).unwrap();
}

/// How many bytes of 9 MB each of these flows sends that always have something waiting.
/// *Shape:* a flow is its hosts and the size of its packets.
fn shares(isolation: Isolation, flows: &[([u16; 2], u32)]) -> Vec<f64> {
    let mut queue = queue(spec(isolation));
    let packet = |number: usize| {
        let (hosts, size_bytes) = flows[number];
        let packet = full(number as u32).with_flow(number as u32);
        Packet {
            size_bytes,
            ..packet
        }
        .with_hosts(hosts)
    };
    for number in (0..flows.len()).cycle().take(flows.len() * 4) {
        push(&mut queue, Nanos::ZERO, packet(number));
    }
    let mut sent = vec![0.0; flows.len()];
    let mut total = 0.0;
    while total < 9e6 {
        // Nobody waits as long as time stands still, so COBALT has nothing to do.
        let waiting = queue.pop(Nanos::ZERO, &mut keeping()).unwrap();
        let number = waiting.packet.payload as usize;
        sent[number] += f64::from(waiting.packet.size_bytes);
        total += f64::from(waiting.packet.size_bytes);
        push(&mut queue, Nanos::ZERO, packet(number));
    }
    sent.iter().map(|bytes| bytes / total).collect()
}

fn assert_close(shares: &[f64], expected: &[f64]) {
    let is_close = |(share, expected): (&f64, &f64)| (share - expected).abs() < 0.002;
    assert!(
        shares.len() == expected.len() && shares.iter().zip(expected).all(is_close),
        "{shares:?} are not {expected:?}"
    );
}

/// A host with one flow, then one with eight, all between other hosts on the far side.
fn one_and_eight(end: usize) -> Vec<([u16; 2], u32)> {
    let flow = |number: u16| {
        let mut hosts = [number + 10; 2];
        hosts[end] = u16::from(number > 0);
        (hosts, 1_500)
    };
    (0..9).map(flow).collect()
}

#[test]
fn flows_have_equal_shares_whatever_the_size_of_their_packets() {
    let flows = [([1, 2], 1_500), ([1, 2], 300), ([1, 2], 750)];
    for isolation in [Isolation::Flows, Isolation::TripleIsolate] {
        assert_close(&shares(isolation, &flows), &[1.0 / 3.0; 3]);
    }
}

#[test]
fn hosts_with_one_and_eight_flows_have_equal_shares_under_triple_isolation() {
    let halves = [vec![0.5], vec![0.5 / 8.0; 8]].concat();
    for end in [0, 1] {
        let flows = one_and_eight(end);
        assert_close(&shares(Isolation::TripleIsolate, &flows), &halves);
        assert_close(&shares(Isolation::Flows, &flows), &[1.0 / 9.0; 9]);
    }
}

#[test]
fn a_flow_counts_for_the_busier_of_its_hosts() {
    // Four flows from host 1; one of them goes to host 9, which has another five.
    let from = |source, destination| ([source, destination], 1_500);
    let mut flows = vec![from(1, 9), from(1, 2), from(1, 3), from(1, 4)];
    flows.extend((20..25).map(|source| from(source, 9)));
    let shares = shares(Isolation::TripleIsolate, &flows);
    // Weights: 1/6 for those to host 9 (max(4, 6)), 1/4 for the other three.
    let total = 6.0 / 6.0 + 3.0 / 4.0;
    let expected = [1.0 / 6.0, 0.25, 0.25, 0.25, 1.0 / 6.0, 1.0 / 6.0];
    let expected: Vec<f64> = expected.iter().map(|weight| weight / total).collect();
    assert_close(&shares[..6], &expected);
}

#[test]
fn a_flow_that_sends_little_goes_before_those_that_queue() {
    let mut queue = queue(CakeSpec::default());
    for number in 0..20 {
        push(&mut queue, Nanos::ZERO, full(number).with_flow(number % 2));
    }
    for _ in 0..6 {
        queue.pop(Nanos::ZERO, &mut keeping()).unwrap();
    }
    let little = |number| {
        let packet = full(number).with_flow(7);
        Packet {
            size_bytes: 100,
            ..packet
        }
    };
    push(&mut queue, Nanos::ZERO, little(70));
    let mut pop = || {
        queue
            .pop(Nanos::ZERO, &mut keeping())
            .unwrap()
            .packet
            .payload
    };
    assert_eq!(pop(), 70);
    assert!(pop() < 20);
    // Found empty, remembered, and new again with its next packet.
    push(&mut queue, Nanos(MS), little(71));
    let next = queue.pop(Nanos(MS), &mut keeping()).unwrap();
    assert_eq!(next.packet.payload, 71);
}

#[test]
fn bookkeeping_is_empty_again_when_all_is_sent_and_forgotten() {
    let mut queue = queue(CakeSpec::default());
    for number in 0..400 {
        let packet = full(number).with_flow(number % 9);
        push(
            &mut queue,
            Nanos::ZERO,
            packet.with_hosts([0, (number % 3) as u16]),
        );
    }
    let mut sent = 0;
    for ms in 1..1_000 {
        let now = Nanos(ms * MS);
        sent += usize::from(queue.pop(now, &mut keeping()).is_some());
    }
    assert!(sent > 300, "{sent}");
    assert_eq!(
        (queue.len_pkts(), queue.bytes(), queue.bulk_flows),
        (0, 0, 0)
    );
    assert!(
        queue
            .bulk_flows_of
            .iter()
            .flatten()
            .all(|count| *count == 0)
    );
    // Each pop looks at one of those that are remembered.
    for ms in 0..2_000 {
        queue.pop(Nanos((60_000 + ms) * MS), &mut keeping());
    }
    assert!(queue.decaying.is_empty() && queue.sparse.is_empty() && queue.bulk.is_empty());
    assert!(queue.flows.iter().all(|flow| flow.state == State::Unlisted));
}

#[test]
fn overflow_drops_the_head_of_the_longest_queue_and_wakes_blue() {
    let limit = QueueLimit::Packets(10);
    let mut queue = queue(CakeSpec {
        limit,
        ..CakeSpec::default()
    });
    let mut events = keeping();
    push(&mut queue, Nanos::ZERO, full(100).with_flow(1));
    for number in 0..11 {
        let packet = full(number).with_flow(2);
        queue.push(Nanos(MS), packet, &mut events).unwrap();
    }
    assert_eq!(dropped(&mut events, DropCause::Full), [0, 1]);
    assert_eq!(queue.len_pkts(), 10);
    assert!(
        queue
            .flows
            .iter()
            .filter(|flow| !flow.cobalt.is_at_rest(Nanos(MS)))
            .count()
            == 1
    );
}

#[test]
fn the_last_packet_of_a_flow_is_never_dropped() {
    let mut queue = queue(CakeSpec::default());
    let mut events = keeping();
    for round in 0..200_u64 {
        push(&mut queue, Nanos(round * 50 * MS), full(round as u32));
        // 50 ms are ten times the target.
        let waiting = queue.pop(Nanos((round + 1) * 50 * MS), &mut events);
        assert_eq!(waiting.unwrap().packet.payload, round as u32);
    }
    assert_eq!(events.statistics.total().dropped_pkts, 0);
}

#[test]
fn a_flow_that_does_not_answer_is_cut_to_its_rate() {
    let mut queue = queue(CakeSpec::default());
    let mut events = keeping();
    let mut waited_ms = 0;
    for ms in 0..120_000_u64 {
        for _ in 0..2 {
            let _ = queue.push(Nanos(ms * MS), full(0), &mut events);
        }
        let waiting = queue.pop(Nanos(ms * MS), &mut events).unwrap();
        waited_ms = ms - waiting.queued_at.0 / MS;
    }
    // The count grows until half of the packets are dropped; CoDel alone needs as long. It
    // then waits about the target.
    assert!(waited_ms < 60, "{waited_ms}");
    let dropped = events.statistics.total().early_dropped_pkts as f64 / 240_000.0;
    assert!(dropped > 0.45, "{dropped}");
}

#[test]
fn is_tuned_to_the_rate_of_the_link() {
    let tuned = |bits_per_s| {
        let (settings, quantum_bytes) = tuned_to(&link(bits_per_s), &CakeSpec::default());
        let us = |time: Nanos| time.0 / 1_000;
        (us(settings.target), us(settings.interval), quantum_bytes)
    };
    // 1500 bytes take 12 ms at 1 Mbit/s: a target of 18 ms, 13 more than 5, and so is the
    // interval. 10^7 / 8 / 4096 = 305.
    assert_eq!(tuned(1_000_000), (18_000, 113_000, 300));
    assert_eq!(tuned(10_000_000), (5_000, 100_000, 305));
    assert_eq!(tuned(1_000_000_000), (5_000, 100_000, 1_514));
    // 120 ms a packet: the interval is not below two targets.
    assert_eq!(tuned(100_000), (180_000, 360_000, 300));
}

#[test]
fn marks_in_place_of_early_drops() {
    let signals = |ecn| {
        let mut queue = queue(CakeSpec::default());
        let mut events = keeping();
        for number in 0..600 {
            push(&mut queue, Nanos::ZERO, full(number).with_ecn(ecn));
        }
        for ms in 1..=400 {
            queue.pop(Nanos(ms * MS), &mut events).unwrap();
        }
        let counted = events.statistics.total();
        (counted.marked_pkts, counted.early_dropped_pkts)
    };
    // From 106 ms on, 70.7, 57.7, 50, 44.7, 40.8 ms apart: 106, 177, 235, 285, 330, 371.
    assert_eq!(signals(Ecn::NotCapable), (0, 6));
    assert_eq!(signals(Ecn::Capable), (6, 0));
    assert_eq!(signals(Ecn::L4s), (6, 0));
}
