// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender's host that a test leads by the hand: acknowledgement by acknowledgement.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart, SenderWindow};

pub const MSS: u32 = 1000;

/// A connection whose acknowledgements a test makes up.
pub struct Hand {
    pub flow: SenderFlow,
    pub now_us: u64,
    pub ack_seq: u32,
    /// What the host applies; a test may change it.
    pub window: SenderWindow,
    pub srtt_us: u32,
    /// What acknowledgements carry unless a test says otherwise.
    pub template: SenderAck,
}

impl Hand {
    /// A connection without timestamps: delays are round-trip times.
    pub fn new(policy: &str, cwnd_pkts: u32) -> Self {
        let start = SenderStart {
            now_us: 5_000_000,
            mss_bytes: MSS,
            cwnd_pkts,
            local_tick_us: 1000,
            has_timestamps: 0,
        };
        let flow = SenderFlow::new(Policy::sender(policy).unwrap(), &start);
        Self {
            window: flow.window(),
            flow,
            now_us: start.now_us,
            ack_seq: u32::MAX - 3 * MSS,
            srtt_us: 100_000,
            template: SenderAck {
                mss_bytes: MSS,
                is_cwnd_limited: 1,
                local_tick_us: 1000,
                ..SenderAck::default()
            },
        }
    }

    pub fn cwnd(&self) -> u32 {
        self.window.cwnd_pkts
    }

    pub fn snd_nxt(&self) -> u32 {
        self.ack_seq.wrapping_add(self.window.cwnd_pkts * MSS)
    }

    /// Acknowledges so many segments with this round-trip time; answers the window.
    pub fn ack(&mut self, acked_pkts: u32, rtt_ms: f64) -> u32 {
        let snd_nxt = self.snd_nxt();
        self.ack_seq = self.ack_seq.wrapping_add(acked_pkts * MSS);
        let ack = SenderAck {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt,
            acked_pkts,
            acked_bytes: acked_pkts * MSS,
            delivered_now_pkts: acked_pkts,
            prior_inflight_pkts: self.window.cwnd_pkts.max(2),
            cwnd_pkts: self.window.cwnd_pkts,
            ssthresh_pkts: self.window.ssthresh_pkts,
            rtt_us: (rtt_ms * 1000.0) as u32,
            srtt_us: self.srtt_us,
            ..self.template
        };
        self.give(&ack)
    }

    pub fn give(&mut self, ack: &SenderAck) -> u32 {
        self.flow.on_ack(ack);
        self.window = self.flow.window();
        self.window.cwnd_pkts
    }

    pub fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt: self.snd_nxt(),
            cwnd_pkts: self.window.cwnd_pkts,
            ssthresh_pkts: self.window.ssthresh_pkts,
            inflight_pkts: self.window.cwnd_pkts,
            mss_bytes: MSS,
            srtt_us: self.srtt_us,
            ..SenderEvent::default()
        }
    }

    /// A loss, and its repair: the host leads the window to the threshold.
    pub fn lose(&mut self) -> u32 {
        self.react(SenderEvent::default())
    }

    /// A congestion mark, likewise.
    pub fn mark(&mut self) -> u32 {
        self.react(SenderEvent {
            is_ecn: 1,
            ..SenderEvent::default()
        })
    }

    fn react(&mut self, kind: SenderEvent) -> u32 {
        let event = SenderEvent {
            is_ecn: kind.is_ecn,
            ..self.event()
        };
        self.flow.on_loss(&event);
        self.window = self.flow.window();
        self.window.cwnd_pkts = self.window.cwnd_pkts.min(self.window.ssthresh_pkts);
        self.window.cwnd_pkts
    }

    pub fn time_out(&mut self) -> u32 {
        self.flow.on_timeout(&self.event());
        self.window = self.flow.window();
        self.window.cwnd_pkts
    }

    /// Acknowledges all that is in flight, segment by segment, and one more.
    pub fn pass_round(&mut self, rtt_ms: f64) -> u32 {
        let until = self.snd_nxt();
        while !is_after(self.ack_seq, until) {
            self.ack(1, rtt_ms);
        }
        self.cwnd()
    }

    pub fn wait_ms(&mut self, ms: u64) {
        self.now_us += ms * 1000;
    }
}

fn is_after(seq: u32, other: u32) -> bool {
    seq.wrapping_sub(other).cast_signed() > 0
}
