// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::events::Events;
use crate::general::General;
use crate::line::Line;
use crate::{
    Class, Dropped, LinkError, LinkSpec, LinkStatistics, Nanos, Occupancy, Packet, Rejected,
};

/// A one-way link: packets go in, and come out when they are due.
///
/// Times given to one link must not go back; one that does is taken as the latest
/// time that the link has seen.
#[repr(C)]
pub struct Link<T> {
    now: Nanos,
    path: Path<T>,
    events: Events<T>,
}

/// Plain links take a short cut; what comes out is the same.
enum Path<T> {
    Line(Line<T>),
    General(Box<General<T>>),
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
            path: match Line::new(spec) {
                Some(line) => Path::Line(line),
                None => Path::General(Box::new(General::new(spec, seed))),
            },
            events: Events::default(),
        })
    }

    /// Gives a packet to the link.
    ///
    /// *Errors:* hands the packet back when its queue is full, or does not take it to
    /// signal congestion.
    #[inline]
    pub fn enqueue(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Rejected<T>> {
        self.advance(now);
        let counters = self.events.class_mut(packet.class);
        counters.offered_pkts += 1;
        counters.offered_bytes += u64::from(packet.size_bytes);
        match &mut self.path {
            Path::Line(line) => line.enqueue(self.now, packet, &mut self.events),
            Path::General(general) => general.enqueue(self.now, packet, &mut self.events),
        }
    }

    /// The packet that is due first, if one is due; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.advance(now);
        let delivery = match &mut self.path {
            Path::Line(line) => line.poll(self.now),
            Path::General(general) => general.poll(self.now),
        }?;
        let counters = self.events.class_mut(delivery.packet.class);
        counters.delivered_pkts += 1;
        counters.delivered_bytes += u64::from(delivery.packet.size_bytes);
        Some(delivery)
    }

    /// The time before which [`Link::poll`] has nothing; `None` when the link is empty.
    ///
    /// With random loss or jitter there may be nothing at that time either: ask again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Nanos> {
        match &self.path {
            Path::Line(line) => line.next_deadline(),
            Path::General(general) => general.next_deadline(),
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
        let (pkts, bytes) = self.queue_length();
        self.events.occupancy.advance(self.now, pkts, bytes);
        self.events.occupancy
    }

    /// Begins to count anew at `now`, after a warm-up for example. Packets that are on
    /// the link then come out without ever having been offered.
    pub fn restart_statistics(&mut self, now: Nanos) {
        self.advance(now);
        self.events.statistics = LinkStatistics::default();
        let (pkts, bytes) = self.queue_length();
        self.events.occupancy = Occupancy::starting(self.now, pkts, bytes);
    }

    /// From now on keeps packets that the link drops from inside, for
    /// [`Link::next_dropped`]: head drops of CoDel, overflow of FQ-CoDel, losses of the
    /// wire. What [`Link::enqueue`] hands back is not among them.
    pub fn keep_dropped(&mut self) {
        self.events.keep_dropped();
    }

    /// The oldest packet that was dropped from inside and not asked for yet.
    #[inline]
    pub fn next_dropped(&mut self) -> Option<Dropped<T>> {
        match self.path {
            // It has nowhere to drop but at its entrance.
            Path::Line(_) => None,
            Path::General(_) => self.events.next_dropped(),
        }
    }

    /// Packets that wait for the bottleneck, of both classes.
    pub fn queue_pkts(&self) -> usize {
        self.queue_length().0
    }

    /// Bytes that wait in the queue of this class.
    pub fn queue_bytes(&self, class: Class) -> u64 {
        match &self.path {
            Path::Line(line) => line.queue_bytes(),
            Path::General(general) => general.class_bytes(class),
        }
    }

    /// Packets that are anywhere on the link.
    pub fn len_pkts(&self) -> usize {
        match &self.path {
            Path::Line(line) => line.len_pkts(),
            Path::General(general) => general.len_pkts(),
        }
    }

    fn queue_length(&self) -> (usize, u64) {
        match &self.path {
            Path::Line(line) => (line.queue_pkts(), line.queue_bytes()),
            Path::General(general) => (general.queue_pkts(), general.queue_bytes()),
        }
    }

    #[inline]
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        match &mut self.path {
            Path::Line(line) => line.advance(self.now, &mut self.events),
            Path::General(general) => general.advance(self.now, &mut self.events),
        }
    }
}
