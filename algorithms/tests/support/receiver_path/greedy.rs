// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A greedy sender in the manner of CUBIC (RFC 9438) with a HyStart-like exit from slow
//! start: what a law has to leave the link to.

/// The sender's state, in packets.
#[derive(Default)]
pub struct Greedy {
    pub in_flight: u64,
    is_on: bool,
    cwnd_pkts: f64,
    ssthresh_pkts: f64,
    max_pkts: f64,
    epoch_us: Option<u64>,
    recovering_until_us: u64,
    round_since_us: u64,
    round_samples: u32,
    round_wait_us: u64,
}

/// RFC 9438: C, and the factor of a decrease.
const GROWTH: f64 = 0.4;
const BETA: f64 = 0.7;

impl Greedy {
    /// Starts or stops; after a pause the window begins anew (RFC 5681, section 4.1).
    pub fn turn(&mut self, is_on: bool) {
        if is_on {
            let known_pkts = self.cwnd_pkts * 0.75;
            self.ssthresh_pkts = if self.cwnd_pkts > 0.0 {
                known_pkts
            } else {
                f64::MAX
            };
            self.cwnd_pkts = 10.0;
            self.epoch_us = None;
        }
        self.is_on = is_on;
    }

    pub fn may_send(&self) -> bool {
        self.is_on && (self.in_flight as f64) < self.cwnd_pkts
    }

    /// Takes the fate of a packet: its wait at the bottleneck, or None if it was lost.
    pub fn on_ack(&mut self, now_us: u64, sent_us: u64, wait_us: Option<u64>, rtt_us: u64) {
        self.in_flight -= 1;
        let Some(wait_us) = wait_us else {
            if sent_us >= self.recovering_until_us {
                self.max_pkts = self.cwnd_pkts;
                self.cwnd_pkts = (self.cwnd_pkts * BETA).max(2.0);
                self.ssthresh_pkts = self.cwnd_pkts;
                self.epoch_us = Some(now_us);
                self.recovering_until_us = now_us;
            }
            return;
        };
        if self.cwnd_pkts < self.ssthresh_pkts {
            self.cwnd_pkts += 1.0;
            if self.has_queue(now_us, sent_us, wait_us, rtt_us) && self.cwnd_pkts > 16.0 {
                self.ssthresh_pkts = self.cwnd_pkts;
                self.max_pkts = self.cwnd_pkts;
            }
            return;
        }
        let epoch_us = *self.epoch_us.get_or_insert(now_us);
        let seconds = (now_us - epoch_us + rtt_us) as f64 / 1e6;
        let plateau_s = (self.max_pkts * (1.0 - BETA) / GROWTH).cbrt();
        let cubic_pkts = GROWTH * (seconds - plateau_s).powi(3) + self.max_pkts;
        let reno_pkts = self.max_pkts * BETA + 0.53 * seconds * 1e6 / (rtt_us + wait_us) as f64;
        let aim_pkts = cubic_pkts.max(reno_pkts).min(self.cwnd_pkts * 1.5);
        self.cwnd_pkts += ((aim_pkts - self.cwnd_pkts) / self.cwnd_pkts).max(0.0);
    }

    /// HyStart: the least of a round trip's first eight samples is well above the base.
    fn has_queue(&mut self, now_us: u64, sent_us: u64, wait_us: u64, rtt_us: u64) -> bool {
        if sent_us >= self.round_since_us {
            self.round_since_us = now_us;
            self.round_samples = 0;
            self.round_wait_us = u64::MAX;
        }
        self.round_samples += 1;
        self.round_wait_us = self.round_wait_us.min(wait_us);
        self.round_samples == 8 && self.round_wait_us > (rtt_us / 8).clamp(4000, 16_000)
    }
}
