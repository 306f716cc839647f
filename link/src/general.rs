// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::bottleneck::Bottleneck;
use crate::events::Events;
use crate::packets::{PacketId, Packets};
use crate::queue::{Queue, Waiting};
use crate::wire::Wire;
use crate::{Aggregation, Class, Delivery, Dropped, LinkSpec, Nanos, Packet, Rejected};

/// Any link: packets move from the queue to the bottleneck to the wire when their
/// time has come.
pub(crate) struct General {
    queue: Queue<PacketId>,
    bottleneck: Bottleneck,
    sending: Option<Sending>,
    aggregation: Option<Aggregation>,
    /// What is sent in one with `sending`, behind it.
    aggregated: Vec<Sending>,
    wire: Wire,
    pub(crate) events: Events<PacketId>,
}

impl General {
    pub(crate) fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self {
            queue: Queue::new(spec, seed),
            bottleneck: Bottleneck::new(spec),
            sending: None,
            aggregation: spec.aggregation,
            aggregated: Vec::new(),
            wire: Wire::new(spec, seed),
            events: Events::default(),
        }
    }

    /// Takes a packet, or not if its queue does not.
    pub(crate) fn enqueue<T: Clone + Default>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
        id: PacketId,
    ) -> Result<(), PacketId> {
        self.advance(now, packets);
        self.events.offered(packets.get(id));
        let packet = description(packets.get(id), id);
        if self.sending.is_some() {
            return self.push(now, packets, packet);
        }
        if self.queue.is_bypassed_when_idle() {
            let queued_at = now;
            self.start(Waiting { packet, queued_at }, now, false);
        } else {
            self.push(now, packets, packet)?;
            if let Some(waiting) = self.pop(now) {
                self.start(waiting, now, false);
            }
        }
        // A packet that takes no time to send must not wait for the next call.
        self.advance(now, packets);
        Ok(())
    }

    /// Ends every transmission that is over by `now`, in order.
    pub(crate) fn advance<T: Clone + Default>(&mut self, now: Nanos, packets: &mut Packets<T>) {
        while let Some(sending) = self.sending.take_if(|sending| sending.end <= now) {
            let end = sending.end;
            self.wire
                .send(sending.into_delivery(), packets, &mut self.events);
            for sending in self.aggregated.drain(..) {
                self.wire
                    .send(sending.into_delivery(), packets, &mut self.events);
            }
            if let Some(waiting) = self.pop(end) {
                self.start(waiting, end, true);
            }
        }
    }

    pub(crate) fn poll<T: Clone + Default>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
    ) -> Option<PacketId> {
        self.advance(now, packets);
        let delivery = self.wire.pop(now)?;
        let id = delivery.packet.payload;
        let slot = packets.slot_mut(id);
        slot.queued_at = delivery.queued_at;
        slot.sent_from = delivery.sent_from;
        slot.due = delivery.due;
        slot.packet.ecn = delivery.packet.ecn;
        self.events.delivered(&slot.packet);
        Some(id)
    }

    pub(crate) fn next_dropped<T>(
        &mut self,
        packets: &mut Packets<T>,
    ) -> Option<Dropped<PacketId>> {
        let dropped = self.events.next_dropped()?;
        packets.get_mut(dropped.packet.payload).ecn = dropped.packet.ecn;
        Some(dropped)
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
        let sending = usize::from(self.sending.is_some()) + self.aggregated.len();
        self.queue.len_pkts() + sending + self.wire.len_pkts()
    }

    fn push<T>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
        packet: Packet<PacketId>,
    ) -> Result<(), PacketId> {
        let Self { queue, events, .. } = self;
        events
            .occupancy
            .advance(now, queue.len_pkts(), queue.total_bytes());
        let result = queue.push(now, packet, events);
        events.occupancy.saw(queue.len_pkts(), queue.total_bytes());
        result.map_err(|Rejected(packet)| {
            packets.get_mut(packet.payload).ecn = packet.ecn;
            packet.payload
        })
    }

    /// The packet that the bottleneck sends next, from `time` on.
    fn pop(&mut self, time: Nanos) -> Option<Waiting<PacketId>> {
        let Self { queue, events, .. } = self;
        events
            .occupancy
            .advance(time, queue.len_pkts(), queue.total_bytes());
        queue.pop(time, events)
    }

    fn start(&mut self, waiting: Waiting<PacketId>, start: Nanos, is_continuing: bool) {
        if let Some(aggregation) = self.aggregation {
            return self.start_aggregate(aggregation, waiting, start);
        }
        let size_bytes = waiting.packet.size_bytes;
        let end = self.bottleneck.end_of(start, size_bytes, is_continuing);
        self.sending = Some(Sending::new(waiting, start, end, &mut self.events));
    }

    /// Sends what waits in one, as much as it may be, which arrives as a whole.
    fn start_aggregate(
        &mut self,
        aggregation: Aggregation,
        first: Waiting<PacketId>,
        start: Nanos,
    ) {
        let begin = start + aggregation.overhead;
        let mut end = self
            .bottleneck
            .end_of(begin, first.packet.size_bytes, false);
        let mut sending = Sending::new(first, start, end, &mut self.events);
        while end.since(begin) < aggregation.airtime
            && self.aggregated.len() + 1 < aggregation.max_pkts as usize
            && let Some(next) = self.pop(start)
        {
            end = self.bottleneck.end_of(end, next.packet.size_bytes, true);
            let next = Sending::new(next, start, end, &mut self.events);
            self.aggregated.push(next);
        }
        sending.end = end;
        for sending in &mut self.aggregated {
            sending.end = end;
        }
        self.sending = Some(sending);
    }
}

/// What a queue needs to know of a packet.
fn description<T>(packet: &Packet<T>, id: PacketId) -> Packet<PacketId> {
    Packet {
        size_bytes: packet.size_bytes,
        class: packet.class,
        ecn: packet.ecn,
        flow: packet.flow,
        hosts: packet.hosts,
        payload: id,
    }
}

struct Sending {
    packet: Packet<PacketId>,
    queued_at: Nanos,
    start: Nanos,
    end: Nanos,
}

impl Sending {
    fn new(
        waiting: Waiting<PacketId>,
        start: Nanos,
        end: Nanos,
        events: &mut Events<PacketId>,
    ) -> Self {
        let Waiting { packet, queued_at } = waiting;
        let counters = events.class_mut(packet.class);
        counters.waiting.add(start.since(queued_at));
        Self {
            packet,
            queued_at,
            start,
            end,
        }
    }

    fn into_delivery(self) -> Delivery<PacketId> {
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
