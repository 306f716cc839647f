// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::num::NonZeroU32;

use crate::{Class, Nanos, Packet};

/// Packets on their way, over any number of links.
///
/// Each stays where it is until it has arrived, and links pass on its number. So the memory
/// of thousands of links is that of the packets which are there, and the place of one that
/// has left, which the processor still has at hand, is the next to be used.
#[derive(Debug)]
pub struct Packets<T> {
    slots: Vec<Slot<T>>,
    /// The slot that became free last.
    free: Option<PacketId>,
}

/// A packet among [`Packets`]. *Shape:* numbers begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId(NonZeroU32);

/// A packet and its times. *Shape:* what links look at stands in one line of the cache,
/// together with the first 16 bytes of what the owner wants carried along.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<T> {
    /// When the packet was given to the link that it is on.
    pub(crate) queued_at: Nanos,
    /// When the bottleneck began to send it, or will begin.
    pub(crate) sent_from: Nanos,
    /// When it arrives.
    pub(crate) due: Nanos,
    /// The one after it, on its link or among those that are free.
    pub(crate) next: Option<PacketId>,
    pub(crate) packet: Packet<T>,
}

impl<T> Default for Packets<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: None,
        }
    }
}

impl<T> Packets<T> {
    /// A place for a packet, which its owner fills: what is there is of one that has left.
    ///
    /// *Panics:* with 2^32 packets at the same time.
    #[inline]
    pub fn claim(&mut self) -> (PacketId, &mut Packet<T>)
    where
        T: Default,
    {
        let id = match self.free {
            Some(id) => id,
            None => self.grow(),
        };
        let slot = &mut self.slots[id.index()];
        self.free = slot.next.take();
        (id, &mut slot.packet)
    }

    /// The same packet once more, in a place of its own.
    pub(crate) fn duplicate(&mut self, id: PacketId) -> PacketId
    where
        T: Clone + Default,
    {
        let packet = self.get(id).clone();
        let (copy, place) = self.claim();
        *place = packet;
        copy
    }

    /// Leaves the place of a packet to the next one.
    #[inline]
    pub fn free(&mut self, id: PacketId) {
        let next = self.free.replace(id);
        self.slot_mut(id).next = next;
    }

    /// The packet.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet<T> {
        &self.slot(id).packet
    }

    /// The packet; what is changed while it is on a link, such as its size, is the owner's
    /// risk.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet<T> {
        &mut self.slot_mut(id).packet
    }

    /// How long a packet waited in the queue of the link that it came out of last.
    #[inline]
    pub fn waited(&self, id: PacketId) -> Nanos {
        let slot = self.slot(id);
        slot.sent_from.since(slot.queued_at)
    }

    #[inline]
    pub(crate) fn slot(&self, id: PacketId) -> &Slot<T> {
        &self.slots[id.index()]
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, id: PacketId) -> &mut Slot<T> {
        &mut self.slots[id.index()]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> PacketId
    where
        T: Default,
    {
        self.slots.push(Slot {
            queued_at: Nanos::ZERO,
            sent_from: Nanos::ZERO,
            due: Nanos::ZERO,
            next: None,
            packet: Packet::new(0, Class::BestEffort, T::default()),
        });
        let number = u32::try_from(self.slots.len())
            .ok()
            .and_then(NonZeroU32::new);
        PacketId(number.expect("fewer than 2^32 packets at the same time"))
    }
}

impl PacketId {
    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(packets: &mut Packets<u32>, number: u32) -> PacketId {
        let (id, packet) = packets.claim();
        *packet = Packet::new(1_500, Class::BestEffort, number);
        id
    }

    #[test]
    fn uses_the_place_that_became_free_last() {
        let mut packets = Packets::default();
        let ids: Vec<_> = (0..3).map(|number| add(&mut packets, number)).collect();
        packets.free(ids[0]);
        packets.free(ids[2]);
        assert_eq!(add(&mut packets, 7), ids[2]);
        assert_eq!(add(&mut packets, 8), ids[0]);
        assert_eq!(add(&mut packets, 9).index(), 3);
        let numbers: Vec<_> = ids.iter().map(|id| packets.get(*id).payload).collect();
        assert_eq!(numbers, [8, 1, 7]);
    }

    #[test]
    fn keeps_what_links_look_at_in_one_line() {
        assert_eq!(std::mem::offset_of!(Slot<[u64; 10]>, packet.payload), 48);
        assert_eq!(size_of::<Slot<[u64; 10]>>(), 128);
    }
}
