// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a sender law is told by a network that nobody has.

use crate::random::Random;
use ebb_algorithms::{SenderAck, SenderEvent, SenderStart};
use ebb_kernel::trace::Input;

const MSS_BYTES: u32 = 1448;

pub fn absurd_start(random: &mut Random) -> SenderStart {
    SenderStart {
        now_us: random.next() >> random.below(64),
        mss_bytes: random.number(),
        cwnd_pkts: random.number(),
        local_tick_us: if random.below(8) == 0 {
            random.number()
        } else {
            1000
        },
        has_timestamps: random.flag().into(),
    }
}

/// A host that mostly behaves, so that the laws get far, and then does not.
#[derive(Default)]
pub struct World {
    now_us: u64,
    delivered_pkts: u64,
    ack_seq: u32,
    peer_ts: u32,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    phase: u8,
}

impl World {
    pub fn absurd_input(&mut self, random: &mut Random) -> Input {
        self.now_us = self.now_us.wrapping_add(match random.below(1000) {
            0 => random.next() >> random.below(64),
            1..10 => random.below(5_000_000),
            _ => random.below(3000),
        });
        match random.below(200) {
            0 => self.begin(3, random, Input::Loss),
            1 => self.begin(2, random, Input::Loss),
            2 => self.begin(4, random, Input::Timeout),
            3 => self.begin(0, random, Input::Undo),
            4 => Input::Idle(self.event(random)),
            _ => Input::SenderAck(self.ack(random)),
        }
    }

    fn begin(&mut self, phase: u8, random: &mut Random, kind: fn(SenderEvent) -> Input) -> Input {
        let mut event = self.event(random);
        event.is_ecn = (phase == 2).into();
        self.phase = phase;
        self.ssthresh_pkts = (self.cwnd_pkts / 2).max(2);
        self.cwnd_pkts = self.ssthresh_pkts;
        kind(event)
    }

    fn event(&mut self, random: &mut Random) -> SenderEvent {
        let mut event = SenderEvent {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt: self
                .ack_seq
                .wrapping_add(self.cwnd_pkts.wrapping_mul(MSS_BYTES)),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.cwnd_pkts,
            mss_bytes: MSS_BYTES,
            srtt_us: 50_000 + random.below(50_000) as u32,
            idle_us: random.number(),
            random: random.next() as u32,
            is_ecn: 0,
            phase: self.phase,
            reserved: [0; 2],
        };
        if random.below(10) == 0 {
            let number = random.number();
            match random.below(7) {
                0 => event.ack_seq = number,
                1 => event.snd_nxt = number,
                2 => event.cwnd_pkts = number,
                3 => event.ssthresh_pkts = number,
                4 => event.inflight_pkts = number,
                5 => event.mss_bytes = number,
                _ => event.srtt_us = number,
            }
        }
        event
    }

    fn ack(&mut self, random: &mut Random) -> SenderAck {
        if self.phase != 0 && random.below(30) == 0 {
            self.phase = 0;
        }
        let is_reducing = matches!(self.phase, 2 | 3);
        let delivered_pkts = 1 + random.below(3) as u32;
        let acked_pkts = if is_reducing { 0 } else { delivered_pkts };
        // A queue that grows with the window.
        let rtt_us = 20_000 + 10 * (self.cwnd_pkts % 5000) + random.below(5000) as u32;
        let sent_ms = (self.now_us.wrapping_sub(rtt_us.into()) / 1000) as u32;
        self.peer_ts = self.peer_ts.wrapping_add(random.below(4) as u32);
        self.delivered_pkts += u64::from(delivered_pkts);
        self.ack_seq = self.ack_seq.wrapping_add(acked_pkts * MSS_BYTES);
        self.cwnd_pkts = (self.cwnd_pkts + acked_pkts).clamp(1, 10_000);
        let mut ack = SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: self.delivered_pkts.saturating_sub(20),
            rate_delivered_pkts: random.below(40) as u32,
            rate_interval_us: random.below(100_000) as u32,
            ack_seq: self.ack_seq,
            snd_nxt: self
                .ack_seq
                .wrapping_add(self.cwnd_pkts.wrapping_mul(MSS_BYTES)),
            acked_pkts,
            acked_bytes: acked_pkts * MSS_BYTES,
            delivered_now_pkts: delivered_pkts,
            lost_now_pkts: (random.below(50) == 0).into(),
            prior_inflight_pkts: self.cwnd_pkts,
            inflight_pkts: self.cwnd_pkts.saturating_sub(delivered_pkts),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            rtt_us,
            srtt_us: rtt_us,
            tsval: self.peer_ts,
            tsecr: sent_ms,
            local_ts: (self.now_us / 1000) as u32,
            local_tick_us: 1000,
            mss_bytes: MSS_BYTES,
            random: random.next() as u32,
            phase: self.phase,
            is_cwnd_limited: random.flag(),
            is_app_limited: (random.below(10) == 0).into(),
            is_ece: (random.below(50) == 0).into(),
            has_timestamps: random.flag(),
            reserved: [0; 3],
        };
        if random.below(10) == 0 {
            distort(&mut ack, random);
        }
        ack
    }
}

fn distort(ack: &mut SenderAck, random: &mut Random) {
    let number = random.number();
    match random.below(20) {
        0 => ack.delivered_pkts = random.next() >> random.below(64),
        1 => ack.rate_prior_delivered_pkts = random.next() >> random.below(64),
        2 => ack.rate_delivered_pkts = number,
        3 => ack.rate_interval_us = number,
        4 => ack.ack_seq = number,
        5 => ack.snd_nxt = number,
        6 => ack.acked_pkts = number,
        7 => ack.acked_bytes = number,
        8 => ack.delivered_now_pkts = number,
        9 => ack.lost_now_pkts = number,
        10 => ack.prior_inflight_pkts = number,
        11 => ack.inflight_pkts = number,
        12 => ack.cwnd_pkts = number,
        13 => ack.ssthresh_pkts = number,
        14 => ack.rtt_us = number,
        15 => ack.srtt_us = number,
        16 => ack.tsval = number,
        17 => ack.tsecr = number,
        18 => ack.mss_bytes = number,
        _ => ack.local_tick_us = number,
    }
}
