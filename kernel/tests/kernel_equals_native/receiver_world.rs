// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a receiver law is told by a network that nobody has.

use crate::random::Random;
use ebb_algorithms::{Ack, Segment, Start};
use ebb_kernel::trace::Input;

pub fn absurd_start(random: &mut Random) -> Start {
    Start {
        now_us: random.next() >> random.below(64),
        mss_bytes: random.number(),
        rcv_nxt: random.number(),
        has_timestamps: random.flag().into(),
        tsval: random.number(),
    }
}

/// A network that mostly behaves, so that the laws get far, and then does not.
#[derive(Default)]
pub struct World {
    now_us: u64,
    seq: u32,
    sender_ts: u32,
}

impl World {
    pub fn absurd_input(&mut self, random: &mut Random) -> Input {
        self.now_us = self.now_us.wrapping_add(match random.below(1000) {
            0 => random.next() >> random.below(64),
            1..10 => random.below(5_000_000),
            _ => random.below(3000),
        });
        if random.below(3) == 0 {
            Input::Ack(self.ack(random))
        } else {
            Input::Segment(self.segment(random))
        }
    }

    fn segment(&mut self, random: &mut Random) -> Segment {
        let payload_bytes = 1448 * (1 + random.below(3) as u32);
        self.sender_ts = self.sender_ts.wrapping_add(random.below(4) as u32);
        let mut segment = Segment {
            now_us: self.now_us,
            seq: self.seq,
            payload_bytes,
            segments: payload_bytes / 1448,
            tsval: self.sender_ts,
            tsecr: (self.now_us / 1000) as u32,
            local_ts: (self.now_us / 1000) as u32 + random.below(100) as u32,
            local_tick_us: 1000,
            rcv_nxt: self.seq,
            right_edge_seq: self.seq.wrapping_add(65536),
            mss_bytes: 1448,
            kernel_rtt_us: random.below(200_000) as u32,
            has_timestamps: random.flag(),
            is_ce: (random.below(50) == 0).into(),
            is_observing: (random.below(50) == 0).into(),
            can_delay_acks: (random.below(4) == 0).into(),
        };
        self.seq = self.seq.wrapping_add(payload_bytes);
        if random.below(10) == 0 {
            let number = random.number();
            match random.below(11) {
                0 => segment.seq = number,
                1 => segment.payload_bytes = number,
                2 => segment.segments = number,
                3 => segment.tsval = number,
                4 => segment.tsecr = number,
                5 => segment.local_ts = number,
                6 => segment.local_tick_us = number,
                7 => segment.rcv_nxt = number,
                8 => segment.right_edge_seq = number,
                9 => segment.mss_bytes = number,
                _ => segment.kernel_rtt_us = number,
            }
        }
        segment
    }

    fn ack(&mut self, random: &mut Random) -> Ack {
        let mut ack = Ack {
            now_us: self.now_us,
            ack_seq: self.seq,
            local_ts: (self.now_us / 1000) as u32,
            local_tick_us: 1000,
            right_edge_seq: self.seq.wrapping_add(65536),
            mss_bytes: 1448,
            has_timestamps: random.flag(),
            is_observing: (random.below(50) == 0).into(),
            can_park: 0,
            reserved: 0,
        };
        if random.below(10) == 0 {
            let number = random.number();
            match random.below(5) {
                0 => ack.ack_seq = number,
                1 => ack.local_ts = number,
                2 => ack.local_tick_us = number,
                3 => ack.right_edge_seq = number,
                _ => ack.mss_bytes = number,
            }
        }
        ack
    }
}
