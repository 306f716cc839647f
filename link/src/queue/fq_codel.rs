// SPDX-License-Identifier: Apache-2.0 OR MIT
//! FQ-CoDel: a queue for each flow, each under CoDel, RFC 8290.
//!
//! Differences from the RFC: the flow is what the packet names, hashed with a key from
//! the seed; CoDel's test for a nearly empty queue looks at the flow's own queue
//! (RFC 8289), where Linux looks at all of them together.
use std::collections::VecDeque;

use super::Waiting;
use super::codel::{Codel, Settings};
use super::fifo::Fifo;
use crate::events::Events;
use crate::random::{Purpose, Stream};
use crate::{DropCause, FqCodelSpec, Nanos, Packet, QueueLimit, Rejected};

/// At the most so many packets are dropped at once when the link overflows.
/// [RFC 8290, section 4.1.3]
const DROP_BATCH: usize = 64;

pub(crate) struct FqCodelQueue<T> {
    flows: Vec<Flow<T>>,
    /// Queues of flows that begin to send; they go before the others.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    limit: QueueLimit,
    quantum_bytes: i64,
    settings: Settings,
    hash_key: u64,
    len_pkts: usize,
    bytes: u64,
}

struct Flow<T> {
    fifo: Fifo<T>,
    codel: Codel,
    /// Bytes that the flow may send before others have their turn.
    credit_bytes: i64,
    is_listed: bool,
}

impl<T> FqCodelQueue<T> {
    pub(crate) fn new(spec: FqCodelSpec, seed: u64) -> Self {
        Self {
            flows: (0..spec.flows).map(|_| Flow::new()).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            limit: spec.limit,
            quantum_bytes: i64::from(spec.quantum_bytes),
            settings: Settings {
                target: spec.target,
                interval: spec.interval,
                is_marking: spec.ecn,
                largest_packet_bytes: 0,
            },
            hash_key: Stream::new(seed, Purpose::FlowHash).bits(),
            len_pkts: 0,
            bytes: 0,
        }
    }

    /// Takes any packet, and then drops from the longest queue if there are too many.
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        // A packet that is larger than all room there is cannot be made room for.
        if !self.limit.holds(1, packet.size_bytes.into()) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        self.settings.saw(packet.size_bytes);
        self.len_pkts += 1;
        self.bytes += u64::from(packet.size_bytes);
        let number = self.flow_number(packet.flow);
        let flow = &mut self.flows[number as usize];
        flow.fifo.push(now, packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit_bytes = self.quantum_bytes;
            self.new_flows.push_back(number);
        }
        while self.is_over_limit() {
            self.drop_from_longest(now, events);
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new {
                &self.new_flows
            } else {
                &self.old_flows
            };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.credit_bytes <= 0 {
                flow.credit_bytes += self.quantum_bytes;
                self.unlist_first(is_new);
                self.old_flows.push_back(number);
                continue;
            }
            let before = (flow.fifo.len_pkts(), flow.fifo.bytes());
            let waiting = flow.codel.pop(&mut flow.fifo, &self.settings, now, events);
            let flow = &mut self.flows[number as usize];
            self.len_pkts -= before.0 - flow.fifo.len_pkts();
            self.bytes -= before.1 - flow.fifo.bytes();
            if let Some(waiting) = waiting {
                flow.credit_bytes -= i64::from(waiting.packet.size_bytes);
                return Some(waiting);
            }
            // An empty new queue first goes behind the old ones, so that a flow cannot
            // be new again all the time; an empty old one goes.
            flow.is_listed = is_new;
            self.unlist_first(is_new);
            if is_new {
                self.old_flows.push_back(number);
            }
        }
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.len_pkts
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn unlist_first(&mut self, is_new: bool) {
        let list = if is_new {
            &mut self.new_flows
        } else {
            &mut self.old_flows
        };
        list.pop_front();
    }

    fn flow_number(&self, flow: u32) -> u32 {
        // Multiply and fold twice: every bit of flow and key reaches the high bits.
        let mut mixed = (u64::from(flow) ^ self.hash_key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        // Fits: a product of two numbers below 2^32, shifted by 32.
        (((mixed >> 32) * self.flows.len() as u64) >> 32) as u32
    }

    fn is_over_limit(&self) -> bool {
        !self.limit.holds(self.len_pkts, self.bytes)
    }

    /// Drops from the head of the longest queue until it is half as long, a batch at
    /// the most.
    fn drop_from_longest(&mut self, now: Nanos, events: &mut Events<T>) {
        let longest = self
            .new_flows
            .iter()
            .chain(&self.old_flows)
            .copied()
            .max_by_key(|number| self.flows[*number as usize].fifo.bytes())
            .expect("a queue that is over its limit is not empty");
        let fifo = &mut self.flows[longest as usize].fifo;
        let half_bytes = fifo.bytes() / 2;
        for _ in 0..DROP_BATCH {
            let Some(waiting) = fifo.pop() else { break };
            self.len_pkts -= 1;
            self.bytes -= u64::from(waiting.packet.size_bytes);
            events.dropped(now, waiting.packet, DropCause::Full);
            if fifo.bytes() <= half_bytes {
                break;
            }
        }
    }
}

impl<T> Flow<T> {
    fn new() -> Self {
        Self {
            // The limit is one for all flows together.
            fifo: Fifo::new(QueueLimit::Packets(u64::MAX)),
            codel: Codel::default(),
            credit_bytes: 0,
            is_listed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dropped, full, keeping};
    use super::*;

    const MS: u64 = 1_000_000;

    fn queue(limit: u64) -> FqCodelQueue<u32> {
        let spec = FqCodelSpec {
            limit: QueueLimit::Packets(limit),
            ..FqCodelSpec::default()
        };
        FqCodelQueue::new(spec, 1)
    }

    fn push(queue: &mut FqCodelQueue<u32>, flow: u32, number: u32, size_bytes: u32) {
        let packet = Packet {
            size_bytes,
            ..full(number)
        };
        queue
            .push(Nanos::ZERO, packet.with_flow(flow), &mut keeping())
            .unwrap();
    }

    fn pop_all(queue: &mut FqCodelQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mut keeping()))
            .map(|waiting| waiting.packet.payload)
            .collect()
    }

    #[test]
    fn flows_take_turns_packet_by_packet_whatever_they_have_queued() {
        let mut queue = queue(1_000);
        for number in 0..4 {
            push(&mut queue, 1, number, 1_514);
        }
        for number in 10..12 {
            push(&mut queue, 2, number, 1_514);
        }
        assert_eq!(pop_all(&mut queue), [0, 10, 1, 11, 2, 3]);
        assert_eq!((queue.len_pkts(), queue.bytes()), (0, 0));
    }

    #[test]
    fn turns_are_counted_in_bytes() {
        let mut queue = queue(1_000);
        for number in 0..2 {
            push(&mut queue, 1, number, 1_514);
        }
        for number in 10..16 {
            push(&mut queue, 2, number, 500);
        }
        // A quantum of 1514 bytes: one large packet, or small ones until it is used up.
        // Flow 2 has 14 bytes left after three, so a fourth goes with its first turn.
        assert_eq!(pop_all(&mut queue), [0, 10, 11, 12, 13, 1, 14, 15]);
    }

    #[test]
    fn a_flow_that_begins_goes_before_those_that_have_queued() {
        let mut queue = queue(1_000);
        for number in 0..5 {
            push(&mut queue, 1, number, 1_514);
            push(&mut queue, 2, 10 + number, 1_514);
        }
        let mut events = keeping();
        for _ in 0..4 {
            queue.pop(Nanos::ZERO, &mut events).unwrap();
        }
        push(&mut queue, 3, 20, 100);
        assert_eq!(pop_all(&mut queue)[0], 20);
    }

    #[test]
    fn a_flow_that_runs_empty_is_not_new_until_the_others_had_their_turn() {
        let mut queue = queue(1_000);
        for number in 0..4 {
            push(&mut queue, 1, number, 1_514);
        }
        let mut events = keeping();
        let mut pop = |queue: &mut FqCodelQueue<u32>| {
            queue.pop(Nanos::ZERO, &mut events).unwrap().packet.payload
        };
        assert_eq!(pop(&mut queue), 0);
        push(&mut queue, 2, 10, 100);
        assert_eq!(pop(&mut queue), 10);
        // Now empty, found so, and listed as old: it waits for flow 1.
        assert_eq!(pop(&mut queue), 1);
        push(&mut queue, 2, 11, 100);
        assert_eq!(pop(&mut queue), 11, "its old queue has credit left");
        assert_eq!(pop(&mut queue), 2);
    }

    #[test]
    fn drops_from_the_longest_queue_when_there_is_no_room() {
        let mut queue = queue(100);
        let mut events = keeping();
        for number in 0..90 {
            push(&mut queue, 1, number, 1_500);
        }
        for number in 200..210 {
            push(&mut queue, 2, number, 1_500);
        }
        let last = full(210).with_flow(2);
        queue.push(Nanos::ZERO, last, &mut events).unwrap();
        // Half of the 90 packets of flow 1, from its head.
        assert_eq!(
            dropped(&mut events, DropCause::Full),
            (0..45).collect::<Vec<_>>()
        );
        assert_eq!(queue.len_pkts(), 101 - 45);
        assert_eq!(queue.bytes(), 1_500 * (101 - 45));
        assert_eq!(events.statistics.total().early_dropped_pkts, 0);
    }

    #[test]
    fn codel_acts_on_the_flow_that_queues_and_spares_the_others() {
        let mut queue = queue(10_000);
        let mut events = keeping();
        for number in 0..1_000 {
            push(&mut queue, 1, number, 1_500);
        }
        for ms in 1..=400_u32 {
            let now = Nanos(u64::from(ms) * MS);
            if ms % 4 == 0 {
                let packet = full(100_000 + ms).with_flow(2);
                queue.push(now, packet, &mut events).unwrap();
            }
            queue.pop(now, &mut events).unwrap();
        }
        let dropped = dropped(&mut events, DropCause::Early);
        assert!(dropped.len() >= 4, "{dropped:?}");
        assert!(dropped.iter().all(|number| *number < 1_000));
    }

    #[test]
    fn spreads_flows_over_all_queues_and_by_the_seed() {
        let spec = FqCodelSpec::default();
        let numbers = |seed| {
            let queue: FqCodelQueue<u32> = FqCodelQueue::new(spec, seed);
            (0..10_240)
                .map(|flow| queue.flow_number(flow))
                .collect::<Vec<_>>()
        };
        let mut counts = [0_u32; 1_024];
        for number in numbers(1) {
            counts[number as usize] += 1;
        }
        // Ten flows a queue in the mean, Poisson: none, or 30, is one in 10^4.
        assert!(counts.iter().filter(|count| **count == 0).count() < 3);
        assert!(counts.iter().all(|count| *count < 30));
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn few_flows_collide_as_seldom_as_chance_has_it() {
        let spec = FqCodelSpec {
            flows: 64,
            ..FqCodelSpec::default()
        };
        let collisions = (0..4_000)
            .filter(|seed| {
                let queue: FqCodelQueue<u32> = FqCodelQueue::new(spec, *seed);
                let mut numbers: Vec<_> = (0..4).map(|flow| queue.flow_number(flow)).collect();
                numbers.sort_unstable();
                numbers.windows(2).any(|pair| pair[0] == pair[1])
            })
            .count();
        // 1 - 63/64 * 62/64 * 61/64 = 9.1 %: 364 expected, sigma 18.
        assert!(collisions.abs_diff(364) < 90, "{collisions}");
    }
}
