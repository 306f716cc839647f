// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;

use crate::bottleneck::Bottleneck;
use crate::events::Events;
use crate::{Delivery, DropCause, Ecn, LinkSpec, Nanos, Packet, QueueLimit, QueueSpec};
use crate::{Probability, Rejected};

/// The plain link, which simulations have most of: drop-tail, and a wire that only
/// delays.
///
/// When a packet will arrive is settled as soon as it is taken, so each is written
/// once and read once: waiting, sending and travelling packets stand in one row.
///
/// A simulation has thousands of these, and each packet asks several of them: what is
/// looked at every time stands together, in front.
#[repr(C)]
pub(crate) struct Line<T> {
    /// When the bottleneck begins to send the first packet that waits.
    next_start: Nanos,
    /// When the first packet arrives.
    next_due: Nanos,
    /// When the bottleneck will have sent all of them.
    free_at: Nanos,
    /// In the order of their arrival, which is that of their departure.
    packets: VecDeque<Delivery<T>>,
    /// How many of them, from the front, the bottleneck has begun to send.
    started: usize,
    delay: Nanos,
    bottleneck: Bottleneck,
    waiting_bytes: u64,
    limit: QueueLimit,
    ecn_threshold: Option<QueueLimit>,
}

/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

impl<T> Line<T> {
    /// The link, if it is a plain one.
    pub(crate) fn new(spec: &LinkSpec) -> Option<Self> {
        let QueueSpec::DropTail(limit) = spec.queue else {
            return None;
        };
        let only_delays = spec.jitter == Nanos::ZERO
            && spec.reroutes.is_empty()
            && [spec.loss, spec.reorder, spec.duplicate] == [Probability::NEVER; 3];
        only_delays.then(|| Self {
            next_start: NEVER,
            next_due: NEVER,
            free_at: Nanos::ZERO,
            packets: VecDeque::new(),
            started: 0,
            delay: spec.delay,
            bottleneck: Bottleneck::new(&spec.capacity),
            waiting_bytes: 0,
            limit,
            ecn_threshold: spec.ecn_threshold,
        })
    }

    /// Takes a packet; the link is where it is at `now` already.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        if self.free_at > now {
            return self.queue(now, packet, events);
        }
        events.class_mut(packet.class).waiting.add(Nanos::ZERO);
        self.append(now, now, packet, false);
        self.started += 1;
        Ok(())
    }

    /// Counts every packet out of the queue that the bottleneck begins to send by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos, events: &mut Events<T>) {
        if self.next_start <= now {
            self.start(now, events);
        }
    }

    #[inline(never)]
    fn start(&mut self, now: Nanos, events: &mut Events<T>) {
        while let Some(delivery) = self.packets.get(self.started)
            && delivery.sent_from <= now
        {
            let waiting_pkts = self.packets.len() - self.started;
            events
                .occupancy
                .advance(delivery.sent_from, waiting_pkts, self.waiting_bytes);
            let counters = events.class_mut(delivery.packet.class);
            counters.waiting.add(delivery.waited());
            self.waiting_bytes -= u64::from(delivery.packet.size_bytes);
            self.started += 1;
        }
        let next = self.packets.get(self.started);
        self.next_start = next.map_or(NEVER, |delivery| delivery.sent_from);
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        if self.next_due > now {
            return None;
        }
        let delivery = self.packets.pop_front()?;
        // What arrives has been sent, and the link is where it is at `now`.
        self.started -= 1;
        self.next_due = self.packets.front().map_or(NEVER, |next| next.due);
        Some(delivery)
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        (!self.packets.is_empty()).then_some(self.next_due)
    }

    #[inline]
    pub(crate) fn queue_pkts(&self) -> usize {
        self.packets.len() - self.started
    }

    #[inline]
    pub(crate) fn queue_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.packets.len()
    }

    fn queue(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        let size_bytes = u64::from(packet.size_bytes);
        let waiting_pkts = self.queue_pkts();
        let has_room = match self.limit {
            QueueLimit::Packets(limit) => (waiting_pkts as u64) < limit,
            QueueLimit::Bytes(limit) => self.waiting_bytes + size_bytes <= limit,
        };
        if !has_room {
            return Err(events.rejected(packet, DropCause::Full));
        }
        let is_above = match self.ecn_threshold {
            None => false,
            Some(QueueLimit::Packets(packets)) => waiting_pkts as u64 > packets,
            Some(QueueLimit::Bytes(bytes)) => self.waiting_bytes > bytes,
        };
        if is_above && packet.ecn.is_markable() {
            packet.ecn = Ecn::Congested;
            events.marked(packet.class);
        }
        events
            .occupancy
            .advance(now, waiting_pkts, self.waiting_bytes);
        self.waiting_bytes += size_bytes;
        self.next_start = self.next_start.min(self.free_at);
        self.append(now, self.free_at, packet, true);
        events.occupancy.saw(waiting_pkts + 1, self.waiting_bytes);
        Ok(())
    }

    #[inline]
    fn append(&mut self, now: Nanos, start: Nanos, packet: Packet<T>, is_continuing: bool) {
        let size_bytes = packet.size_bytes;
        self.free_at = self.bottleneck.end_of(start, size_bytes, is_continuing);
        let due = self.free_at + self.delay;
        if self.packets.is_empty() {
            self.next_due = due;
            // Starts from the first place again, which the cache still knows.
            self.packets.clear();
        }
        self.packets.push_back(Delivery {
            packet,
            queued_at: now,
            sent_from: start,
            due,
        });
    }
}
