// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::bottleneck::Bottleneck;
use crate::events::Events;
use crate::queue::{Queue, Waiting};
use crate::wire::Wire;
use crate::{Class, Delivery, LinkSpec, Nanos, Packet, Rejected};

/// Any link: packets move from the queue to the bottleneck to the wire when their
/// time has come.
pub(crate) struct General<T> {
    queue: Queue<T>,
    bottleneck: Bottleneck,
    sending: Option<Sending<T>>,
    wire: Wire<T>,
}

impl<T: Clone> General<T> {
    pub(crate) fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self {
            queue: Queue::new(spec, seed),
            bottleneck: Bottleneck::new(&spec.capacity),
            sending: None,
            wire: Wire::new(spec, seed),
        }
    }

    /// Takes a packet; the link is where it is at `now` already.
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        if self.sending.is_some() {
            return self.push(now, packet, events);
        }
        if self.queue.is_bypassed_when_idle() {
            let queued_at = now;
            self.start(Waiting { packet, queued_at }, now, false, events);
        } else {
            self.push(now, packet, events)?;
            if let Some(waiting) = self.pop(now, events) {
                self.start(waiting, now, false, events);
            }
        }
        // A packet that takes no time to send must not wait for the next call.
        self.advance(now, events);
        Ok(())
    }

    /// Ends every transmission that is over by `now`, in order.
    pub(crate) fn advance(&mut self, now: Nanos, events: &mut Events<T>) {
        while let Some(sending) = self.sending.take_if(|sending| sending.end <= now) {
            let end = sending.end;
            self.wire.send(sending.into_delivery(), events);
            if let Some(waiting) = self.pop(end, events) {
                self.start(waiting, end, true, events);
            }
        }
    }

    pub(crate) fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.wire.pop(now)
    }

    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        let sending = self
            .sending
            .as_ref()
            .map(|sending| sending.end + self.wire.delay_at(sending.end));
        match (self.wire.next_due(), sending) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (first, second) => first.or(second),
        }
    }

    pub(crate) fn queue_pkts(&self) -> usize {
        self.queue.len_pkts()
    }

    pub(crate) fn queue_bytes(&self) -> u64 {
        self.queue.total_bytes()
    }

    pub(crate) fn class_bytes(&self, class: Class) -> u64 {
        self.queue.class_bytes(class)
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.queue.len_pkts() + usize::from(self.sending.is_some()) + self.wire.len_pkts()
    }

    fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        let queue = &mut self.queue;
        events
            .occupancy
            .advance(now, queue.len_pkts(), queue.total_bytes());
        let result = queue.push(now, packet, events);
        events.occupancy.saw(queue.len_pkts(), queue.total_bytes());
        result
    }

    /// The packet that the bottleneck sends next, from `time` on.
    fn pop(&mut self, time: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        events
            .occupancy
            .advance(time, self.queue.len_pkts(), self.queue.total_bytes());
        self.queue.pop(time, events)
    }

    fn start(
        &mut self,
        waiting: Waiting<T>,
        start: Nanos,
        is_continuing: bool,
        events: &mut Events<T>,
    ) {
        let Waiting { packet, queued_at } = waiting;
        let end = self
            .bottleneck
            .end_of(start, packet.size_bytes, is_continuing);
        let counters = events.class_mut(packet.class);
        counters.waiting.add(start.since(queued_at));
        self.sending = Some(Sending {
            packet,
            queued_at,
            start,
            end,
        });
    }
}

struct Sending<T> {
    packet: Packet<T>,
    queued_at: Nanos,
    start: Nanos,
    end: Nanos,
}

impl<T> Sending<T> {
    fn into_delivery(self) -> Delivery<T> {
        let Self {
            packet,
            queued_at,
            start,
            end,
        } = self;
        Delivery {
            packet,
            queued_at,
            sent_from: start,
            due: end,
        }
    }
}
