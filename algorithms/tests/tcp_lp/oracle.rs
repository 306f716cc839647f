// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP-LP as its paper has it (section III; figure 3), with the differences that
//! `tcp_lp/tcp_lp.h` lists: windows, delays and times are real numbers.

use crate::sender_oracle::{FIRST_PKTS, Model, compare};
use crate::tcp_lp_model::{HABITS, LAG_PKTS, Params, Policy, any_params, part};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};

/// Conditions (2) that are closer than this to being equal may fall either way: the law
/// keeps delays in 1/1024 us and a faded range in whole ones.
const DOUBT_US: f64 = 1.0;

/// The early congestion indication (section III.A).
struct Delays {
    delta: f64,
    gamma: f64,
    reset_us: f64,
    kept: f64,
    smoothed_us: Option<f64>,
    /// Of the three minutes under way: since when, and all delays.
    now: Option<(f64, Vec<f64>)>,
    /// The second least and the second greatest count: difference 9.
    skipped: usize,
    last_least_us: f64,
    /// d_max - d_min that earlier ones left.
    old_range_us: f64,
    last_ack_us: f64,
    last_delay_us: f64,
    late: u32,
    singles: u32,
}

impl Delays {
    /// Those of these three minutes, from the least on.
    fn sorted_us(&self) -> Vec<f64> {
        let mut delays_us = self.now.as_ref().map_or(Vec::new(), |now| now.1.clone());
        delays_us.sort_by(f64::total_cmp);
        delays_us
    }

    fn agreed_least_us(&self) -> f64 {
        let sorted_us = self.sorted_us();
        let least_us = sorted_us.get(self.skipped).copied();
        least_us.unwrap_or(f64::INFINITY)
    }

    fn least_us(&self) -> f64 {
        let agreed_us = self.agreed_least_us().min(self.last_least_us);
        if agreed_us.is_finite() {
            return agreed_us;
        }
        self.sorted_us().first().copied().unwrap_or(f64::INFINITY)
    }

    fn seen_range_us(&self) -> f64 {
        let sorted_us = self.sorted_us();
        let most_us = sorted_us.iter().rev().nth(self.skipped);
        most_us.map_or(0.0, |most_us| (most_us - self.least_us()).max(0.0))
    }

    fn range_us(&self) -> f64 {
        self.old_range_us.max(self.seen_range_us())
    }

    /// Difference 4.
    fn reset(&mut self) {
        let (range_us, seen_us) = (self.range_us(), self.seen_range_us());
        let faded_us = range_us.min(100_000.0) + (range_us - 100_000.0).max(0.0) * self.kept;
        self.old_range_us = faded_us.max(seen_us);
        self.last_least_us = self.agreed_least_us();
        self.now = None;
    }

    /// Equation (1), and condition (2): by how much it holds.
    fn take(&mut self, now_us: f64, delay_us: f64) -> f64 {
        if self
            .now
            .as_ref()
            .is_some_and(|(since_us, _)| now_us - since_us >= self.reset_us)
        {
            self.reset();
        }
        let (_, delays_us) = self.now.get_or_insert((now_us, Vec::new()));
        delays_us.push(delay_us);
        let smoothed_us = match self.smoothed_us {
            Some(old_us) => (1.0 - self.gamma) * old_us + self.gamma * delay_us,
            None => delay_us,
        };
        self.smoothed_us = Some(smoothed_us);
        smoothed_us - (self.least_us() + self.range_us() * self.delta)
    }

    /// Difference 3: an acknowledgement that the receiver may have held back. None came in
    /// the time for which it holds one.
    fn may_be_held_back(&mut self, ack: &SenderAck) -> bool {
        let now_us = ack.now_us as f64;
        let silence_us = now_us - self.last_ack_us;
        self.last_ack_us = now_us;
        let delay_us = f64::from(ack.rtt_us);
        let is_open = ack.phase == Phase::Open as u8;
        let is_late = ack.delivered_now_pkts <= 1 && silence_us >= 30_000.0;
        let looks_held = is_late && delay_us >= self.last_delay_us + 30_000.0;
        if ack.rtt_us > 0 {
            self.last_delay_us = delay_us;
        }
        let is_alone_in_flight = ack.prior_inflight_pkts <= 1;
        if ack.delivered_now_pkts > 1 || !is_open || looks_held {
            self.singles = 0;
        } else if !is_alone_in_flight && ack.delivered_now_pkts == 1 && ack.rtt_us > 0 {
            self.singles += 1;
        }
        if is_alone_in_flight {
            return true;
        }
        self.late = if is_late && is_open { self.late + 1 } else { 0 };
        is_late && self.late < 8 && self.singles < 32
    }
}

struct TcpLp {
    policy: Policy,
    delays: Delays,
    has_lost: bool,
    is_doubtful: bool,
}

impl TcpLp {
    fn new(params: &Params) -> Self {
        Self {
            policy: Policy::new(params),
            delays: Delays {
                delta: part(params.delta_x1024),
                gamma: part(params.gamma_x1024),
                reset_us: f64::from(params.reset_ms) * 1000.0,
                kept: part(params.kept_range_x1024),
                smoothed_us: None,
                now: None,
                skipped: usize::from(!params.lone_extremes),
                last_least_us: f64::INFINITY,
                old_range_us: 0.0,
                last_ack_us: 0.0,
                last_delay_us: 0.0,
                late: 0,
                singles: 0,
            },
            has_lost: false,
            is_doubtful: false,
        }
    }

    /// cong_ind.
    fn is_congested(&mut self, ack: &SenderAck) -> bool {
        let is_held_back = self.delays.may_be_held_back(ack);
        // Difference 5: smoothing begins with the first segment sent since a reaction.
        if self.policy.is_within_the_round_trip() {
            self.delays.smoothed_us = None;
        }
        if ack.rtt_us == 0 || is_held_back {
            return false;
        }
        let over_us = self.delays.take(ack.now_us as f64, ack.rtt_us.into());
        if self.policy.is_within_the_round_trip() {
            self.delays.smoothed_us = None;
        }
        self.is_doubtful |= self.has_lost && over_us.abs() < DOUBT_US && over_us != 0.0;
        self.has_lost && over_us > 0.0
    }
}

impl Model for TcpLp {
    fn on_ack(&mut self, ack: &SenderAck) {
        let (now_us, in_use) = (ack.now_us as f64, self.policy.cwnd);
        self.policy.pass_time(now_us, ack.ack_seq);
        // Difference 2: the reaction to a loss lasts until it is repaired.
        if ack.phase >= Phase::Cwr as u8 {
            self.policy.reacted_at_seq = Some(ack.snd_nxt);
        }
        if self.is_congested(ack) {
            self.policy
                .indicate(in_use, now_us, ack.srtt_us.into(), ack.snd_nxt);
        } else if ack.is_cwnd_limited > 0 {
            self.policy.grow(ack.acked_pkts.into());
        }
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        self.has_lost = true;
        self.policy.lose(event.snd_nxt);
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.on_loss(event);
        self.policy.cwnd = 1.0;
    }

    fn on_undo(&mut self, _: &SenderEvent) {
        self.policy.undo();
    }

    fn on_idle(&mut self, _: &SenderEvent) {
        self.delays.smoothed_us = None;
        self.policy.cwnd = self.policy.cwnd.min(FIRST_PKTS.into());
    }

    fn cwnd_pkts(&self) -> f64 {
        self.policy.cwnd
    }

    fn tolerance_pkts(&self) -> f64 {
        self.policy.error + LAG_PKTS + 0.5
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}

#[test]
fn tcp_lp_does_as_its_paper_has_it() {
    compare(&HABITS, any_params(), |params| {
        (params.policy(), TcpLp::new(params))
    });
}
