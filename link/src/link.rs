// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::{
    Class, Dropped, Hop, LinkError, LinkSpec, LinkStatistics, Nanos, Occupancy, Packet, PacketId,
    Packets, Rejected,
};

/// A one-way link with packets of its own: they go in, and come out when they are due.
///
/// Times given to one link must not go back; one that does is taken as the latest
/// time that the link has seen.
pub struct Link<T> {
    now: Nanos,
    packets: Packets<Option<T>>,
    hop: Hop,
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
    /// *Errors:* as [`Hop::new`].
    pub fn new(spec: &LinkSpec, seed: u64) -> Result<Self, LinkError> {
        Ok(Self {
            now: Nanos::ZERO,
            packets: Packets::default(),
            hop: Hop::new(spec, seed)?,
        })
    }

    /// Gives a packet to the link.
    ///
    /// *Errors:* hands the packet back when its queue is full, or does not take it to
    /// signal congestion.
    #[inline]
    pub fn enqueue(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Rejected<T>> {
        self.now = self.now.max(now);
        let (id, place) = self.packets.claim();
        *place = packet.map(Some);
        let result = self.hop.enqueue(self.now, &mut self.packets, id);
        result.map_err(|id| Rejected(self.take(id)))
    }

    /// The packet that is due first, if one is due; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Delivery<T>> {
        self.now = self.now.max(now);
        let id = self.hop.poll(self.now, &mut self.packets)?;
        let slot = self.packets.slot(id);
        let (queued_at, sent_from, due) = (slot.queued_at, slot.sent_from, slot.due);
        Some(Delivery {
            packet: self.take(id),
            queued_at,
            sent_from,
            due,
        })
    }

    /// The time before which [`Link::poll`] has nothing; `None` when the link is empty.
    ///
    /// With random loss or jitter there may be nothing at that time either: ask again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.hop.next_deadline()
    }

    /// What happened so far, or since [`Link::restart_statistics`].
    pub fn statistics(&self) -> &LinkStatistics {
        self.hop.statistics().expect("counting never stops")
    }

    /// How full the queue was up to `now`, since the link's first packet or since
    /// [`Link::restart_statistics`].
    pub fn occupancy(&mut self, now: Nanos) -> Occupancy {
        self.now = self.now.max(now);
        let occupancy = self.hop.occupancy(self.now, &mut self.packets);
        occupancy.expect("counting never stops")
    }

    /// Begins to count anew at `now`, after a warm-up for example. Packets that are on
    /// the link then come out without ever having been offered.
    pub fn restart_statistics(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.hop.restart_statistics(self.now, &mut self.packets);
    }

    /// From now on keeps packets that the link drops from inside, for
    /// [`Link::next_dropped`]: head drops of CoDel, overflow of FQ-CoDel, losses of the
    /// wire. What [`Link::enqueue`] hands back is not among them.
    pub fn keep_dropped(&mut self) {
        self.hop.keep_dropped();
    }

    /// The oldest packet that was dropped from inside and not asked for yet.
    #[inline]
    pub fn next_dropped(&mut self) -> Option<Dropped<T>> {
        let Dropped { packet, at, cause } = self.hop.next_dropped(&mut self.packets)?;
        let packet = self.take(packet.payload);
        Some(Dropped { packet, at, cause })
    }

    /// Packets that wait for the bottleneck, of both classes.
    pub fn queue_pkts(&self) -> usize {
        self.hop.queue_pkts()
    }

    /// Bytes that wait in the queue of this class.
    pub fn queue_bytes(&self, class: Class) -> u64 {
        self.hop.queue_bytes(class)
    }

    /// Packets that are anywhere on the link.
    pub fn len_pkts(&self) -> usize {
        self.hop.len_pkts(&self.packets)
    }

    /// A packet that leaves.
    fn take(&mut self, id: PacketId) -> Packet<T> {
        let place = self.packets.get_mut(id);
        let payload = place.payload.take().expect("a packet leaves once");
        let packet = Packet {
            size_bytes: place.size_bytes,
            class: place.class,
            ecn: place.ecn,
            flow: place.flow,
            hosts: place.hosts,
            payload,
        };
        self.packets.free(id);
        packet
    }
}
