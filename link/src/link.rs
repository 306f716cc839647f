// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::bottleneck::Bottleneck;
use crate::events::Events;
use crate::occupancy::Occupancy;
use crate::queue::{Queue, Waiting};
use crate::wire::Wire;
use crate::{Class, Dropped, LinkError, LinkSpec, LinkStatistics, Nanos, Packet, Rejected};

/// A one-way link: packets go in, and come out when they are due.
///
/// Times given to one link must not go back; one that does is taken as the latest
/// time that the link has seen.
pub struct Link<T> {
    now: Nanos,
    queue: Queue<T>,
    bottleneck: Bottleneck,
    sending: Option<Sending<T>>,
    wire: Wire<T>,
    events: Events<T>,
    occupancy: Occupancy,
}

/// A packet that has arrived, and its times on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The packet.
    pub packet: Packet<T>,
    /// When it was given to the link.
    pub queued_at: Nanos,
    /// When the bottleneck began to send it: it waited from `queued_at` to here.
    pub sent_from: Nanos,
    /// When it arrives.
    pub due: Nanos,
}

impl<T> Delivery<T> {
    /// How long the packet waited in the queue.
    pub fn waited(&self) -> Nanos {
        self.sent_from.since(self.queued_at)
    }
}

impl<T: Clone> Link<T> {
    /// An empty link.
    ///
    /// *Errors:* [`LinkError::Spec`] when parts of the specification contradict,
    /// [`LinkError::Queue`] when a value of the queue is out of its range.
    pub fn new(spec: &LinkSpec, seed: u64) -> Result<Self, LinkError> {
        spec.validate()?;
        Ok(Self {
            now: Nanos::ZERO,
            queue: Queue::new(spec, seed),
            bottleneck: Bottleneck::new(&spec.capacity),
            sending: None,
            wire: Wire::new(spec, seed),
            events: Events::default(),
            occupancy: Occupancy::default(),
        })
    }

    /// Gives a packet to the link.
    ///
    /// *Errors:* hands the packet back when its queue is full, or does not take it to
    /// signal congestion.
    pub fn enqueue(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Rejected<T>> {
        self.advance(now);
        let counters = self.events.class_mut(packet.class);
        counters.offered_pkts += 1;
        counters.offered_bytes += u64::from(packet.size_bytes);
        if self.sending.is_some() {
            return self.push(packet);
        }
        if self.queue.is_bypassed_when_idle() {
            let queued_at = self.now;
            self.start(Waiting { packet, queued_at }, self.now, false);
        } else {
            self.push(packet)?;
            if let Some(waiting) = self.pop(self.now) {
                self.start(waiting, self.now, false);
            }
        }
        // A packet that takes no time to send must not wait for the next call.
        self.advance(now);
        Ok(())
    }

    /// The packet that is due first, if one is due; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.advance(now);
        let delivery = self.wire.pop(self.now)?;
        let counters = self.events.class_mut(delivery.packet.class);
        counters.delivered_pkts += 1;
        counters.delivered_bytes += u64::from(delivery.packet.size_bytes);
        Some(delivery)
    }

    /// The time before which [`Link::poll`] has nothing; `None` when the link is empty.
    ///
    /// With random loss or jitter there may be nothing at that time either: ask again.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let sending = self
            .sending
            .as_ref()
            .map(|sending| sending.end + self.wire.delay());
        match (self.wire.next_due(), sending) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (first, second) => first.or(second),
        }
    }

    /// What happened so far, or since [`Link::restart_statistics`].
    pub fn statistics(&self) -> &LinkStatistics {
        &self.events.statistics
    }

    /// How full the queue was up to `now`, since the link's first packet or since
    /// [`Link::restart_statistics`].
    pub fn occupancy(&mut self, now: Nanos) -> Occupancy {
        self.advance(now);
        self.occupancy.advance(self.now, &self.queue);
        self.occupancy
    }

    /// Begins to count anew at `now`, after a warm-up for example. Packets that are on
    /// the link then come out without ever having been offered.
    pub fn restart_statistics(&mut self, now: Nanos) {
        self.advance(now);
        self.events.statistics = LinkStatistics::default();
        self.occupancy = Occupancy::starting(self.now, &self.queue);
    }

    /// From now on keeps packets that the link drops from inside, for
    /// [`Link::next_dropped`]: head drops of CoDel, overflow of FQ-CoDel, losses of the
    /// wire. What [`Link::enqueue`] hands back is not among them.
    pub fn keep_dropped(&mut self) {
        self.events.keep_dropped();
    }

    /// The oldest packet that was dropped from inside and not asked for yet.
    pub fn next_dropped(&mut self) -> Option<Dropped<T>> {
        self.events.next_dropped()
    }

    /// Packets that wait for the bottleneck, of both classes.
    pub fn queue_pkts(&self) -> usize {
        self.queue.len_pkts()
    }

    /// Bytes that wait in the queue of this class.
    pub fn queue_bytes(&self, class: Class) -> u64 {
        self.queue.class_bytes(class)
    }

    /// Packets that are anywhere on the link.
    pub fn len_pkts(&self) -> usize {
        self.queue.len_pkts() + usize::from(self.sending.is_some()) + self.wire.len_pkts()
    }

    /// Ends every transmission that is over by `now`, in order.
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        while let Some(sending) = self.sending.take_if(|sending| sending.end <= self.now) {
            let end = sending.end;
            self.wire.send(sending.into_delivery(), &mut self.events);
            if let Some(waiting) = self.pop(end) {
                self.start(waiting, end, true);
            }
        }
    }

    fn push(&mut self, packet: Packet<T>) -> Result<(), Rejected<T>> {
        self.occupancy.advance(self.now, &self.queue);
        let result = self.queue.push(self.now, packet, &mut self.events);
        self.occupancy.saw(&self.queue);
        result
    }

    /// The packet that the bottleneck sends next, from `time` on.
    fn pop(&mut self, time: Nanos) -> Option<Waiting<T>> {
        self.occupancy.advance(time, &self.queue);
        self.queue.pop(time, &mut self.events)
    }

    fn start(&mut self, waiting: Waiting<T>, start: Nanos, is_continuing: bool) {
        let Waiting { packet, queued_at } = waiting;
        let end = self
            .bottleneck
            .end_of(start, packet.size_bytes, is_continuing);
        let counters = self.events.class_mut(packet.class);
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
