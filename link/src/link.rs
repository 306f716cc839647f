// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::bottleneck::Bottleneck;
use crate::queue::{Queue, Waiting};
use crate::wire::Wire;
use crate::{Class, LinkError, LinkSpec, LinkStatistics, Nanos, Packet, Rejected};

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
    statistics: LinkStatistics,
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
    /// *Errors:* [`LinkError::Spec`] when parts of the specification contradict.
    pub fn new(spec: &LinkSpec, seed: u64) -> Result<Self, LinkError> {
        spec.validate()?;
        Ok(Self {
            now: Nanos::ZERO,
            queue: Queue::new(&spec.queue, spec.ecn_threshold),
            bottleneck: Bottleneck::new(&spec.capacity),
            sending: None,
            wire: Wire::new(spec, seed),
            statistics: LinkStatistics::default(),
        })
    }

    /// Gives a packet to the link.
    ///
    /// *Errors:* hands the packet back when its queue is full.
    pub fn enqueue(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Rejected<T>> {
        self.advance(now);
        let class = packet.class;
        let counters = self.statistics.class_mut(class);
        counters.offered_pkts += 1;
        counters.offered_bytes += u64::from(packet.size_bytes);
        if self.sending.is_none() {
            self.start(
                Waiting {
                    packet,
                    queued_at: self.now,
                },
                self.now,
                false,
            );
            // A packet that takes no time to send must not wait for the next call.
            self.advance(now);
            return Ok(());
        }
        let result = self.queue.push(self.now, packet);
        let counters = self.statistics.class_mut(class);
        match &result {
            Ok(is_marked) => counters.marked_pkts += u64::from(*is_marked),
            Err(_) => counters.dropped_pkts += 1,
        }
        result.map(|_| ())
    }

    /// The packet that is due first, if one is due; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.advance(now);
        let delivery = self.wire.pop(self.now)?;
        let counters = self.statistics.class_mut(delivery.packet.class);
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

    /// What happened so far.
    pub fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }

    /// Packets that wait for the bottleneck, of both classes.
    pub fn queue_pkts(&self) -> usize {
        self.queue.len_pkts()
    }

    /// Bytes that wait in the queue of this class.
    pub fn queue_bytes(&self, class: Class) -> u64 {
        self.queue.len_bytes(class)
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
            self.wire
                .send(sending.into_delivery(), &mut self.statistics);
            if let Some(waiting) = self.queue.pop() {
                self.start(waiting, end, true);
            }
        }
    }

    fn start(&mut self, waiting: Waiting<T>, start: Nanos, is_continuing: bool) {
        let Waiting { packet, queued_at } = waiting;
        let end = self
            .bottleneck
            .end_of(start, packet.size_bytes, is_continuing);
        let counters = self.statistics.class_mut(packet.class);
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
