// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reno as RFC 5681 writes it, with the byte counting of RFC 3465: windows are real numbers.

use crate::sender_oracle::{FIRST_PKTS, Model};
use ebb_algorithms::{SenderAck, SenderEvent};

/// In segments.
#[derive(Debug, Clone)]
pub struct Reno {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Before the last reduction: what was in flight, and the threshold.
    prior: (f64, f64),
}

impl Reno {
    pub fn new() -> Self {
        Self {
            cwnd: f64::from(FIRST_PKTS),
            ssthresh: f64::INFINITY,
            prior: (f64::NAN, f64::NAN),
        }
    }

    /// Slow start by what is acknowledged (RFC 3465 §2.2, no L), to the threshold; answers
    /// what is left.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let used = acked.min((self.ssthresh - self.cwnd).max(0.0));
        self.cwnd += used;
        acked - used
    }

    /// RFC 5681 equation (3) for each segment: SMSS x SMSS / cwnd. The sum of many is the
    /// integral of 1 / cwnd: cwnd^2 grows by 2 per segment.
    pub fn avoid(&mut self, acked: f64) {
        self.cwnd = (self.cwnd * self.cwnd + 2.0 * acked).sqrt();
    }

    /// RFC 5681 equation (4): max(FlightSize / 2, 2 SMSS).
    fn reduce(&mut self, flight: f64) {
        self.prior = (flight, self.ssthresh);
        self.ssthresh = (flight / 2.0).max(2.0);
    }
}

impl Model for Reno {
    fn on_ack(&mut self, ack: &SenderAck) {
        // RFC 7661 §4.1: an unused window does not grow.
        if ack.is_cwnd_limited > 0 && ack.acked_pkts > 0 {
            let left = self.slow_start(ack.acked_pkts.into());
            self.avoid(left);
        }
    }

    /// RFC 5681 §3.2: when the loss is repaired the window is the threshold.
    fn on_loss(&mut self, event: &SenderEvent) {
        self.reduce(event.inflight_pkts.into());
        self.cwnd = self.ssthresh;
    }

    /// RFC 5681 §3.1: the loss window is one segment.
    fn on_timeout(&mut self, event: &SenderEvent) {
        self.reduce(event.inflight_pkts.into());
        self.cwnd = 1.0;
    }

    /// RFC 4015 §3.2: back to what was in flight, if that is more.
    fn on_undo(&mut self, _: &SenderEvent) {
        self.cwnd = self.cwnd.max(self.prior.0);
        self.ssthresh = self.prior.1;
    }

    /// RFC 5681 §4.1: the restart window.
    fn on_idle(&mut self, _: &SenderEvent) {
        self.cwnd = self.cwnd.min(f64::from(FIRST_PKTS));
    }

    fn cwnd_pkts(&self) -> f64 {
        self.cwnd
    }

    /// The law earns a segment when a window's worth is acknowledged: it is up to one
    /// behind, and its steps put it up to a half ahead. Half a segment may be cut off at a
    /// loss. What is acknowledged beyond a threshold may count for either half of growth.
    fn tolerance_pkts(&self) -> f64 {
        2.0
    }
}
