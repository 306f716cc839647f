// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HyStart++ as RFC 9406 §4.2 writes it: when slow start is slowed down, and when it ends.

use ebb_algorithms::SenderAck;

const MIN_RTT_THRESH_US: f64 = 4_000.0;
const MAX_RTT_THRESH_US: f64 = 16_000.0;
const MIN_RTT_DIVISOR: f64 = 8.0;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L, for senders that do not pace.
const L: f64 = 8.0;

#[derive(Debug, Clone, Default)]
pub struct HyStart {
    window_end: Option<u32>,
    last_round_min_rtt: Option<f64>,
    current_round_min_rtt: Option<f64>,
    rtt_sample_count: u32,
    /// cssBaselineMinRtt; None: standard slow start.
    css_baseline: Option<f64>,
    css_rounds: u32,
    pub is_doubtful: bool,
}

impl HyStart {
    /// By how much the window grows; the caller bounds it by the threshold.
    pub fn growth(&self, acked: f64) -> f64 {
        let divisor = self.css_baseline.map_or(1.0, |_| CSS_GROWTH_DIVISOR);
        acked.min(L) / divisor
    }

    /// Answers whether slow start is over.
    pub fn on_ack(&mut self, ack: &SenderAck) -> bool {
        if self.window_end.is_none() {
            self.begin_round(ack);
        }
        if ack.rtt_us > 0 {
            let rtt = f64::from(ack.rtt_us);
            let least = self
                .current_round_min_rtt
                .map_or(rtt, |least| least.min(rtt));
            self.current_round_min_rtt = Some(least);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.judge();
        }
        let is_round_over = (self.window_end.unwrap().wrapping_sub(ack.ack_seq) as i32) <= 0;
        if is_round_over {
            self.begin_round(ack);
            self.css_rounds += u32::from(self.css_baseline.is_some());
        }
        self.css_rounds >= CSS_ROUNDS
    }

    fn begin_round(&mut self, ack: &SenderAck) {
        self.window_end = Some(ack.snd_nxt);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
    }

    fn judge(&mut self) {
        let current = self.current_round_min_rtt.unwrap();
        if let Some(baseline) = self.css_baseline {
            if current < baseline {
                self.css_baseline = None;
                self.css_rounds = 0;
            }
        } else if let Some(last) = self.last_round_min_rtt {
            let thresh = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
            // The law's eighth is in whole microseconds.
            self.is_doubtful |= current < last + thresh && current > last + thresh - 1.0;
            if current >= last + thresh {
                self.css_baseline = Some(current);
            }
        }
    }
}
