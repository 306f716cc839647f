// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sender's congestion window as the receiver sees it.

use crate::receiver_oracle::is_after;
use ebb_algorithms::{Ack, Segment};
use std::collections::VecDeque;

/// Algorithm 6.
#[derive(Default)]
pub struct Estimate {
    pub bytes: f64,
    /// First and last time of acknowledgements of one jiffy, and what they acknowledge.
    pub acks: VecDeque<(u32, u32, f64)>,
    pub acked_seq: Option<u32>,
}

impl Estimate {
    pub fn on_segment(&mut self, segment: &Segment) {
        let bytes = f64::from(segment.payload_bytes);
        // Difference 8: so many are discarded at most.
        for _ in 0..8 {
            let Some((first, last, left)) = self.acks.front_mut() else {
                break;
            };
            if is_after(*first, segment.tsecr) {
                break;
            }
            if !is_after(segment.tsecr, *last) {
                *left -= bytes;
                // Difference 7.
                if *left <= 0.0 {
                    self.bytes -= *left;
                    self.acks.pop_front();
                }
                return;
            }
            self.bytes = (self.bytes - *left).max(0.0);
            self.acks.pop_front();
        }
        self.bytes += bytes;
    }

    /// Answers what the acknowledgement acknowledges.
    pub fn on_ack(&mut self, ack: &Ack, jiffy_ticks: u32) -> f64 {
        let acked = ack
            .ack_seq
            .wrapping_sub(self.acked_seq.unwrap_or(ack.ack_seq));
        self.acked_seq = Some(ack.ack_seq);
        if acked == 0 {
            return 0.0;
        }
        let is_full = self.acks.len() >= 64;
        match self.acks.back_mut() {
            // Difference 6.
            Some((first, last, left))
                if ack.local_ts.wrapping_sub(*first) < jiffy_ticks
                    || *last == ack.local_ts
                    || is_full =>
            {
                *last = ack.local_ts;
                *left += f64::from(acked);
            }
            _ => self
                .acks
                .push_back((ack.local_ts, ack.local_ts, acked.into())),
        }
        acked.into()
    }
}
