// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::{Class, DropCause, Nanos, Packet, QueueLimit, QueueSpec, Rejected};

/// Drop-tail, or two strict priorities of it, with an optional ECN step.
pub(crate) struct SimpleQueue<T> {
    /// The queue that goes first comes first.
    fifos: [Fifo<T>; 2],
    is_priority: bool,
    ecn_threshold: Option<QueueLimit>,
}

impl<T> SimpleQueue<T> {
    pub(crate) fn new(spec: &QueueSpec, ecn_threshold: Option<QueueLimit>) -> Self {
        let (first, second, is_priority) = match *spec {
            QueueSpec::StrictPriority {
                best_effort,
                less_than_best_effort,
            } => (best_effort, less_than_best_effort, true),
            ref other => (other.limit(), other.limit(), false),
        };
        Self {
            fifos: [Fifo::new(first), Fifo::new(second)],
            is_priority,
            ecn_threshold,
        }
    }

    pub(crate) fn push(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        let index = self.index(packet.class);
        let fifo = &mut self.fifos[index];
        if !fifo.has_room_for(packet.size_bytes) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        if packet.ecn.is_markable()
            && let Some(threshold) = self.ecn_threshold
            && fifo.is_above(threshold)
        {
            mark(&mut packet, events);
        }
        fifo.push(now, packet);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let [first, second] = &mut self.fifos;
        first.pop().or_else(|| second.pop())
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.fifos[0].len_pkts() + self.fifos[1].len_pkts()
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.fifos[0].bytes() + self.fifos[1].bytes()
    }

    pub(crate) fn class_bytes(&self, class: Class) -> u64 {
        self.fifos[self.index(class)].bytes()
    }

    fn index(&self, class: Class) -> usize {
        if self.is_priority { class.index() } else { 0 }
    }
}
