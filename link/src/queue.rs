// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;

use crate::{Class, Ecn, Nanos, Packet, QueueLimit, QueueSpec, Rejected};

/// Packets that wait for the bottleneck, in one queue or in two strict priorities.
pub(crate) struct Queue<T> {
    /// The queue that goes first comes first.
    fifos: [Fifo<T>; 2],
    is_priority: bool,
    ecn_threshold: Option<QueueLimit>,
}

/// A packet in the queue or at the bottleneck, since when.
pub(crate) struct Waiting<T> {
    pub(crate) packet: Packet<T>,
    pub(crate) queued_at: Nanos,
}

impl<T> Queue<T> {
    pub(crate) fn new(spec: &QueueSpec, ecn_threshold: Option<QueueLimit>) -> Self {
        let (first, second, is_priority) = match *spec {
            QueueSpec::DropTail(limit) => (limit, limit, false),
            QueueSpec::StrictPriority {
                best_effort,
                less_than_best_effort,
            } => (best_effort, less_than_best_effort, true),
        };
        Self {
            fifos: [Fifo::new(first), Fifo::new(second)],
            is_priority,
            ecn_threshold,
        }
    }

    /// Takes the packet, and answers whether it was marked because its queue is above
    /// the threshold; or hands it back.
    pub(crate) fn push(&mut self, now: Nanos, mut packet: Packet<T>) -> Result<bool, Rejected<T>> {
        let index = if self.is_priority {
            packet.class.index()
        } else {
            0
        };
        let fifo = &mut self.fifos[index];
        let is_above = self
            .ecn_threshold
            .is_some_and(|threshold| fifo.is_above(threshold));
        let is_marked = is_above && packet.ecn == Ecn::Capable;
        if is_marked {
            packet.ecn = Ecn::Congested;
        }
        fifo.push(Waiting {
            packet,
            queued_at: now,
        })?;
        Ok(is_marked)
    }

    /// The packet whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let [first, second] = &mut self.fifos;
        first.pop().or_else(|| second.pop())
    }

    /// Packets that wait, of both classes.
    pub(crate) fn len_pkts(&self) -> usize {
        self.fifos.iter().map(|fifo| fifo.packets.len()).sum()
    }

    /// Bytes that wait where this class queues.
    pub(crate) fn len_bytes(&self, class: Class) -> u64 {
        self.fifos[if self.is_priority { class.index() } else { 0 }].bytes
    }
}

struct Fifo<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
    limit: QueueLimit,
}

impl<T> Fifo<T> {
    fn new(limit: QueueLimit) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    fn push(&mut self, waiting: Waiting<T>) -> Result<(), Rejected<T>> {
        let size_bytes = u64::from(waiting.packet.size_bytes);
        let has_room = match self.limit {
            QueueLimit::Packets(limit) => (self.packets.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.bytes + size_bytes <= limit,
        };
        if !has_room {
            return Err(Rejected(waiting.packet));
        }
        self.bytes += size_bytes;
        self.packets.push_back(waiting);
        Ok(())
    }

    fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.packet.size_bytes);
        Some(waiting)
    }

    fn is_above(&self, threshold: QueueLimit) -> bool {
        match threshold {
            QueueLimit::Packets(packets) => self.packets.len() as u64 > packets,
            QueueLimit::Bytes(bytes) => self.bytes > bytes,
        }
    }
}
