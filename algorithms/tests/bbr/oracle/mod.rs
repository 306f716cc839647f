// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR version 1 in real numbers, after draft-cardwell-iccrg-bbr-congestion-control-00 and,
//! where that leaves things to code, what Linux does: the pacing margin, the policer, the
//! aggregation of acknowledgements. Names are the draft's. Rates are whole bytes per second,
//! times microseconds.

mod modes;
mod policer;

use crate::sender_oracle::{FIRST_PKTS, Habits, MSS, Model, compare};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};
use policer::Policer;
use proptest::prelude::*;
use std::collections::VecDeque;

const HIGH_GAIN: f64 = 2.885_39; // 2 / ln 2
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const BTL_BW_FILTER_LEN: u64 = 10;
const RT_PROP_FILTER_US: f64 = 10e6;
const PROBE_RTT_US: f64 = 200e3;
const MIN_PIPE_CWND: f64 = 4.0;
/// Linux paces a hundredth below what it knows.
const MARGIN: f64 = 0.99;
/// The gains of STARTUP and DRAIN are 1024ths.
const PART: f64 = 5e-4;
/// Volumes are whole bytes, in segments.
const BYTES: f64 = 3.0 / MSS as f64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

pub struct Bbr {
    state: State,
    cwnd: f64,
    pacing_rate: f64,
    /// Rounds and the rates measured in them, of the filter's window.
    rates: VecDeque<(u64, f64)>,
    round_count: u64,
    /// As far as the filter knows: rounds without a sample that counts do not pass in it.
    filter_round: u64,
    pending_rounds: u64,
    next_round_delivered: u64,
    round_start: bool,
    rt_prop: Option<f64>,
    rt_prop_stamp: f64,
    is_rt_prop_expired: bool,
    full_bw: f64,
    full_bw_count: u32,
    filled_pipe: bool,
    cycle_index: usize,
    cycle_stamp: f64,
    probe_rtt_done_stamp: Option<f64>,
    probe_rtt_round_done: bool,
    /// What was sent in a PROBE_RTT: between so many and so many delivered segments.
    probe_rtt_sent: (u64, u64),
    idle_restart: bool,
    packet_conservation: bool,
    prior_cwnd: f64,
    phase: u8,
    has_seen_rtt: bool,
    policer: Policer,
    extra: Extra,
    policed_x8: u32,
    is_doubtful: bool,
}

/// Linux: how many more acknowledgements come in a batch than the bandwidth gives.
#[derive(Default)]
struct Extra {
    since_us: f64,
    acked: f64,
    greatest: [f64; 2],
    rounds: u32,
}

impl Bbr {
    pub fn new() -> Self {
        Self {
            state: State::Startup,
            cwnd: f64::from(FIRST_PKTS),
            // Before there is an RTT: 1 ms.
            pacing_rate: HIGH_GAIN * f64::from(FIRST_PKTS * MSS) / 1e-3,
            rates: VecDeque::new(),
            round_count: 0,
            filter_round: 0,
            pending_rounds: 0,
            next_round_delivered: 0,
            round_start: false,
            rt_prop: None,
            rt_prop_stamp: 0.0,
            is_rt_prop_expired: false,
            full_bw: 0.0,
            full_bw_count: 0,
            filled_pipe: false,
            cycle_index: 0,
            cycle_stamp: 0.0,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            probe_rtt_sent: (0, 0),
            idle_restart: false,
            packet_conservation: false,
            prior_cwnd: 0.0,
            phase: Phase::Open as u8,
            has_seen_rtt: false,
            policer: Policer::new(0.0),
            extra: Extra::default(),
            policed_x8: 0,
            is_doubtful: false,
        }
    }

    fn btl_bw(&self) -> f64 {
        self.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    fn bw(&self) -> f64 {
        self.policer.rate_in_use().unwrap_or(self.btl_bw())
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw if !self.policer.is_in_use() => CYCLE[self.cycle_index],
            State::ProbeBw | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw => 2.0,
            State::ProbeRtt => 1.0,
        }
    }

    /// BBRInflight, in whole segments and to an even number as Linux has it; two more where
    /// it probes, so that a small window can. Off by a part of a segment.
    fn inflight(&self, bw: f64, gain: f64, off: f64) -> f64 {
        let is_known = self.rt_prop.filter(|_| bw > 0.0);
        let bdp = is_known.map_or(f64::from(FIRST_PKTS), |rt_prop| {
            (gain * bw * rt_prop / 1e6 / f64::from(MSS) + off).ceil()
        });
        let pkts = bdp + 3.0 * self.send_quantum(off.signum() * PART);
        let is_probing = self.state == State::ProbeBw && self.cycle_index == 0;
        2.0 * (pkts / 2.0).ceil() + if is_probing { 2.0 } else { 0.0 }
    }

    /// BBRSetSendQuantum: a 1024th of a second of pace, one or two segments at least.
    fn send_quantum(&self, part: f64) -> f64 {
        let pacing_rate = self.pacing_rate * (1.0 + part);
        let least = if pacing_rate < 150_000.0 { 1.0 } else { 2.0 };
        let burst = (pacing_rate / 1024.0).min(65535.0) / f64::from(MSS);
        burst.floor().clamp(least, 127.0)
    }

    /// Whether so much is at most BBRInflight, and rounding does not matter.
    fn is_within(&mut self, pkts: f64, bw: f64, gain: f64) -> bool {
        let rt_prop = self.rt_prop.unwrap_or(0.0);
        let bdp = gain * bw * rt_prop / 1e6 / f64::from(MSS);
        let off = BYTES + if gain == HIGH_GAIN { PART * bdp } else { 0.0 };
        let (low, high) = (self.inflight(bw, gain, -off), self.inflight(bw, gain, off));
        self.is_doubtful |= (pkts <= low) != (pkts <= high);
        pkts <= low
    }

    /// BBRSetPacingRateWithGain
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw() * MARGIN;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// BBRModulateCwndForRecovery, and what the draft does on entering and leaving one.
    fn modulate_cwnd_for_recovery(&mut self, ack: &SenderAck) {
        let conserved = f64::from(ack.inflight_pkts + ack.delivered_now_pkts);
        let was_repairing = self.phase >= Phase::Recovery as u8;
        self.cwnd = (self.cwnd - f64::from(ack.lost_now_pkts)).max(1.0);
        if ack.phase == Phase::Recovery as u8 && self.phase != Phase::Recovery as u8 {
            self.packet_conservation = true;
            self.next_round_delivered = ack.delivered_pkts;
            self.cwnd = self.cwnd.min(conserved);
        } else if was_repairing && ack.phase < Phase::Recovery as u8 {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.phase = ack.phase;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserved);
        }
    }

    /// BBRSetCwnd
    fn set_cwnd(&mut self, ack: &SenderAck) {
        self.modulate_cwnd_for_recovery(ack);
        if self.packet_conservation {
            return;
        }
        let delivered = f64::from(ack.delivered_now_pkts);
        let bw = self.bw();
        let mut target = self.inflight(bw, self.cwnd_gain(), -BYTES);
        if self.filled_pipe {
            // Linux: aggregation of at most 100 ms.
            let extra = self.extra.greatest[0].max(self.extra.greatest[1]);
            target += extra.min((bw * 0.1 / f64::from(MSS)).floor());
            self.cwnd = (self.cwnd + delivered).min(target);
        } else {
            let gain = self.cwnd_gain();
            if ack.delivered_pkts < u64::from(FIRST_PKTS)
                || self.is_within(self.cwnd + 1.0, bw, gain)
            {
                self.cwnd += delivered;
            }
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
    }
}

impl Model for Bbr {
    fn on_start(&mut self, now_us: u64) {
        self.rt_prop_stamp = now_us as f64;
        self.policer = Policer::new(now_us as f64);
        self.extra.since_us = now_us as f64;
    }

    fn policed_x8(&self) -> u32 {
        self.policed_x8
    }

    fn on_ack(&mut self, ack: &SenderAck) {
        self.round_start = false;
        self.policer.on_ack(ack);
        if ack.rate_interval_us > 0 && ack.rate_delivered_pkts > 0 {
            self.update_round(ack);
            let is_probing = self.state == State::ProbeBw;
            let is_lower_bound = self.is_lower_bound(ack);
            if self
                .policer
                .measure(ack, self.round_start, is_lower_bound, is_probing)
            {
                self.enter_probe_bw(ack.now_us, ack.random);
            }
            self.update_btl_bw(ack);
            self.update_extra(ack);
        }
        self.check_cycle_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_rt_prop(ack);
        self.check_probe_rtt(ack);

        if !self.has_seen_rtt && ack.srtt_us > 0 {
            self.has_seen_rtt = true;
            self.pacing_rate = HIGH_GAIN * bytes_per_s(self.cwnd, ack.srtt_us.into());
        }
        self.set_pacing_rate(self.pacing_gain());
        if ack.delivered_now_pkts > 0 {
            self.set_cwnd(ack);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
        }
    }

    fn on_loss(&mut self, _: &SenderEvent) {
        self.save_cwnd();
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.save_cwnd();
        self.phase = Phase::Loss as u8;
        self.full_bw = 0.0;
        self.packet_conservation = false;
        self.policer.on_timeout(event);
        self.cwnd = self.cwnd.min(f64::from(event.inflight_pkts) + 1.0);
    }

    fn on_undo(&mut self, event: &SenderEvent) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.policer = self.policer.forget(event.now_us as f64);
    }

    /// BBRHandleRestartFromIdle
    fn on_idle(&mut self, event: &SenderEvent) {
        self.idle_restart = true;
        self.extra.since_us = event.now_us as f64;
        self.extra.acked = 0.0;
        if self.state == State::ProbeBw {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt
            && self
                .probe_rtt_done_stamp
                .is_some_and(|done| event.now_us as f64 > done)
        {
            self.exit_probe_rtt(event.now_us, event.random);
        }
    }

    fn cwnd_pkts(&self) -> f64 {
        self.cwnd
    }

    /// Targets are rounded up to even numbers, with three bursts of whole segments, from
    /// gains and rates that are known to a part; what is due of aggregated acknowledgements
    /// is cut to whole segments.
    fn tolerance_pkts(&self) -> f64 {
        5.0 + self.cwnd * PART
    }

    fn pace_bytes_per_s(&self) -> Option<(f64, f64)> {
        Some((self.pacing_rate, PART))
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}

fn bytes_per_s(pkts: f64, interval_us: f64) -> f64 {
    (pkts * f64::from(MSS) * 1e6 / interval_us).floor()
}

const HABITS: Habits = Habits {
    queue_us: 60_000,
    grain_us: 1,
    most_pkts: 100_000,
    cases: 128,
};

#[test]
fn bbr_is_within_five_segments_and_a_two_thousandth_of_its_draft() {
    compare(&HABITS, Just(()), |()| ("bbr".to_owned(), Bbr::new()));
}

#[test]
fn bbr_finds_a_policer_when_its_model_does() {
    compare(&HABITS, Just(()), |()| {
        let policed = Bbr {
            policed_x8: 2,
            ..Bbr::new()
        };
        ("bbr".to_owned(), policed)
    });
}
