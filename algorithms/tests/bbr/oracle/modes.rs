// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What BBR learns from each acknowledgement: rounds, bandwidth, aggregation, RTprop, and
//! when it passes from one mode to the next.

use super::{
    BTL_BW_FILTER_LEN, BYTES, Bbr, CYCLE, MIN_PIPE_CWND, PROBE_RTT_US, RT_PROP_FILTER_US, State,
    bytes_per_s,
};
use crate::sender_oracle::MSS;
use ebb_algorithms::{Phase, SenderAck};

impl Bbr {
    pub(super) fn is_lower_bound(&self, ack: &SenderAck) -> bool {
        let (from, until) = self.probe_rtt_sent;
        ack.is_app_limited > 0 || (from..until).contains(&ack.rate_prior_delivered_pkts)
    }

    /// BBRUpdateRound
    pub(super) fn update_round(&mut self, ack: &SenderAck) {
        if ack.rate_prior_delivered_pkts >= self.next_round_delivered {
            self.next_round_delivered = ack.delivered_pkts;
            self.round_count += 1;
            self.pending_rounds += 1;
            self.round_start = true;
            // Packet conservation is for one round trip.
            self.packet_conservation = false;
        }
    }

    /// BBRUpdateBtlBw
    pub(super) fn update_btl_bw(&mut self, ack: &SenderAck) {
        let rate = bytes_per_s(ack.rate_delivered_pkts.into(), ack.rate_interval_us.into());
        if self.is_lower_bound(ack) && rate < self.btl_bw() {
            return;
        }
        self.filter_round += std::mem::take(&mut self.pending_rounds);
        let now = self.filter_round;
        self.rates
            .retain(|(round, _)| now - round < BTL_BW_FILTER_LEN);
        self.rates.push_back((now, rate));
    }

    pub(super) fn update_extra(&mut self, ack: &SenderAck) {
        if ack.delivered_now_pkts == 0 {
            return;
        }
        let (now, delivered) = (ack.now_us as f64, f64::from(ack.delivered_now_pkts));
        // The span is one round trip until the pipe is full.
        let span = if self.filled_pipe { 5 } else { 1 };
        let extra = &mut self.extra;
        extra.rounds += u32::from(self.round_start);
        if self.round_start && extra.rounds >= span {
            extra.rounds = 0;
            extra.greatest = [0.0, extra.greatest[0]];
        }
        let (acked, since_us) = (extra.acked, extra.since_us);
        let mut due = self.bw() * ((now - since_us) / 1e6).min(67.1) / f64::from(MSS);
        // Whole segments are due: acked <= floor(due).
        self.is_doubtful |= (acked - due).abs() <= BYTES && acked > 0.0;
        if acked <= due || acked + delivered >= 1_048_576.0 {
            self.extra.since_us = now;
            self.extra.acked = 0.0;
            due = 0.0;
        }
        self.extra.acked += delivered;
        let more = (self.extra.acked - due.floor()).clamp(0.0, self.cwnd);
        self.extra.greatest[0] = self.extra.greatest[0].max(more);
    }

    /// BBRIsNextCyclePhase
    fn is_next_cycle_phase(&mut self, ack: &SenderAck) -> bool {
        let is_full_length = ack.now_us as f64 - self.cycle_stamp > self.rt_prop.unwrap_or(0.0);
        let gain = self.pacing_gain();
        let (bw, flight) = (self.btl_bw(), f64::from(ack.prior_inflight_pkts));
        if gain == 1.0 {
            return is_full_length;
        }
        if gain > 1.0 {
            return is_full_length
                && (ack.lost_now_pkts > 0 || !self.is_within(flight + 1.0, bw, gain));
        }
        is_full_length || self.is_within(flight, bw, 1.0)
    }

    pub(super) fn check_cycle_phase(&mut self, ack: &SenderAck) {
        if self.state != State::ProbeBw || self.policer.is_in_use() {
            return;
        }
        if self.is_next_cycle_phase(ack) {
            self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
            self.cycle_stamp = ack.now_us as f64;
        }
    }

    /// BBREnterProbeBW: seven of the eight phases, not the one that yields.
    pub(super) fn enter_probe_bw(&mut self, now_us: u64, random: u32) {
        let drawn = ((u64::from(random) * 7) >> 32) as usize;
        self.state = State::ProbeBw;
        self.cycle_index = [0, 2, 3, 4, 5, 6, 7][drawn];
        self.cycle_stamp = now_us as f64;
    }

    /// BBRCheckFullPipe
    pub(super) fn check_full_pipe(&mut self, ack: &SenderAck) {
        if self.filled_pipe || !self.round_start || self.is_lower_bound(ack) {
            return;
        }
        let (needed, btl_bw) = (1.25 * self.full_bw, self.btl_bw());
        if needed <= btl_bw {
            self.full_bw = btl_bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    pub(super) fn check_drain(&mut self, ack: &SenderAck) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain {
            let btl_bw = self.btl_bw();
            if self.is_within(ack.inflight_pkts.into(), btl_bw, 1.0) {
                self.enter_probe_bw(ack.now_us, ack.random);
            }
        }
    }

    /// BBRUpdateRTprop: any sample replaces what has expired.
    pub(super) fn update_rt_prop(&mut self, ack: &SenderAck) {
        let now = ack.now_us as f64;
        self.is_rt_prop_expired = now > self.rt_prop_stamp + RT_PROP_FILTER_US;
        let rtt = f64::from(ack.rtt_us);
        let is_less = self.rt_prop.is_none_or(|rt_prop| rtt < rt_prop);
        if ack.rtt_us > 0 && (is_less || self.is_rt_prop_expired) {
            self.rt_prop = Some(rtt);
            self.rt_prop_stamp = now;
        }
    }

    /// BBRCheckProbeRTT
    pub(super) fn check_probe_rtt(&mut self, ack: &SenderAck) {
        if self.state != State::ProbeRtt && self.is_rt_prop_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = None;
            self.probe_rtt_sent.0 = ack.delivered_pkts;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.delivered_now_pkts > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, ack: &SenderAck) {
        let now = ack.now_us as f64;
        self.probe_rtt_sent.1 = ack.delivered_pkts + u64::from(ack.inflight_pkts);
        match self.probe_rtt_done_stamp {
            None if f64::from(ack.inflight_pkts) <= MIN_PIPE_CWND => {
                self.probe_rtt_done_stamp = Some(now + PROBE_RTT_US);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = ack.delivered_pkts;
            }
            None => {}
            Some(done_stamp) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && now > done_stamp {
                    self.exit_probe_rtt(ack.now_us, ack.random);
                }
            }
        }
    }

    pub(super) fn exit_probe_rtt(&mut self, now_us: u64, random: u32) {
        self.rt_prop_stamp = now_us as f64;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.filled_pipe {
            self.enter_probe_bw(now_us, random);
        } else {
            self.state = State::Startup;
        }
    }

    /// BBRSaveCwnd
    pub(super) fn save_cwnd(&mut self) {
        let is_calm = self.phase < Phase::Recovery as u8 && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_calm {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }
}
