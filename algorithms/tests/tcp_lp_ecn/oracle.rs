// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP-LP/ECN as its paper has it, in real numbers.

use crate::sender_oracle::{FIRST_PKTS, Model, compare};
use crate::tcp_lp_model::{HABITS, LAG_PKTS, Policy, any_params};
use ebb_algorithms::{SenderAck, SenderEvent};

/// TCP-LP/ECN (section IV.A): marks in place of delays.
struct TcpLpEcn(Policy);

impl Model for TcpLpEcn {
    fn on_ack(&mut self, ack: &SenderAck) {
        self.0.pass_time(ack.now_us as f64, ack.ack_seq);
        if ack.is_cwnd_limited > 0 {
            self.0.grow(ack.acked_pkts.into());
        }
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        let now_us = event.now_us as f64;
        if event.is_ecn == 0 {
            return self.0.lose(event.snd_nxt);
        }
        let in_use = self.0.cwnd;
        self.0.prior_ssthresh = self.0.ssthresh;
        self.0.pass_time(now_us, event.ack_seq);
        // One that does not count leaves the window as the threshold.
        self.0.ssthresh = in_use;
        self.0
            .indicate(in_use, now_us, event.srtt_us.into(), event.snd_nxt);
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.0.lose(event.snd_nxt);
        self.0.cwnd = 1.0;
    }

    fn on_undo(&mut self, _: &SenderEvent) {
        self.0.undo();
    }

    fn on_idle(&mut self, _: &SenderEvent) {
        self.0.cwnd = self.0.cwnd.min(FIRST_PKTS.into());
    }

    fn cwnd_pkts(&self) -> f64 {
        self.0.cwnd
    }

    fn tolerance_pkts(&self) -> f64 {
        self.0.error + LAG_PKTS + 0.5
    }
}

#[test]
fn tcp_lp_ecn_does_as_its_paper_has_it() {
    compare(&HABITS, any_params(), |params| {
        let policy = format!(
            "tcp-lp-ecn:inference_rtts={},resume_x1024={}",
            params.inference_rtts, params.resume_x1024
        );
        (policy, TcpLpEcn(Policy::new(params)))
    });
}
