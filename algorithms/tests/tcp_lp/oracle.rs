// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP-LP as its paper has it (section III; figure 3), with the differences that `tcp_lp.h`
//! lists: windows, delays and times are real numbers.

use crate::sender_oracle::{FIRST_PKTS, Habits, Model, compare};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};
use proptest::prelude::*;

/// The law earns a segment when a window's worth is acknowledged: it is up to one behind,
/// and its steps put it up to a half ahead.
const LAG_PKTS: f64 = 1.0;
/// Conditions (2) that are closer than this to being equal may fall either way: the law
/// keeps delays in 1/1024 us and a faded range in whole ones.
const DOUBT_US: f64 = 1.0;

#[derive(Debug, Clone)]
struct Params {
    delta_x1024: u32,
    gamma_x1024: u32,
    reset_ms: u32,
    kept_range_x1024: u32,
    inference_rtts: u32,
    resume_x1024: u32,
}

fn any_params() -> impl Strategy<Value = Params> {
    let usual = Params {
        delta_x1024: 154,
        gamma_x1024: 128,
        reset_ms: 180_000,
        kept_range_x1024: 512,
        inference_rtts: 3,
        resume_x1024: 820,
    };
    let any = (
        20u32..1000,
        8u32..=1024,
        prop_oneof![Just(180_000u32), 1_000u32..20_000],
        0u32..=1024,
        1u32..20,
        prop_oneof![Just(0u32), 0u32..=1024],
    );
    prop_oneof![
        Just(usual),
        any.prop_map(|(delta, gamma, reset_ms, kept, rtts, resume)| Params {
            delta_x1024: delta,
            gamma_x1024: gamma,
            reset_ms,
            kept_range_x1024: kept,
            inference_rtts: rtts,
            resume_x1024: resume,
        }),
    ]
}

impl Params {
    fn policy(&self) -> String {
        format!(
            "tcp-lp:delta_x1024={},gamma_x1024={},reset_ms={},kept_range_x1024={},\
             inference_rtts={},resume_x1024={}",
            self.delta_x1024,
            self.gamma_x1024,
            self.reset_ms,
            self.kept_range_x1024,
            self.inference_rtts,
            self.resume_x1024
        )
    }
}

fn part(x1024: u32) -> f64 {
    f64::from(x1024) / 1024.0
}

/// What TCP-LP does once it knows (section III.B), whoever told it.
struct Policy {
    inference_rtts: f64,
    /// Difference 6: what a quiet inference phase gives back of the window before.
    resume: f64,
    cwnd: f64,
    ssthresh: f64,
    /// By how much whole segments can have put the law's window and threshold off, but for
    /// what it has acknowledged towards its next segment.
    error: f64,
    /// Before the last reduction: the window and that error.
    prior_cwnd: (f64, f64),
    /// Before the last loss or time-out.
    prior_ssthresh: f64,
    /// itti: until when, and what comes back then.
    inference: Option<(f64, Option<Back>)>,
    /// What was sent before this does not know of the last reaction.
    reacted_at_seq: Option<u32>,
}

/// A window, and by how much the law's can be off.
#[derive(Clone, Copy)]
struct Back {
    cwnd: f64,
    error: f64,
}

impl Policy {
    fn new(params: &Params) -> Self {
        Self {
            inference_rtts: params.inference_rtts.into(),
            resume: part(params.resume_x1024),
            cwnd: FIRST_PKTS.into(),
            ssthresh: f64::INFINITY,
            error: 0.0,
            prior_cwnd: (0.0, 0.0),
            prior_ssthresh: f64::INFINITY,
            inference: None,
            reacted_at_seq: None,
        }
    }

    fn is_within_the_round_trip(&self) -> bool {
        self.reacted_at_seq.is_some()
    }

    fn pass_time(&mut self, now_us: f64, ack_seq: u32) {
        let is_new = |seq: u32| ack_seq.wrapping_sub(seq).cast_signed() > 0;
        if self.reacted_at_seq.is_some_and(is_new) {
            self.reacted_at_seq = None;
        }
        if let Some((until_us, back)) = self.inference
            && now_us >= until_us
        {
            self.inference = None;
            if let Some(back) = back.filter(|back| back.cwnd > self.cwnd) {
                self.cwnd = back.cwnd;
                self.ssthresh = back.cwnd;
                self.error = back.error;
            }
        }
    }

    /// Figure 3, lines 2 to 8; at most once per round trip. It is about the window in use:
    /// what has come back at this very moment is not.
    fn indicate(&mut self, in_use: f64, now_us: f64, rtt_us: f64, snd_nxt: u32) {
        self.cwnd = in_use;
        if self.is_within_the_round_trip() {
            return;
        }
        let is_second = self.inference.is_some();
        let back = Back {
            cwnd: self.cwnd * self.resume,
            error: (self.error + LAG_PKTS) * self.resume + 1.0,
        };
        self.reacted(snd_nxt);
        if is_second {
            self.cwnd = 1.0;
            self.error = 0.0;
        } else {
            self.cwnd = (self.cwnd / 2.0).max(1.0);
        }
        self.ssthresh = self.cwnd;
        let until_us = now_us + self.inference_rtts * rtt_us;
        self.inference = Some((until_us, (!is_second).then_some(back)));
    }

    /// What was acknowledged towards the next segment is void, and a half one is cut off.
    fn reacted(&mut self, snd_nxt: u32) {
        self.prior_cwnd = (self.cwnd, self.error + LAG_PKTS);
        self.error = (self.error + LAG_PKTS) / 2.0 + 0.5;
        self.reacted_at_seq = Some(snd_nxt);
    }

    /// Figure 3, lines 10 to 12, with TCP's slow start. The sum of many 1 / cwnd is their
    /// integral.
    fn grow(&mut self, acked: f64) {
        if self.inference.is_some() {
            return;
        }
        let used = acked.min((self.ssthresh - self.cwnd).max(0.0));
        self.cwnd += used;
        self.cwnd = (self.cwnd * self.cwnd + 2.0 * (acked - used)).sqrt();
    }

    /// TCP's own: half the window, and nothing comes back.
    fn lose(&mut self, snd_nxt: u32) {
        self.prior_ssthresh = self.ssthresh;
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
        if let Some((_, back)) = &mut self.inference {
            *back = None;
        }
        self.reacted(snd_nxt);
        self.cwnd = self.ssthresh;
    }

    fn undo(&mut self) {
        let (prior_cwnd, prior_error) = self.prior_cwnd;
        self.cwnd = self.cwnd.max(prior_cwnd);
        self.error = self.error.max(prior_error);
        self.ssthresh = self.prior_ssthresh;
    }
}

/// The early congestion indication (section III.A).
struct Delays {
    delta: f64,
    gamma: f64,
    reset_us: f64,
    kept: f64,
    smoothed_us: Option<f64>,
    /// Of the three minutes under way: since when, least, greatest.
    now: Option<(f64, f64, f64)>,
    last_least_us: f64,
    /// d_max - d_min that earlier ones left.
    old_range_us: f64,
    last_ack_us: f64,
    last_delay_us: f64,
    late: u32,
    singles: u32,
}

impl Delays {
    fn least_us(&self) -> f64 {
        self.now
            .map_or(f64::INFINITY, |(_, least_us, _)| least_us)
            .min(self.last_least_us)
    }

    fn seen_range_us(&self) -> f64 {
        self.now
            .map_or(0.0, |(_, _, most_us)| (most_us - self.least_us()).max(0.0))
    }

    fn range_us(&self) -> f64 {
        self.old_range_us.max(self.seen_range_us())
    }

    /// Difference 4.
    fn reset(&mut self) {
        let (range_us, seen_us) = (self.range_us(), self.seen_range_us());
        let faded_us = range_us.min(100_000.0) + (range_us - 100_000.0).max(0.0) * self.kept;
        self.old_range_us = faded_us.max(seen_us);
        self.last_least_us = self.now.map_or(f64::INFINITY, |(_, least_us, _)| least_us);
        self.now = None;
    }

    /// Equation (1), and condition (2): by how much it holds.
    fn take(&mut self, now_us: f64, delay_us: f64) -> f64 {
        if self
            .now
            .is_some_and(|(since_us, ..)| now_us - since_us >= self.reset_us)
        {
            self.reset();
        }
        let (_, least_us, most_us) = self.now.get_or_insert((now_us, f64::INFINITY, 0.0));
        *least_us = least_us.min(delay_us);
        *most_us = most_us.max(delay_us);
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

const HABITS: Habits = Habits {
    queue_us: 100_000,
    grain_us: 1,
    most_pkts: 2000,
    cases: 256,
};

#[test]
fn tcp_lp_does_as_its_paper_has_it() {
    compare(&HABITS, any_params(), |params| {
        (params.policy(), TcpLp::new(params))
    });
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
