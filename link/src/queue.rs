// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where packets wait: one file per discipline, and what they have in common.
mod cake;
mod codel;
mod dual_pi2;
mod fifo;
mod fq_codel;
mod pie;
mod red;
mod simple;

use crate::events::Events;
use crate::{Class, Ecn, LinkSpec, Nanos, Packet, QueueSpec, Rejected};

use cake::CakeQueue;
use codel::CodelQueue;
use dual_pi2::DualPi2Queue;
use fq_codel::FqCodelQueue;
use pie::PieQueue;
use red::{ClassCurves, RedQueue};
use simple::SimpleQueue;

/// Packets that wait for the bottleneck, under the discipline of the specification.
///
/// Random decisions and timers of a discipline depend on the times of packets only,
/// never on how often somebody asks.
pub(crate) enum Queue<T> {
    /// Drop-tail and strict priority.
    Simple(SimpleQueue<T>),
    Red(Box<RedQueue<T>>),
    Codel(Box<CodelQueue<T>>),
    FqCodel(Box<FqCodelQueue<T>>),
    Pie(Box<PieQueue<T>>),
    DualPi2(Box<DualPi2Queue<T>>),
    Cake(Box<CakeQueue<T>>),
}

/// A packet in the queue or at the bottleneck, since when.
pub(crate) struct Waiting<T> {
    pub(crate) packet: Packet<T>,
    pub(crate) queued_at: Nanos,
}

impl<T> Queue<T> {
    /// The queue of a specification that was validated.
    pub(crate) fn new(spec: &LinkSpec, seed: u64) -> Self {
        match &spec.queue {
            QueueSpec::DropTail(_) | QueueSpec::StrictPriority { .. } => {
                Self::Simple(SimpleQueue::new(&spec.queue, spec.ecn_threshold))
            }
            QueueSpec::Red(red) => {
                let curves = ClassCurves::from(red);
                Self::Red(Box::new(RedQueue::new(
                    curves,
                    spec.mean_bits_per_s(),
                    seed,
                )))
            }
            QueueSpec::ClassRed(red) => {
                let curves = ClassCurves::from(red);
                Self::Red(Box::new(RedQueue::new(
                    curves,
                    spec.mean_bits_per_s(),
                    seed,
                )))
            }
            QueueSpec::Codel(codel) => Self::Codel(Box::new(CodelQueue::new(*codel))),
            QueueSpec::FqCodel(codel) => Self::FqCodel(Box::new(FqCodelQueue::new(*codel, seed))),
            QueueSpec::Pie(pie) => Self::Pie(Box::new(PieQueue::new(*pie, seed))),
            QueueSpec::DualPi2(dual) => Self::DualPi2(Box::new(DualPi2Queue::new(*dual))),
            QueueSpec::Cake(cake) => Self::Cake(Box::new(CakeQueue::new(*cake, spec, seed))),
        }
    }

    /// Takes a packet at `now`, or hands it back; counts marks and drops.
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        match self {
            Self::Simple(queue) => queue.push(now, packet, events),
            Self::Red(queue) => queue.push(now, packet, events),
            Self::Codel(queue) => queue.push(now, packet, events),
            Self::FqCodel(queue) => queue.push(now, packet, events),
            Self::Pie(queue) => queue.push(now, packet, events),
            Self::DualPi2(queue) => queue.push(now, packet, events),
            Self::Cake(queue) => queue.push(now, packet, events),
        }
    }

    /// The packet whose turn it is at `now`; counts marks and drops.
    pub(crate) fn pop(&mut self, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        match self {
            Self::Simple(queue) => queue.pop(),
            Self::Red(queue) => queue.pop(now),
            Self::Codel(queue) => queue.pop(now, events),
            Self::FqCodel(queue) => queue.pop(now, events),
            Self::Pie(queue) => queue.pop(now),
            Self::DualPi2(queue) => queue.pop(now, events),
            Self::Cake(queue) => queue.pop(now, events),
        }
    }

    /// Whether a packet that finds the link idle need not pass the queue: nothing is
    /// measured there, and nothing refused.
    pub(crate) fn is_bypassed_when_idle(&self) -> bool {
        matches!(self, Self::Simple(_))
    }

    /// Packets that wait, of both classes.
    pub(crate) fn len_pkts(&self) -> usize {
        match self {
            Self::Simple(queue) => queue.len_pkts(),
            Self::Red(queue) => queue.fifo().len_pkts(),
            Self::Codel(queue) => queue.fifo().len_pkts(),
            Self::FqCodel(queue) => queue.len_pkts(),
            Self::Pie(queue) => queue.fifo().len_pkts(),
            Self::DualPi2(queue) => queue.len_pkts(),
            Self::Cake(queue) => queue.len_pkts(),
        }
    }

    /// Bytes that wait, of both classes.
    pub(crate) fn total_bytes(&self) -> u64 {
        match self {
            Self::Simple(queue) => queue.total_bytes(),
            Self::Red(queue) => queue.fifo().bytes(),
            Self::Codel(queue) => queue.fifo().bytes(),
            Self::FqCodel(queue) => queue.bytes(),
            Self::Pie(queue) => queue.fifo().bytes(),
            Self::DualPi2(queue) => queue.bytes(),
            Self::Cake(queue) => queue.bytes(),
        }
    }

    /// Bytes that wait where this class queues.
    pub(crate) fn class_bytes(&self, class: Class) -> u64 {
        match self {
            Self::Simple(queue) => queue.class_bytes(class),
            _ => self.total_bytes(),
        }
    }
}

/// Marks a packet "congestion experienced" if its sender understands that; answers
/// whether it is marked now.
fn mark<T>(packet: &mut Packet<T>, events: &mut Events<T>) -> bool {
    match packet.ecn {
        Ecn::NotCapable => false,
        Ecn::Capable | Ecn::L4s => {
            packet.ecn = Ecn::Congested;
            events.marked(packet.class);
            true
        }
        // A bottleneck before this one has marked it: it tells the sender already.
        Ecn::Congested => true,
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::DropCause;

    /// A full-size packet of best effort.
    pub(super) fn full(number: u32) -> Packet<u32> {
        Packet::new(1_500, Class::BestEffort, number)
    }

    /// Events that keep what is dropped.
    pub(super) fn keeping() -> Events<u32> {
        let mut events = Events::default();
        events.keep_dropped();
        events
    }

    /// Numbers of the packets that were dropped so, in order.
    pub(super) fn dropped(events: &mut Events<u32>, cause: DropCause) -> Vec<u32> {
        std::iter::from_fn(|| events.next_dropped())
            .filter(|dropped| dropped.cause == cause)
            .map(|dropped| dropped.packet.payload)
            .collect()
    }
}
