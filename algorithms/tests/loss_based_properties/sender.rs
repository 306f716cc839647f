// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender and its host, led by turns.

use crate::{BASE_RTT_US, MSS};
use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use proptest::prelude::*;

/// What comes next, and how long after the last.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    pub wait_us: u64,
    pub acked_pkts: u32,
    pub queue_us: u32,
    pub kind: u8,
    pub random: u32,
}

pub fn any_turn() -> impl Strategy<Value = Turn> {
    let wait_us = prop_oneof![8 => 0u64..20_000, 1 => 0u64..2_000_000];
    let queue_us = prop_oneof![Just(0u32), 0u32..300_000];
    (wait_us, 1u32..8, queue_us, 0u8..40, any::<u32>()).prop_map(
        |(wait_us, acked_pkts, queue_us, kind, random)| Turn {
            wait_us,
            acked_pkts,
            queue_us,
            kind,
            random,
        },
    )
}

pub fn any_turns() -> impl Strategy<Value = Vec<Turn>> {
    proptest::collection::vec(any_turn(), 10..300)
}

/// A sender and its host.
pub struct Sender {
    pub flow: SenderFlow,
    pub now_us: u64,
    pub ack_seq: u32,
    pub delivered_pkts: u64,
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: u32,
}

impl Sender {
    pub fn new(policy: &str, from_us: u64, cwnd_pkts: u32) -> Self {
        let start = SenderStart {
            now_us: from_us,
            mss_bytes: MSS,
            cwnd_pkts,
            local_tick_us: 1000,
            has_timestamps: 0,
        };
        let flow = SenderFlow::new(Policy::sender(policy).unwrap(), &start);
        Self {
            now_us: from_us,
            ack_seq: u32::MAX - 20 * MSS,
            delivered_pkts: 0,
            cwnd_pkts: flow.window().cwnd_pkts,
            ssthresh_pkts: flow.window().ssthresh_pkts,
            flow,
        }
    }

    /// Past slow start, at its window.
    pub fn avoiding(policy: &str, cwnd_pkts: u32) -> Self {
        let mut sender = Self::new(policy, 5_000_000, cwnd_pkts);
        sender.ssthresh_pkts = cwnd_pkts;
        sender
    }

    pub fn snd_nxt(&self) -> u32 {
        self.ack_seq.wrapping_add(self.cwnd_pkts * MSS)
    }

    pub fn ack(&mut self, turn: &Turn) -> SenderAck {
        self.now_us += turn.wait_us;
        let snd_nxt = self.snd_nxt();
        let acked_pkts = turn.acked_pkts.min(self.cwnd_pkts);
        let prior_delivered_pkts = self.delivered_pkts.saturating_sub(self.cwnd_pkts.into());
        self.ack_seq = self.ack_seq.wrapping_add(acked_pkts * MSS);
        self.delivered_pkts += u64::from(acked_pkts);
        let rtt_us = BASE_RTT_US + turn.queue_us;
        SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: prior_delivered_pkts,
            rate_delivered_pkts: (self.delivered_pkts - prior_delivered_pkts) as u32,
            rate_interval_us: rtt_us,
            ack_seq: self.ack_seq,
            snd_nxt,
            acked_pkts,
            acked_bytes: acked_pkts * MSS,
            delivered_now_pkts: acked_pkts,
            prior_inflight_pkts: self.cwnd_pkts,
            inflight_pkts: self.cwnd_pkts - acked_pkts,
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            rtt_us,
            srtt_us: rtt_us,
            mss_bytes: MSS,
            random: turn.random,
            is_cwnd_limited: 1,
            ..SenderAck::default()
        }
    }

    pub fn give(&mut self, ack: &SenderAck) {
        self.flow.on_ack(ack);
        self.obey();
    }

    pub fn acknowledge(&mut self, turn: &Turn) {
        let ack = self.ack(turn);
        self.give(&ack);
    }

    pub fn event(&self, turn: &Turn) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt: self.snd_nxt(),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.cwnd_pkts,
            mss_bytes: MSS,
            srtt_us: BASE_RTT_US,
            idle_us: turn.wait_us.min(u32::MAX.into()) as u32,
            random: turn.random,
            ..SenderEvent::default()
        }
    }

    /// An event now and then, acknowledgements otherwise.
    pub fn live(&mut self, turn: &Turn) {
        let event = self.event(turn);
        match turn.kind {
            0 => self.flow.on_loss(&event),
            1 => self.flow.on_timeout(&event),
            2 => self.flow.on_undo(&event),
            3 => {
                self.now_us += turn.wait_us;
                self.flow.on_idle(&SenderEvent {
                    now_us: self.now_us,
                    ..event
                });
            }
            _ => return self.acknowledge(turn),
        }
        self.obey();
    }

    pub fn obey(&mut self) {
        self.cwnd_pkts = self.flow.window().cwnd_pkts;
        self.ssthresh_pkts = self.flow.window().ssthresh_pkts;
    }
}

pub fn is_after(seq: u32, other: u32) -> bool {
    seq.wrapping_sub(other).cast_signed() > 0
}
