// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LEDBAT++ as its implementations have it (SOURCES.md, LEDBATPP), in real numbers: the
//! window, whoever applies it.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone)]
pub struct Params {
    pub target_us: u32,
    pub most_gain_divisor: u32,
    pub exit_x1024: u32,
    pub decrease_x1024: u32,
    pub slowdown_interval: u32,
}

impl Params {
    pub fn usual() -> Self {
        Self {
            target_us: 60_000,
            most_gain_divisor: 16,
            exit_x1024: 768,
            decrease_x1024: 1024,
            slowdown_interval: 9,
        }
    }

    pub fn policy(&self, law: &str) -> String {
        format!(
            "{law}:target_us={},most_gain_divisor={},exit_x1024={},decrease_x1024={},\
             slowdown_interval={}",
            self.target_us,
            self.most_gain_divisor,
            self.exit_x1024,
            self.decrease_x1024,
            self.slowdown_interval
        )
    }
}

pub fn any_params(slowdown_interval: impl Strategy<Value = u32>) -> impl Strategy<Value = Params> {
    let target_us = prop_oneof![Just(60_000u32), 5_000u32..=100_000];
    let divisor = prop_oneof![Just(16u32), 1u32..40];
    (
        target_us,
        divisor,
        100u32..=1024,
        prop_oneof![Just(1024u32), 64u32..4096],
        slowdown_interval,
    )
        .prop_map(|(target_us, divisor, exit, decrease, interval)| Params {
            target_us,
            most_gain_divisor: divisor,
            exit_x1024: exit,
            decrease_x1024: decrease,
            slowdown_interval: interval,
        })
}

/// Round-trip times: the least of ten minutes, and of the last four that are not older than
/// a round trip.
#[derive(Default)]
pub struct Delays {
    /// The least of each minute.
    base_us: BTreeMap<u64, f64>,
    /// When, and how long; the latest first.
    current: VecDeque<(u64, f64)>,
}

impl Delays {
    pub fn take(&mut self, now_us: u64, rtt_us: f64) {
        let least_us = self.base_us.entry(now_us / 60_000_000).or_insert(rtt_us);
        *least_us = least_us.min(rtt_us);
        self.current.push_front((now_us, rtt_us));
        self.current.truncate(4);
    }

    pub fn base_us(&self) -> Option<f64> {
        let (minute, _) = self.base_us.last_key_value()?;
        let history = self.base_us.range(minute.saturating_sub(9)..);
        history.map(|(_, us)| *us).reduce(f64::min)
    }

    pub fn queue_us(&self, srtt_us: f64) -> Option<f64> {
        let (last_at_us, _) = *self.current.front()?;
        let age_us = |at_us: u64| (last_at_us - at_us) as f64;
        let current = self
            .current
            .iter()
            .filter(|(at_us, _)| age_us(*at_us) <= srtt_us);
        let least_us = current.map(|(_, us)| *us).fold(f64::INFINITY, f64::min);
        Some((least_us - self.base_us()?).max(0.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    First,
    Steady,
    /// Until when, and since when.
    Slowdown(f64, f64),
    /// Since when the slowdown was.
    Return(f64),
}

/// W and ssthresh, in segments.
pub struct Window {
    params: Params,
    pub cwnd: f64,
    pub ssthresh: f64,
    stage: Stage,
    slowdown_at_us: Option<f64>,
    /// What the law's rounding can have added up to: it divides by W in 1/64 and gives back
    /// parts of 1/1024.
    pub error: f64,
    /// How far off its threshold may be: whole segments of a window that may be off.
    ssthresh_error: f64,
    pub is_doubtful: bool,
}

/// An acknowledgement, or its like.
pub struct Step {
    pub now_us: f64,
    pub acked: f64,
    pub queue_us: Option<f64>,
    pub base_us: Option<f64>,
    pub rtt_us: f64,
    pub may_grow: bool,
}

impl Window {
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            cwnd: 2.0,
            ssthresh: f64::INFINITY,
            stage: Stage::First,
            slowdown_at_us: None,
            error: 0.0,
            ssthresh_error: 0.0,
            is_doubtful: false,
        }
    }

    fn target_us(&self) -> f64 {
        self.params.target_us.into()
    }

    /// F = min(16, ceil(2 T / base)).
    fn divisor(&self, base_us: Option<f64>) -> f64 {
        let path = base_us.map_or(1.0, |base_us| (2.0 * self.target_us() / base_us).ceil());
        path.clamp(1.0, self.params.most_gain_divisor.into())
    }

    /// Whole segments, and how many the law may have more or less.
    pub fn whole(&self) -> (f64, f64) {
        let whole = self.cwnd.floor();
        let lies_within = (self.cwnd - self.error).floor() == (self.cwnd + self.error).floor();
        (whole, if lies_within { 0.0 } else { self.error.ceil() })
    }

    fn keep_whole_as_threshold(&mut self) {
        (self.ssthresh, self.ssthresh_error) = self.whole();
    }

    /// The threshold, and how far off the law's may be.
    pub fn threshold(&self) -> (f64, f64) {
        (self.ssthresh, self.ssthresh_error)
    }

    /// Takes a threshold back, but not what a slowdown comes back to.
    pub fn undo_threshold(&mut self, threshold: (f64, f64)) {
        let is_apart = !matches!(self.stage, Stage::First | Stage::Steady);
        if !is_apart || threshold.0 < self.ssthresh {
            (self.ssthresh, self.ssthresh_error) = threshold;
        }
    }

    pub fn set(&mut self, cwnd: f64, error: f64) {
        self.cwnd = cwnd;
        self.error = error;
    }

    /// When a loss is repaired.
    pub fn set_to_threshold(&mut self) {
        // Whole segments that stay keep what is beyond them.
        if self.cwnd.floor() != self.ssthresh || self.ssthresh_error > 0.0 {
            self.set(self.ssthresh, self.ssthresh_error);
        }
    }

    /// Slow start ended, by a delay, a loss, or where the slowdown began.
    fn end_slow_start(&mut self, now_us: f64, rtt_us: f64) {
        let interval = f64::from(self.params.slowdown_interval);
        if interval > 0.0 {
            match self.stage {
                Stage::First => self.slowdown_at_us = Some(now_us + 2.0 * rtt_us),
                Stage::Return(since_us) => {
                    self.slowdown_at_us = Some(now_us + interval * (now_us - since_us));
                }
                _ => {}
            }
        }
        self.stage = Stage::Steady;
    }

    fn keep_time(&mut self, step: &Step) {
        match self.stage {
            Stage::Steady
                if self
                    .slowdown_at_us
                    .is_some_and(|at_us| step.now_us >= at_us) =>
            {
                self.keep_whole_as_threshold();
                self.slowdown_at_us = None;
                let until_us = step.now_us + 2.0 * step.rtt_us;
                self.stage = Stage::Slowdown(until_us, step.now_us);
            }
            Stage::Slowdown(until_us, since_us) if step.now_us >= until_us => {
                self.stage = Stage::Return(since_us);
            }
            _ => {}
        }
    }

    /// Adds acked / F, in parts of 1/65536 (difference 1), to the threshold.
    fn slow_start(&mut self, step: &Step, divisor: f64) {
        if step.may_grow && self.cwnd.floor() < self.ssthresh {
            let wanted = self.cwnd + (step.acked * 65536.0 / divisor).floor() / 65536.0;
            let error = self.error + self.ssthresh_error;
            // Who is at the threshold now, and who is there one acknowledgement later?
            let off = if self.ssthresh.is_finite() {
                (wanted - self.ssthresh).abs()
            } else {
                1e9
            };
            self.is_doubtful |= error > 0.0 && off < 1.0 + error;
            self.cwnd = wanted.min(self.ssthresh);
            if self.cwnd == self.ssthresh {
                self.error = self.ssthresh_error;
            }
        }
    }

    /// Below T: GAIN per round trip; above max(GAIN - C W (q / T - 1), -W / 2).
    fn steer(&mut self, step: &Step, divisor: f64) {
        let Some(queue_us) = step.queue_us else {
            return;
        };
        let rounds = step.acked / self.cwnd;
        let over = (queue_us / self.target_us() - 1.0).max(0.0);
        let gain = if over > 0.0 || step.may_grow {
            1.0 / divisor
        } else {
            0.0
        };
        let c = f64::from(self.params.decrease_x1024) / 1024.0;
        let change = (gain - c * self.cwnd * over).max(-self.cwnd / 2.0);
        let part_error = if over > 0.0 { step.acked / 1024.0 } else { 0.0 };
        self.error += part_error + gain * rounds / (64.0 * self.cwnd) + 3.0 / 65536.0;
        // An error in W is one in the change, too.
        self.error *= 1.0 + rounds * gain / self.cwnd;
        self.cwnd += change * rounds;
        if self.cwnd + self.error <= 2.0 {
            self.error = 0.0;
        }
        self.cwnd = self.cwnd.max(2.0);
        if self.cwnd.floor() <= self.ssthresh {
            self.keep_whole_as_threshold();
        }
    }

    pub fn take(&mut self, step: &Step) {
        let divisor = self.divisor(step.base_us);
        self.keep_time(step);
        if matches!(self.stage, Stage::Slowdown(..)) {
            self.set(2.0, 0.0);
            return;
        }
        let was_in_slow_start = self.stage != Stage::Steady || self.cwnd.floor() < self.ssthresh;
        if was_in_slow_start {
            let exit = f64::from(self.params.exit_x1024) / 1024.0;
            let limit_us = (self.target_us() * exit).floor();
            if self.stage == Stage::First && step.queue_us.is_some_and(|us| us > limit_us) {
                self.keep_whole_as_threshold();
            }
            self.slow_start(step, divisor);
            if self.cwnd.floor() < self.ssthresh {
                return;
            }
            if self.stage != Stage::Steady {
                self.end_slow_start(step.now_us, step.rtt_us);
            }
        } else {
            self.steer(step, divisor);
        }
    }

    /// ssthresh = max(W / 2, 2); within a slowdown of the window to come back to.
    pub fn lose(&mut self, now_us: f64, rtt_us: f64) {
        let (from, error) = match self.stage {
            Stage::Slowdown(..) => (self.ssthresh, self.ssthresh_error),
            _ => self.whole(),
        };
        self.ssthresh = (from / 2.0).floor().max(2.0);
        self.ssthresh_error = (error / 2.0).ceil();
        if self.stage == Stage::First {
            self.end_slow_start(now_us, rtt_us);
        }
    }

    /// Is this about when a slowdown begins or ends?
    pub fn is_about_to_turn(&self, now_us: f64, within_us: f64) -> bool {
        let at_us = match self.stage {
            Stage::Slowdown(until_us, _) => Some(until_us),
            _ => self.slowdown_at_us,
        };
        at_us.is_some_and(|at_us| (now_us - at_us).abs() < within_us)
    }

    pub fn is_in_slowdown(&self) -> bool {
        matches!(self.stage, Stage::Slowdown(..))
    }
}
