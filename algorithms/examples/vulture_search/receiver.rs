// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TCP receiver: delayed acknowledgements, a law for its window while it has one.

use crate::network::{MILLISECOND_NS, MSS_BYTES, Packet};
use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};
use std::collections::BTreeSet;

const ORDINARY_WINDOW_BYTES: u64 = 6 << 20;
const DELAYED_ACK_NS: u64 = 40 * MILLISECOND_NS;
const LOCAL_TICK_US: u32 = 1000;

/// When a law acts on the flow; it observes before and after.
#[derive(Debug, Clone)]
pub struct Yielding {
    pub policy: Policy,
    pub from_ns: u64,
    pub until_ns: u64,
}

pub struct Receiver {
    pub next_seq: u64,
    pub timer_at_ns: Option<u64>,
    yielding: Option<Yielding>,
    law: Option<ReceiverFlow>,
    early: BTreeSet<u64>,
    right_edge_seq: u64,
    unacknowledged: u32,
    last_seq: u64,
    ts_recent: u32,
}

impl Receiver {
    pub fn new(yielding: Option<Yielding>) -> Self {
        Self {
            next_seq: 0,
            timer_at_ns: None,
            yielding,
            law: None,
            early: BTreeSet::new(),
            right_edge_seq: 64 * 1024,
            unacknowledged: 0,
            last_seq: 0,
            ts_recent: 0,
        }
    }

    /// Takes a data packet; true if it is to be acknowledged at once.
    pub fn on_data(&mut self, now_ns: u64, packet: &Packet) -> bool {
        self.tell_law(now_ns, packet);
        self.last_seq = packet.seq;
        let is_in_order = packet.seq == self.next_seq;
        if is_in_order {
            self.ts_recent = if self.unacknowledged == 0 {
                packet.tsval
            } else {
                self.ts_recent
            };
            self.next_seq += MSS_BYTES;
            while self.early.remove(&self.next_seq) {
                self.next_seq += MSS_BYTES;
            }
        } else if packet.seq > self.next_seq {
            self.early.insert(packet.seq);
        }
        self.unacknowledged += 1;
        if !is_in_order || self.unacknowledged >= 2 || !self.early.is_empty() {
            return true;
        }
        self.timer_at_ns = Some(now_ns + DELAYED_ACK_NS);
        false
    }

    fn tell_law(&mut self, now_ns: u64, packet: &Packet) {
        let Some(yielding) = &self.yielding else {
            return;
        };
        let law = self.law.get_or_insert_with(|| {
            ReceiverFlow::new(
                yielding.policy.clone(),
                &Start {
                    now_us: now_ns / 1000,
                    mss_bytes: MSS_BYTES as u32,
                    rcv_nxt: self.next_seq as u32,
                    has_timestamps: 1,
                    tsval: packet.tsval,
                },
            )
        });
        law.on_segment(&Segment {
            now_us: now_ns / 1000,
            seq: packet.seq as u32,
            payload_bytes: packet.payload_bytes as u32,
            segments: 1,
            tsval: packet.tsval,
            tsecr: packet.tsecr,
            local_ts: local_ts(now_ns),
            local_tick_us: LOCAL_TICK_US,
            rcv_nxt: self.next_seq as u32,
            right_edge_seq: self.right_edge_seq as u32,
            mss_bytes: MSS_BYTES as u32,
            kernel_rtt_us: 0,
            has_timestamps: 1,
            is_observing: u8::from(yielding.is_observing(now_ns)),
            ..Segment::default()
        });
    }

    /// The acknowledgement to be sent now.
    pub fn acknowledge(&mut self, now_ns: u64, flow: usize) -> Packet {
        self.unacknowledged = 0;
        self.timer_at_ns = None;
        let window_bytes = self.window_bytes(now_ns);
        self.right_edge_seq = self.right_edge_seq.max(self.next_seq + window_bytes);
        Packet {
            flow,
            is_data: false,
            seq: 0,
            payload_bytes: 0,
            tsval: local_ts(now_ns),
            tsecr: self.ts_recent,
            ack_seq: self.next_seq,
            right_edge_seq: self.right_edge_seq,
            sacked_seq: self.last_seq,
            queued_at_ns: 0,
        }
    }

    fn window_bytes(&mut self, now_ns: u64) -> u64 {
        let (Some(yielding), Some(law)) = (&self.yielding, &mut self.law) else {
            return ORDINARY_WINDOW_BYTES;
        };
        let is_observing = yielding.is_observing(now_ns);
        law.on_ack(&Ack {
            now_us: now_ns / 1000,
            ack_seq: self.next_seq as u32,
            local_ts: local_ts(now_ns),
            local_tick_us: LOCAL_TICK_US,
            right_edge_seq: self.right_edge_seq as u32,
            mss_bytes: MSS_BYTES as u32,
            has_timestamps: 1,
            is_observing: u8::from(is_observing),
            ..Ack::default()
        });
        if is_observing {
            ORDINARY_WINDOW_BYTES
        } else {
            u64::from(law.window_bytes()).min(ORDINARY_WINDOW_BYTES)
        }
    }
}

impl Yielding {
    fn is_observing(&self, now_ns: u64) -> bool {
        !(self.from_ns..self.until_ns).contains(&now_ns)
    }
}

fn local_ts(now_ns: u64) -> u32 {
    (now_ns / MILLISECOND_NS) as u32 + 4_000_000
}
