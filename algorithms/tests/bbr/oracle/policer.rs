// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux's long-term bandwidth of BBR in real numbers: two intervals in a row that lose a
//! fifth and deliver at about one rate are a policer's. Rates are whole bytes per second.

use super::bytes_per_s;
use ebb_algorithms::{SenderAck, SenderEvent};

const LEAST_ROUNDS: u32 = 4;
const LONGEST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
const USED_ROUNDS: u32 = 48;
const LEAST_LOSS: f64 = 200.0 / 1024.0;
const ALIKE_SHARE: f64 = 0.125;
/// 4 kbit/s.
const ALIKE: f64 = 500.0;

pub struct Policer {
    /// The last interval's rate, or what is used.
    rate: Option<f64>,
    is_in_use: bool,
    is_sampling: bool,
    rounds: u32,
    since_us: f64,
    since_delivered: u64,
    since_lost: u64,
    delivered: u64,
    lost: u64,
}

impl Policer {
    pub fn new(now_us: f64) -> Self {
        Self {
            rate: None,
            is_in_use: false,
            is_sampling: false,
            rounds: 0,
            since_us: now_us,
            since_delivered: 0,
            since_lost: 0,
            delivered: 0,
            lost: 0,
        }
    }

    /// Starts over.
    pub fn forget(&self, now_us: f64) -> Self {
        Self {
            since_us: now_us,
            since_delivered: self.delivered,
            since_lost: self.lost,
            delivered: self.delivered,
            lost: self.lost,
            ..Self::new(now_us)
        }
    }

    pub fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    pub fn rate_in_use(&self) -> Option<f64> {
        self.rate.filter(|_| self.is_in_use)
    }

    pub fn on_ack(&mut self, ack: &SenderAck) {
        self.delivered = ack.delivered_pkts;
        self.lost += u64::from(ack.lost_now_pkts);
    }

    /// Answers whether the bandwidth is to be probed again.
    pub fn measure(
        &mut self,
        ack: &SenderAck,
        is_round: bool,
        is_lower: bool,
        probes: bool,
    ) -> bool {
        let now_us = ack.now_us as f64;
        if self.is_in_use {
            self.rounds += u32::from(probes && is_round);
            let is_over = probes && is_round && self.rounds >= USED_ROUNDS;
            if is_over {
                *self = self.forget(now_us);
            }
            return is_over;
        }
        if !self.is_sampling {
            if ack.lost_now_pkts > 0 {
                self.begin(now_us);
                self.is_sampling = true;
            }
            return false;
        }
        if is_lower {
            *self = self.forget(now_us);
            return false;
        }
        self.rounds += u32::from(is_round);
        if self.rounds > LONGEST_ROUNDS {
            *self = self.forget(now_us);
        } else if self.rounds >= LEAST_ROUNDS && ack.lost_now_pkts > 0 {
            self.end(now_us);
        }
        false
    }

    /// A time-out is a loss, and the end of a round trip.
    pub fn on_timeout(&mut self, event: &SenderEvent) {
        let now_us = event.now_us as f64;
        if self.is_in_use {
            return;
        }
        if !self.is_sampling {
            self.begin(now_us);
            self.is_sampling = true;
            return;
        }
        self.rounds += 1;
        if self.rounds > LONGEST_ROUNDS {
            *self = self.forget(now_us);
        } else if self.rounds >= LEAST_ROUNDS {
            self.end(now_us);
        }
    }

    fn begin(&mut self, now_us: f64) {
        self.rounds = 0;
        self.since_us = now_us;
        self.since_delivered = self.delivered;
        self.since_lost = self.lost;
    }

    /// An interval ends with a loss, if it has lost enough.
    fn end(&mut self, now_us: f64) {
        let delivered = (self.delivered - self.since_delivered) as f64;
        let lost = (self.lost - self.since_lost) as f64;
        let time_us = now_us - self.since_us;
        if delivered == 0.0 || time_us < 1000.0 || lost / delivered < LEAST_LOSS {
            return;
        }
        let rate = bytes_per_s(delivered, time_us);
        let Some(last) = self.rate else {
            self.rate = Some(rate);
            return self.begin(now_us);
        };
        let apart = (rate - last).abs();
        let limit = (ALIKE_SHARE * last).max(ALIKE);
        if apart <= limit {
            self.rate = Some(f64::midpoint(rate, last).floor());
            self.is_in_use = true;
            self.rounds = 0;
        } else {
            self.rate = Some(rate);
            self.begin(now_us);
        }
    }
}
