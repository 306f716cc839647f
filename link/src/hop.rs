// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::events::Events;
use crate::general::General;
use crate::line::Line;
use crate::packets::{PacketId, Packets};
use crate::{Class, Dropped, LinkError, LinkSpec, LinkStatistics, Nanos, Occupancy};

/// A one-way link, one of many over the same [`Packets`]: packets go in, and come out when
/// they are due.
///
/// Times given to one link must not go back.
pub struct Hop {
    path: Path,
}

/// Plain links take a short cut; what comes out is the same. Which it is stands in front, where
/// the processor has it at hand with what a plain link looks at first.
#[repr(C, u64)]
enum Path {
    Line(Line),
    General(Box<General>),
}

impl Hop {
    /// An empty link.
    ///
    /// *Errors:* [`LinkError::Spec`] when parts of the specification contradict,
    /// [`LinkError::Queue`] when a value of the queue is out of its range.
    pub fn new(spec: &LinkSpec, seed: u64) -> Result<Self, LinkError> {
        spec.validate()?;
        Ok(Self {
            path: match Line::new(spec) {
                Some(line) => Path::Line(line),
                None => Path::General(Box::new(General::new(spec, seed))),
            },
        })
    }

    /// Gives a packet to the link.
    ///
    /// *Errors:* hands the packet back when its queue is full, or does not take it to
    /// signal congestion.
    #[inline]
    pub fn enqueue<T: Clone + Default>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
        id: PacketId,
    ) -> Result<(), PacketId> {
        match &mut self.path {
            Path::Line(line) => line.enqueue(now, packets, id),
            Path::General(general) => general.enqueue(now, packets, id),
        }
    }

    /// The packet that is due first, if one is due; call until `None`.
    #[inline]
    pub fn poll<T: Clone + Default>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
    ) -> Option<PacketId> {
        match &mut self.path {
            Path::Line(line) => line.poll(now, packets),
            Path::General(general) => general.poll(now, packets),
        }
    }

    /// The time before which [`Hop::poll`] has nothing; `None` when the link is empty.
    ///
    /// With random loss or jitter there may be nothing at that time either: ask again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Nanos> {
        match &self.path {
            Path::Line(line) => line.next_deadline(),
            Path::General(general) => general.next_deadline(),
        }
    }

    /// What happened so far, or since [`Hop::restart_statistics`]; none after
    /// [`Hop::stop_counting`].
    pub fn statistics(&self) -> Option<&LinkStatistics> {
        let events = match &self.path {
            Path::Line(line) => line.events(),
            Path::General(general) => Some(&general.events),
        };
        events.map(|events| &events.statistics)
    }

    /// How full the queue was up to `now`, since the link's first packet or since
    /// [`Hop::restart_statistics`]; none after [`Hop::stop_counting`].
    pub fn occupancy<T: Clone + Default>(
        &mut self,
        now: Nanos,
        packets: &mut Packets<T>,
    ) -> Option<Occupancy> {
        self.advance(now, packets);
        let (pkts, bytes) = self.queue_length();
        let events = self.events_mut()?;
        events.occupancy.advance(now, pkts, bytes);
        Some(events.occupancy)
    }

    /// Begins to count anew at `now`, after a warm-up for example. Packets that are on
    /// the link then come out without ever having been offered.
    pub fn restart_statistics<T: Clone + Default>(&mut self, now: Nanos, packets: &mut Packets<T>) {
        self.advance(now, packets);
        let (pkts, bytes) = self.queue_length();
        if let Some(events) = self.events_mut() {
            events.statistics = LinkStatistics::default();
            events.occupancy = Occupancy::starting(now, pkts, bytes);
        }
    }

    /// From now on counts nothing, if it can do without: nobody will ask.
    pub fn stop_counting(&mut self) {
        match &mut self.path {
            Path::Line(line) => line.stop_counting(),
            // What it drops from inside stands beside what it counts.
            Path::General(_) => {}
        }
    }

    /// From now on keeps packets that the link drops from inside, for
    /// [`Hop::next_dropped`]: head drops of CoDel, overflow of FQ-CoDel, losses of the
    /// wire. What [`Hop::enqueue`] hands back is not among them.
    pub fn keep_dropped(&mut self) {
        if let Some(events) = self.events_mut() {
            events.keep_dropped();
        }
    }

    /// The oldest packet that was dropped from inside and not asked for yet.
    #[inline]
    pub fn next_dropped<T>(&mut self, packets: &mut Packets<T>) -> Option<Dropped<PacketId>> {
        match &mut self.path {
            // It has nowhere to drop but at its entrance.
            Path::Line(_) => None,
            Path::General(general) => general.next_dropped(packets),
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
    pub fn len_pkts<T>(&self, packets: &Packets<T>) -> usize {
        match &self.path {
            Path::Line(line) => line.len_pkts(packets),
            Path::General(general) => general.len_pkts(),
        }
    }

    fn queue_length(&self) -> (usize, u64) {
        match &self.path {
            Path::Line(line) => (line.queue_pkts(), line.queue_bytes()),
            Path::General(general) => (general.queue_pkts(), general.queue_bytes()),
        }
    }

    fn events_mut(&mut self) -> Option<&mut Events<PacketId>> {
        match &mut self.path {
            Path::Line(line) => line.events_mut(),
            Path::General(general) => Some(&mut general.events),
        }
    }

    fn advance<T: Clone + Default>(&mut self, now: Nanos, packets: &mut Packets<T>) {
        match &mut self.path {
            Path::Line(line) => line.advance(now, packets),
            Path::General(general) => general.advance(now, packets),
        }
    }
}
