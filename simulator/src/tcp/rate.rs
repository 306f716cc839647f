// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples of the delivery rate, as Linux takes them for BBR: from the flight that the
//! latest arrived segment belongs to, the slower of its sending and its acknowledging.

use ebb_link::Nanos;

use super::clock::NEVER;
use super::scoreboard::{Sent, mark};
use super::sender::{Sender, micros_between};

/// The sample of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    /// Delivered when the sampled segment was sent; none: nothing was sampled.
    pub(super) prior_delivered_pkts: Option<u64>,
    prior_delivered_at: Nanos,
    sent_at: Nanos,
    end: u64,
    sending_us: u32,
    pub(super) is_app_limited: bool,
    /// *Units:* µs; 0: no rate.
    pub(super) interval_us: u32,
    pub(super) delivered_pkts: u32,
}

impl Sender {
    /// Notes in a segment that leaves what was delivered before it.
    #[inline]
    pub(super) fn rate_on_sent(&mut self, sent: &mut Sent, is_first_out: bool) {
        let rate = &mut self.rate;
        if is_first_out {
            rate.flight_from = sent.sent_at;
            rate.delivered_at = sent.sent_at;
        }
        sent.flight_from = rate.flight_from;
        sent.delivered_at = rate.delivered_at;
        sent.delivered_pkts = rate.delivered_pkts as u32;
        if rate.app_limited_until_pkts > 0 {
            sent.marks |= mark::APP_LIMITED;
        } else {
            sent.marks &= !mark::APP_LIMITED;
        }
    }

    /// A segment was delivered: the one that was sent last makes the sample.
    #[inline]
    pub(super) fn rate_on_delivered(&mut self, sent: &Sent, sample: &mut RateSample) {
        if sent.delivered_at == NEVER {
            return;
        }
        let is_later = (sent.sent_at, sent.end()) > (sample.sent_at, sample.end);
        if sample.prior_delivered_pkts.is_some() && !is_later {
            return;
        }
        // The upper bits are those of now, or one less.
        let behind = (self.rate.delivered_pkts as u32).wrapping_sub(sent.delivered_pkts);
        sample.prior_delivered_pkts =
            Some(self.rate.delivered_pkts.saturating_sub(u64::from(behind)));
        sample.prior_delivered_at = sent.delivered_at;
        sample.is_app_limited = sent.is(mark::APP_LIMITED);
        sample.sent_at = sent.sent_at;
        sample.end = sent.end();
        sample.sending_us = micros_between(sent.sent_at, sent.flight_from);
        self.rate.flight_from = sent.sent_at;
    }

    /// Closes the sample of an acknowledgement.
    #[inline]
    pub(super) fn rate_finish(&mut self, now: Nanos, delivered_pkts: u32, sample: &mut RateSample) {
        let rate = &mut self.rate;
        if rate.app_limited_until_pkts > 0 && rate.delivered_pkts > rate.app_limited_until_pkts {
            rate.app_limited_until_pkts = 0;
        }
        if delivered_pkts > 0 {
            rate.delivered_at = now;
        }
        let Some(prior_delivered_pkts) = sample.prior_delivered_pkts else {
            return;
        };
        sample.delivered_pkts = rate.delivered_pkts.saturating_sub(prior_delivered_pkts) as u32;
        let acknowledging_us = micros_between(now, sample.prior_delivered_at);
        let interval_us = sample.sending_us.max(acknowledging_us);
        // Shorter than any round trip: compressed acknowledgements, no rate.
        if interval_us >= self.least_rtt.us() {
            sample.interval_us = interval_us;
        }
    }

    /// The application has nothing to send although the window would let it.
    #[inline]
    pub(super) fn rate_check_app_limited(&mut self) {
        let unsent_bytes = self.written - self.nxt.min(self.written);
        let is_limited = unsent_bytes < u64::from(self.segment_bytes)
            && self.board.inflight_pkts() < self.cwnd_pkts
            && self.board.lost_pkts <= self.board.resent_pkts;
        if is_limited {
            let until = self.rate.delivered_pkts + u64::from(self.board.inflight_pkts());
            self.rate.app_limited_until_pkts = until.max(1);
        }
    }
}
