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
pub(crate) struct Line<T> {
    /// In the order of their arrival, which is that of their departure.
    packets: VecDeque<Delivery<T>>,
    /// How many of them, from the front, the bottleneck has begun to send.
    started: usize,
    waiting_bytes: u64,
    /// When the bottleneck will have sent all of them.
    free_at: Nanos,
    bottleneck: Bottleneck,
    limit: QueueLimit,
    ecn_threshold: Option<QueueLimit>,
    delay: Nanos,
}

impl<T> Line<T> {
    /// The link, if it is a plain one.
    pub(crate) fn new(spec: &LinkSpec) -> Option<Self> {
        let QueueSpec::DropTail(limit) = spec.queue else {
            return None;
        };
        let only_delays = spec.jitter == Nanos::ZERO
            && [spec.loss, spec.reorder, spec.duplicate] == [Probability::NEVER; 3];
        only_delays.then(|| Self {
            packets: VecDeque::new(),
            started: 0,
            waiting_bytes: 0,
            free_at: Nanos::ZERO,
            bottleneck: Bottleneck::new(&spec.capacity),
            limit,
            ecn_threshold: spec.ecn_threshold,
            delay: spec.delay,
        })
    }

    /// Takes a packet; the link is where it is at `now` already.
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
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        if self.packets.front()?.due > now {
            return None;
        }
        // What arrives has been sent, and the link is where it is at `now`.
        self.started -= 1;
        self.packets.pop_front()
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.packets.front().map(|delivery| delivery.due)
    }

    pub(crate) fn queue_pkts(&self) -> usize {
        self.packets.len() - self.started
    }

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
        if is_above && packet.ecn == Ecn::Capable {
            packet.ecn = Ecn::Congested;
            events.marked(packet.class);
        }
        events
            .occupancy
            .advance(now, waiting_pkts, self.waiting_bytes);
        self.waiting_bytes += size_bytes;
        self.append(now, self.free_at, packet, true);
        events.occupancy.saw(waiting_pkts + 1, self.waiting_bytes);
        Ok(())
    }

    fn append(&mut self, now: Nanos, start: Nanos, packet: Packet<T>, is_continuing: bool) {
        let size_bytes = packet.size_bytes;
        self.free_at = self.bottleneck.end_of(start, size_bytes, is_continuing);
        self.packets.push_back(Delivery {
            packet,
            queued_at: now,
            sent_from: start,
            due: self.free_at + self.delay,
        });
    }
}
