// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::bottleneck::Bottleneck;
use crate::events::Events;
use crate::packets::{PacketId, Packets};
use crate::{DropCause, Ecn, LinkSpec, Nanos, Probability, QueueLimit, QueueSpec};

/// The plain link, which simulations have most of: drop-tail, and a wire that only
/// delays.
///
/// When a packet will arrive is settled as soon as it is taken: waiting, sending and
/// travelling packets stand in one row.
///
/// A simulation has thousands of these, and each packet asks several of them: what is
/// looked at every time stands together, in front; what only a packet needs that waits comes
/// last.
#[repr(C)]
pub(crate) struct Line {
    /// When the bottleneck begins to send the first packet that waits.
    next_start: Nanos,
    /// When the first packet arrives.
    next_due: Nanos,
    /// When the bottleneck will have sent all of them.
    free_at: Nanos,
    /// The row, in the order of arrival, which is that of departure.
    first: Option<PacketId>,
    last: Option<PacketId>,

    delay: Nanos,
    bottleneck: Bottleneck,
    /// None if nobody wants to know.
    events: Option<Box<Events<PacketId>>>,

    /// The first in the row that the bottleneck has not begun to send.
    waiting: Option<PacketId>,
    waiting_pkts: u32,
    waiting_bytes: u64,
    limit: QueueLimit,
    ecn_threshold: Option<QueueLimit>,
}

/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

impl Line {
    /// The link, if it is a plain one.
    pub(crate) fn new(spec: &LinkSpec) -> Option<Self> {
        let QueueSpec::DropTail(limit) = spec.queue else {
            return None;
        };
        let only_delays = spec.jitter == Nanos::ZERO
            && spec.reroutes.is_empty()
            && spec.aggregation.is_none()
            && [spec.loss, spec.reorder, spec.duplicate] == [Probability::NEVER; 3];
        only_delays.then(|| Self {
            next_start: NEVER,
            next_due: NEVER,
            free_at: Nanos::ZERO,
            first: None,
            last: None,
            delay: spec.delay,
            bottleneck: Bottleneck::new(spec),
            events: Some(Box::default()),
            waiting: None,
            waiting_pkts: 0,
            waiting_bytes: 0,
            limit,
            ecn_threshold: spec.ecn_threshold,
        })
    }

    /// Takes a packet, or not if its queue is full.
    #[inline]
    pub(crate) fn enqueue<T>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
        id: PacketId,
    ) -> Result<(), PacketId> {
        self.advance(now, packets);
        if let Some(events) = &mut self.events {
            events.offered(packets.get(id));
        }
        if self.free_at > now {
            return self.queue(now, packets, id);
        }
        if let Some(events) = &mut self.events {
            let class = packets.get(id).class;
            events.class_mut(class).waiting.add(Nanos::ZERO);
        }
        self.append(now, now, packets, id);
        Ok(())
    }

    /// Counts every packet out of the queue that the bottleneck begins to send by `now`.
    #[inline]
    pub(crate) fn advance<T>(&mut self, now: Nanos, packets: &Packets<T>) {
        if self.next_start <= now {
            self.start(now, packets);
        }
    }

    #[inline(never)]
    fn start<T>(&mut self, now: Nanos, packets: &Packets<T>) {
        self.next_start = NEVER;
        while let Some(id) = self.waiting {
            let slot = packets.slot(id);
            if slot.sent_from > now {
                self.next_start = slot.sent_from;
                break;
            }
            if let Some(events) = &mut self.events {
                let pkts = self.waiting_pkts as usize;
                events
                    .occupancy
                    .advance(slot.sent_from, pkts, self.waiting_bytes);
                let counters = events.class_mut(slot.packet.class);
                counters.waiting.add(slot.sent_from.since(slot.queued_at));
            }
            self.waiting_pkts -= 1;
            self.waiting_bytes -= u64::from(slot.packet.size_bytes);
            self.waiting = slot.next;
        }
    }

    /// The packet that is due first, if it is due by `now`.
    #[inline]
    pub(crate) fn poll<T>(&mut self, now: Nanos, packets: &mut Packets<T>) -> Option<PacketId> {
        self.advance(now, packets);
        if self.next_due > now {
            return None;
        }
        let id = self.first?;
        if let Some(events) = &mut self.events {
            events.delivered(packets.get(id));
        }
        self.first = packets.slot_mut(id).next.take();
        self.next_due = match self.first {
            Some(next) => packets.slot(next).due,
            None => NEVER,
        };
        Some(id)
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.first.map(|_| self.next_due)
    }

    #[inline]
    pub(crate) fn queue_pkts(&self) -> usize {
        self.waiting_pkts as usize
    }

    #[inline]
    pub(crate) fn queue_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    pub(crate) fn len_pkts<T>(&self, packets: &Packets<T>) -> usize {
        let row = std::iter::successors(self.first, |id| packets.slot(*id).next);
        row.count()
    }

    pub(crate) fn events(&self) -> Option<&Events<PacketId>> {
        self.events.as_deref()
    }

    pub(crate) fn events_mut(&mut self) -> Option<&mut Events<PacketId>> {
        self.events.as_deref_mut()
    }

    pub(crate) fn stop_counting(&mut self) {
        self.events = None;
    }

    #[inline]
    fn is_above_threshold(&self) -> bool {
        let (pkts, bytes) = (self.waiting_pkts as usize, self.waiting_bytes);
        self.ecn_threshold
            .is_some_and(|threshold| !threshold.holds(pkts, bytes))
    }

    fn queue<T>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
        id: PacketId,
    ) -> Result<(), PacketId> {
        let packet = packets.get_mut(id);
        let size_bytes = u64::from(packet.size_bytes);
        let bytes = self.waiting_bytes + size_bytes;
        if !self.limit.holds(self.waiting_pkts as usize + 1, bytes) {
            if let Some(events) = &mut self.events {
                events.count(packet.class, DropCause::Full);
            }
            return Err(id);
        }
        let is_marked = self.is_above_threshold() && packet.ecn.is_markable();
        if is_marked {
            packet.ecn = Ecn::Congested;
        }
        if let Some(events) = &mut self.events {
            if is_marked {
                events.marked(packet.class);
            }
            let (pkts, bytes) = (self.waiting_pkts as usize, self.waiting_bytes);
            events.occupancy.advance(now, pkts, bytes);
            events.occupancy.saw(pkts + 1, bytes + size_bytes);
        }
        self.waiting_pkts += 1;
        self.waiting_bytes += size_bytes;
        if self.waiting.is_none() {
            self.waiting = Some(id);
            self.next_start = self.free_at;
        }
        self.append(now, self.free_at, packets, id);
        Ok(())
    }

    /// Puts a packet at the end of the row that the bottleneck begins to send at `start`:
    /// right after the one before it, if that is later than `now`.
    #[inline]
    fn append<T>(&mut self, now: Nanos, start: Nanos, packets: &mut Packets<T>, id: PacketId) {
        let slot = packets.slot_mut(id);
        let size_bytes = slot.packet.size_bytes;
        self.free_at = self.bottleneck.end_of(start, size_bytes, start > now);
        slot.queued_at = now;
        slot.sent_from = start;
        slot.due = self.free_at + self.delay;
        if self.first.is_none() {
            self.next_due = slot.due;
            self.first = Some(id);
        } else if let Some(last) = self.last {
            packets.slot_mut(last).next = Some(id);
        }
        self.last = Some(id);
    }
}
