// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events, packets and the two directions of one bottleneck.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub const MILLISECOND_NS: u64 = 1_000_000;
pub const SECOND_NS: u64 = 1_000_000_000;
/// Payload of a full segment with timestamps.
pub const MSS_BYTES: u64 = 1448;
/// What Ethernet adds to the payload: the paper counts 9.41 Mbit/s of 10 as goodput.
pub const OVERHEAD_BYTES: u64 = 90;

#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub flow: usize,
    pub is_data: bool,
    pub seq: u64,
    pub payload_bytes: u64,
    pub tsval: u32,
    pub tsecr: u32,
    pub ack_seq: u64,
    pub right_edge_seq: u64,
    /// Start of the segment that this acknowledgement was sent for.
    pub sacked_seq: u64,
    pub queued_at_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A link has put a packet on the wire.
    Sent { link: usize },
    /// A packet reaches its endpoint.
    Delivered { packet: Packet },
    /// A retransmission time-out may be due.
    SenderTimer { flow: usize },
    /// A delayed acknowledgement may be due.
    ReceiverTimer { flow: usize },
    /// The application has something new.
    Application { flow: usize },
}

/// Events in order of time, then of their making.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::HashMap<u64, Event>,
    next: u64,
}

impl Queue {
    pub fn push(&mut self, at_ns: u64, event: Event) {
        self.heap.push(Reverse((at_ns, self.next)));
        self.events.insert(self.next, event);
        self.next += 1;
    }

    pub fn pop(&mut self) -> Option<(u64, Event)> {
        let Reverse((at_ns, number)) = self.heap.pop()?;
        let event = self.events.remove(&number).expect("pushed with its number");
        Some((at_ns, event))
    }
}

/// A rate, a drop-tail queue and a delay.
pub struct Link {
    pub rate_bits_per_s: u64,
    pub delay_ns: u64,
    pub capacity_pkts: usize,
    pub waiting: VecDeque<Packet>,
    pub drops: u64,
}

impl Link {
    pub fn new(rate_bits_per_s: u64, delay_ns: u64, capacity_pkts: usize) -> Self {
        Self {
            rate_bits_per_s,
            delay_ns,
            capacity_pkts,
            waiting: VecDeque::new(),
            drops: 0,
        }
    }

    /// Returns when the packet at the head is sent, if this one is now at the head.
    pub fn offer(&mut self, now_ns: u64, mut packet: Packet) -> Option<u64> {
        if self.waiting.len() > self.capacity_pkts {
            self.drops += 1;
            return None;
        }
        packet.queued_at_ns = now_ns;
        self.waiting.push_back(packet);
        (self.waiting.len() == 1).then(|| now_ns + self.sending_ns(&packet))
    }

    /// The packet that was just sent, and when the next one is.
    pub fn take(&mut self, now_ns: u64) -> (Packet, Option<u64>) {
        let packet = self.waiting.pop_front().expect("it was being sent");
        let next_ns = self
            .waiting
            .front()
            .map(|next| now_ns + self.sending_ns(next));
        (packet, next_ns)
    }

    pub fn sending_ns(&self, packet: &Packet) -> u64 {
        (packet.payload_bytes + OVERHEAD_BYTES) * 8 * SECOND_NS / self.rate_bits_per_s
    }
}
