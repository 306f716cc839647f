// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;

use super::Waiting;
use crate::{Nanos, Packet, QueueLimit};

/// Packets in the order of their arrival, up to a limit.
pub(crate) struct Fifo<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
    limit: QueueLimit,
}

impl<T> Fifo<T> {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    /// Whether a packet of this size fits.
    pub(crate) fn has_room_for(&self, size_bytes: u32) -> bool {
        let bytes = self.bytes + u64::from(size_bytes);
        self.limit.holds(self.packets.len() + 1, bytes)
    }

    /// Takes a packet; the caller has seen that it fits.
    pub(crate) fn push(&mut self, now: Nanos, packet: Packet<T>) {
        self.bytes += u64::from(packet.size_bytes);
        self.packets.push_back(Waiting {
            packet,
            queued_at: now,
        });
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.packet.size_bytes);
        Some(waiting)
    }

    /// Since when the first packet has been here.
    pub(crate) fn first_since(&self) -> Option<Nanos> {
        self.packets.front().map(|waiting| waiting.queued_at)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether more than this waits.
    pub(crate) fn is_above(&self, threshold: QueueLimit) -> bool {
        !threshold.holds(self.packets.len(), self.bytes)
    }
}
