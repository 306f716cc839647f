// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::events::Events;
use crate::packets::{PacketId, Packets};
use crate::random::{Purpose, Stream};
use crate::{Delivery, DropCause, LinkSpec, Nanos};

/// Packets between the bottleneck and the far end.
pub(crate) struct Wire {
    spec: LinkSpec,
    loss: Stream,
    jitter: Stream,
    reorder: Stream,
    duplicate: Stream,
    /// Packets in the order of their due times: nearly all, so at no cost.
    ordered: VecDeque<InFlight>,
    /// Packets that may be overtaken, or overtake.
    unordered: BinaryHeap<Reverse<InFlight>>,
    /// Propagation delay of the last of `ordered`.
    ordered_delay: Nanos,
    next_number: u64,
}

impl Wire {
    pub(crate) fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self {
            spec: spec.clone(),
            loss: Stream::new(seed, Purpose::Loss),
            jitter: Stream::new(seed, Purpose::Jitter),
            reorder: Stream::new(seed, Purpose::Reorder),
            duplicate: Stream::new(seed, Purpose::Duplicate),
            ordered: VecDeque::new(),
            unordered: BinaryHeap::new(),
            ordered_delay: spec.delay,
            next_number: 0,
        }
    }

    /// The least time that a packet spends on the wire which is sent at this one.
    pub(crate) fn delay_at(&self, sent_at: Nanos) -> Nanos {
        self.spec.delay_at(sent_at)
    }

    /// Takes a packet that the bottleneck has sent; its due time is still the sending's.
    pub(crate) fn send<T: Clone + Default>(
        &mut self,
        mut delivery: Delivery<PacketId>,
        packets: &mut Packets<T>,
        events: &mut Events<PacketId>,
    ) {
        if self.loss.is_chosen(self.spec.loss) {
            events.dropped(delivery.due, delivery.packet, DropCause::Lost);
            return;
        }
        let counters = events.class_mut(delivery.packet.class);
        let delay = self.spec.delay_at(delivery.due);
        delivery.due += delay;
        if self.spec.jitter > Nanos::ZERO {
            delivery.due += self.jitter.up_to(self.spec.jitter);
        }
        let is_held_back = self.reorder.is_chosen(self.spec.reorder);
        if is_held_back {
            delivery.due += self.spec.reorder_delay;
            counters.reordered_pkts += 1;
        }
        let is_unordered =
            is_held_back || self.spec.jitter_reorders || self.overtakes(delay, delivery.due);
        if !is_unordered {
            self.ordered_delay = delay;
        }
        if self.duplicate.is_chosen(self.spec.duplicate) {
            counters.duplicated_pkts += 1;
            let mut copy = delivery;
            copy.packet.payload = packets.duplicate(delivery.packet.payload);
            self.push(copy, is_unordered);
        }
        self.push(delivery, is_unordered);
    }

    /// When the next packet is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        let ordered = self.ordered.front().map(|in_flight| in_flight.delivery.due);
        let unordered = self
            .unordered
            .peek()
            .map(|Reverse(in_flight)| in_flight.delivery.due);
        match (ordered, unordered) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (first, second) => first.or(second),
        }
    }

    /// The packet that is due first, if it is due at `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Delivery<PacketId>> {
        if self.next_due()? > now {
            return None;
        }
        let is_ordered = match (self.ordered.front(), self.unordered.peek()) {
            (Some(ordered), Some(Reverse(unordered))) => ordered < unordered,
            (ordered, _) => ordered.is_some(),
        };
        if is_ordered {
            return self.ordered.pop_front().map(|in_flight| in_flight.delivery);
        }
        self.unordered
            .pop()
            .map(|Reverse(in_flight)| in_flight.delivery)
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.ordered.len() + self.unordered.len()
    }

    /// Whether a packet has a shorter way than those before it, and arrives first by that.
    fn overtakes(&self, delay: Nanos, due: Nanos) -> bool {
        delay < self.ordered_delay
            && self
                .ordered
                .back()
                .is_some_and(|last| last.delivery.due > due)
    }

    fn push(&mut self, mut delivery: Delivery<PacketId>, is_unordered: bool) {
        let number = self.next_number;
        self.next_number += 1;
        if is_unordered {
            self.unordered.push(Reverse(InFlight { delivery, number }));
            return;
        }
        if let Some(last) = self.ordered.back() {
            delivery.due = delivery.due.max(last.delivery.due);
        }
        self.ordered.push_back(InFlight { delivery, number });
    }
}

/// Ordered by due time, then by the order of sending.
struct InFlight {
    delivery: Delivery<PacketId>,
    number: u64,
}

impl InFlight {
    fn key(&self) -> (Nanos, u64) {
        (self.delivery.due, self.number)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
