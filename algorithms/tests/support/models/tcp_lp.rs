// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What TCP-LP does with its window once it knows of congestion (section III.B of its paper), in
//! real numbers: whoever tells it, delays or marks.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use crate::sender_oracle::{FIRST_PKTS, Habits};
use proptest::prelude::*;

/// The law earns a segment when a window's worth is acknowledged: it is up to one behind,
/// and its steps put it up to a half ahead.
pub const LAG_PKTS: f64 = 1.0;
#[derive(Debug, Clone)]
pub struct Params {
    pub delta_x1024: u32,
    pub gamma_x1024: u32,
    pub reset_ms: u32,
    pub kept_range_x1024: u32,
    pub inference_rtts: u32,
    pub resume_x1024: u32,
    pub lone_extremes: bool,
}

pub fn any_params() -> impl Strategy<Value = Params> {
    let usual = Params {
        delta_x1024: 154,
        gamma_x1024: 128,
        reset_ms: 180_000,
        kept_range_x1024: 512,
        inference_rtts: 3,
        resume_x1024: 820,
        lone_extremes: false,
    };
    let any = (
        20u32..1000,
        8u32..=1024,
        prop_oneof![Just(180_000u32), 1_000u32..20_000],
        0u32..=1024,
        1u32..20,
        prop_oneof![Just(0u32), 0u32..=1024],
        any::<bool>(),
    );
    prop_oneof![
        Just(usual),
        any.prop_map(
            |(delta, gamma, reset_ms, kept, rtts, resume, lone)| Params {
                delta_x1024: delta,
                gamma_x1024: gamma,
                reset_ms,
                kept_range_x1024: kept,
                inference_rtts: rtts,
                resume_x1024: resume,
                lone_extremes: lone,
            }
        ),
    ]
}

impl Params {
    /// As `tcp-lp` takes them.
    pub fn policy(&self) -> String {
        format!(
            "tcp-lp:delta_x1024={},gamma_x1024={},reset_ms={},kept_range_x1024={},\
             inference_rtts={},resume_x1024={},lone_extremes={}",
            self.delta_x1024,
            self.gamma_x1024,
            self.reset_ms,
            self.kept_range_x1024,
            self.inference_rtts,
            self.resume_x1024,
            u8::from(self.lone_extremes)
        )
    }
}

pub fn part(x1024: u32) -> f64 {
    f64::from(x1024) / 1024.0
}

/// What TCP-LP does once it knows (section III.B), whoever told it.
pub struct Policy {
    pub inference_rtts: f64,
    /// Difference 6: what a quiet inference phase gives back of the window before.
    pub resume: f64,
    pub cwnd: f64,
    pub ssthresh: f64,
    /// By how much whole segments can have put the law's window and threshold off, but for
    /// what it has acknowledged towards its next segment.
    pub error: f64,
    /// Before the last reduction: the window and that error.
    pub prior_cwnd: (f64, f64),
    /// Before the last loss or time-out.
    pub prior_ssthresh: f64,
    /// itti: until when, and what comes back then.
    pub inference: Option<(f64, Option<Back>)>,
    /// What was sent before this does not know of the last reaction.
    pub reacted_at_seq: Option<u32>,
}

/// A window, and by how much the law's can be off.
#[derive(Clone, Copy)]
pub struct Back {
    pub cwnd: f64,
    pub error: f64,
}

impl Policy {
    pub fn new(params: &Params) -> Self {
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

    pub fn is_within_the_round_trip(&self) -> bool {
        self.reacted_at_seq.is_some()
    }

    pub fn pass_time(&mut self, now_us: f64, ack_seq: u32) {
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
    pub fn indicate(&mut self, in_use: f64, now_us: f64, rtt_us: f64, snd_nxt: u32) {
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
    pub fn reacted(&mut self, snd_nxt: u32) {
        self.prior_cwnd = (self.cwnd, self.error + LAG_PKTS);
        self.error = (self.error + LAG_PKTS) / 2.0 + 0.5;
        self.reacted_at_seq = Some(snd_nxt);
    }

    /// Figure 3, lines 10 to 12, with TCP's slow start. The sum of many 1 / cwnd is their
    /// integral.
    pub fn grow(&mut self, acked: f64) {
        if self.inference.is_some() {
            return;
        }
        let used = acked.min((self.ssthresh - self.cwnd).max(0.0));
        self.cwnd += used;
        self.cwnd = (self.cwnd * self.cwnd + 2.0 * (acked - used)).sqrt();
    }

    /// TCP's own: half the window, and nothing comes back.
    pub fn lose(&mut self, snd_nxt: u32) {
        self.prior_ssthresh = self.ssthresh;
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
        if let Some((_, back)) = &mut self.inference {
            *back = None;
        }
        self.reacted(snd_nxt);
        self.cwnd = self.ssthresh;
    }

    pub fn undo(&mut self) {
        let (prior_cwnd, prior_error) = self.prior_cwnd;
        self.cwnd = self.cwnd.max(prior_cwnd);
        self.error = self.error.max(prior_error);
        self.ssthresh = self.prior_ssthresh;
    }
}

pub const HABITS: Habits = Habits {
    queue_us: 100_000,
    grain_us: 1,
    most_pkts: 2000,
    cases: 256,
};
