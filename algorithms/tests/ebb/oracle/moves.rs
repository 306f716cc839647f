// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far the window of `ebb` moves (docs/ebb-law.md, §yield, §detection, §route, §thresholds).

use super::{Ebb, Round, SEGMENT};
use ebb_algorithms::Segment;

impl Ebb {
    pub(super) fn low_us(&self) -> f64 {
        self.threshold_us(self.params.low_us, 0.4, 1000.0)
            .max(self.path.segment_us)
    }

    pub(super) fn target_us(&self) -> f64 {
        self.threshold_us(self.params.target_us, 0.6, 2000.0)
            .max((self.path.segment_us * 1.5).floor())
    }

    pub(super) fn high_us(&self) -> f64 {
        let segments = if self.is_near() { 2.5 } else { 4.0 };
        self.threshold_us(self.params.high_us, 1.0, 3000.0)
            .max((self.path.segment_us * segments).floor())
    }

    /// §short queues: for 10 s after a yield, where the queue is full at 4.5 to 30 ms.
    pub(super) fn is_near(&self) -> bool {
        let is_short = (4_500.0..=30_000.0).contains(&self.full_us);
        let is_soon = |at_us| self.round_since_us - at_us < 1e7;
        is_short && self.yielded_at_us.is_some_and(is_soon)
    }

    /// §short queues: a part of 0.3 D, or of 4 ms, at the most.
    fn threshold_us(&self, usual_us: f64, part: f64, near_us: f64) -> f64 {
        if self.is_near() {
            return usual_us.min(near_us);
        }
        if self.full_us == 0.0 {
            return usual_us;
        }
        let short_us = (self.full_us * 3.0 / 10.0).floor().max(4000.0);
        usual_us.min((short_us * part).floor())
    }

    pub(super) fn set(&mut self, window: f64) {
        self.window = window.floor().max(SEGMENT);
    }

    pub(super) fn begin_look(&mut self, now_us: f64) {
        self.look = (0.0, now_us, None);
    }

    pub(super) fn begin_round(&mut self, segment: &Segment) {
        self.round = Some(Round {
            since_ts: segment.local_ts,
            since_us: segment.now_us as f64,
            window: self.window,
            ..Round::default()
        });
        self.round_since_us = segment.now_us as f64;
        self.path.begin_round();
        self.begin_look(segment.now_us as f64);
    }

    /// After each cut nothing is judged until a segment arrives beyond the right edge then.
    pub(super) fn go_blind(&mut self, segment: &Segment) {
        let until_us = segment.now_us as f64 + 4.0 * self.path.rtt_us() + 20_000.0;
        self.blind = Some((segment.right_edge_seq, until_us));
        self.last_window = self.window;
        self.growth = 0.0;
        self.growth_left = 0.0;
        self.round = None;
    }

    pub(super) fn stop_growing(&mut self, segment: &Segment) {
        self.is_starting = false;
        self.is_reclaiming = false;
        self.clear_rounds = 0;
        self.go_blind(segment);
    }

    /// Where the link was full last; a part of what was remembered before counts, too.
    pub(super) fn remember_saturation(&mut self, window: f64, fifths: f64) {
        self.saturation = window.max((self.saturation * fifths / 5.0).floor());
    }

    // §yield

    pub(super) fn probe_segments(&self, now_us: f64) -> f64 {
        let since_us = match self.yielded_at_us {
            Some(at_us) if self.yielding => now_us - at_us,
            _ => 0.0,
        };
        match since_us {
            us if us >= 4e6 => 1.0,
            us if us >= 0.3e6 => (self.params.probe_segments / 2.0).floor().max(1.0),
            _ => self.params.probe_segments,
        }
    }

    pub(super) fn enter_yield(&mut self, now_us: f64) {
        let rtt_us = self.path.rtt_us();
        self.hold_us = match self.yielded_at_us {
            Some(at_us) if now_us - at_us < 8.0 * rtt_us + self.hold_us => {
                (2.0 * self.hold_us + 300_000.0).min(self.params.hold_max_us)
            }
            _ => 3.0 * rtt_us,
        };
        self.vain_yields = if self.has_jumped && !self.has_met {
            self.vain_yields + 1
        } else {
            0
        };
        self.retreats = 0;
        self.has_jumped = false;
        self.has_met = false;
        self.yielding = true;
        self.calm = None;
        self.yielded_at_us = Some(now_us);
        self.hold_until_us = now_us + self.hold_us;
    }

    pub(super) fn others_want_the_link(&mut self, segment: &Segment, excess_us: f64, own_us: f64) {
        let now_us = segment.now_us as f64;
        let from = self.window.min(self.last_window);
        let least = self.params.probe_segments * SEGMENT;
        let over_us = ((excess_us - own_us).max(0.0) - self.target_us()).max(0.0);
        let had_link = self.last_round_bytes * 10.0 > self.path.bdp() * 7.0;
        let rtt_us = self.path.rtt_us();
        let is_recent = self
            .yielded_at_us
            .is_some_and(|at_us| now_us - at_us < 6.0 * rtt_us);
        self.remember_saturation(from, if is_recent { 5.0 } else { 4.0 });
        let over_us = over_us.min(self.params.span_us);
        let left = from - (from * over_us / self.params.span_us).floor();
        self.set(if had_link { least } else { left.max(least) });
        if self.window == least {
            self.enter_yield(now_us);
        }
        self.stop_growing(segment);
    }

    /// We overshot: back to what W was a round trip ago, or to what the excess allows.
    pub(super) fn retreat(&mut self, segment: &Segment, excess_us: f64) {
        let rtt_us = self.path.rtt_us();
        let longer_us = rtt_us + (excess_us - self.target_us()).max(0.0) + 2000.0;
        let allowed = self.window * rtt_us / longer_us;
        self.set(self.last_window.min(allowed));
        self.remember_saturation(self.window, 0.0);
        self.stop_growing(segment);
    }

    /// §detection; answers whether the window was cut.
    pub(super) fn judge(&mut self, segment: &Segment, excess_us: Option<f64>) -> bool {
        let Some(excess_us) = excess_us.filter(|_| !self.yielding) else {
            return false;
        };
        let grown = (self.window - self.last_window).max(0.0);
        let own_us = self.path.time_of(grown);
        if excess_us <= self.high_us() {
            return false;
        } else if excess_us > self.high_us() + own_us && !self.is_slower() {
            self.others_want_the_link(segment, excess_us, own_us);
        } else {
            self.retreat(segment, excess_us);
        }
        true
    }

    /// §slower: after four yields for nobody three retreats come before the next one.
    fn is_slower(&mut self) -> bool {
        let is_slower = self.vain_yields >= 4 && self.retreats < 3;
        self.retreats += u32::from(is_slower);
        is_slower
    }

    // §route

    /// Has the delay been the same for long?
    pub(super) fn is_calm(&mut self, now_us: f64, round: &Round) -> bool {
        let Some(rtt_us) = round.least_rtt_us else {
            self.calm = None;
            return false;
        };
        let is_late = now_us - round.since_us > 2.0 * rtt_us + 100_000.0;
        // A tick and half of one.
        let range_us = (8.0 * self.path.segment_us)
            .min(self.params.low_us)
            .max(1500.0);
        let same = self.calm.map(|(since_us, least_us, most_us, rounds)| {
            let (least_us, most_us) = (least_us.min(rtt_us), most_us.max(rtt_us));
            (since_us, least_us, most_us, rounds + 1)
        });
        let same = same.filter(|(_, least_us, most_us, _)| most_us - least_us <= range_us);
        let same = same.filter(|_| !is_late && self.hole.is_none());
        let calm = same.unwrap_or((now_us, rtt_us, rtt_us, 1));
        self.calm = Some(calm);
        calm.3 >= 16 && now_us - calm.0 >= self.params.calm_us
    }

    pub(super) fn leave_route(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        self.path.leave_route(now_us);
        self.set(self.params.probe_segments * SEGMENT);
        self.enter_yield(now_us);
        self.stop_growing(segment);
    }

    // §thresholds

    /// Below saturation.
    pub(super) fn recall(&mut self) -> f64 {
        let missing = self.saturation - self.window;
        let half = (2.0 * self.window).min(missing / 2.0);
        if self.is_reclaiming {
            return half.max(SEGMENT);
        }
        self.clear_rounds = 0;
        if missing > self.window / 8.0 {
            half
        } else {
            (SEGMENT / self.params.plateau_rounds).floor() + 1.0
        }
    }

    pub(super) fn growth_of_round(&mut self, round: &Round) -> f64 {
        if round.bytes * 1.5 + 4.0 * SEGMENT < round.window {
            return 0.0;
        }
        let bdp = self.path.bdp_or(2.0 * self.window);
        let cap = self.path.cap(self.target_us());
        let to_cap = (cap - self.window).max(0.0);
        if self.is_starting {
            return self.window.min(to_cap);
        }
        let is_alone = round.most_excess_us < self.target_us() + 3000.0;
        let is_far = self.window * 10.0 < bdp * 9.0;
        if self.is_reclaiming && self.path.is_fast() && is_alone && is_far {
            self.has_jumped = true;
            return (2.0 * self.window).min(bdp - self.window);
        }
        if self.window < self.saturation {
            return self.recall();
        }
        if self.window >= bdp {
            return SEGMENT.min(to_cap);
        }
        let steps = self.clear_rounds.min(16);
        let share = if self.is_reclaiming { 8.0 } else { 32.0 };
        // 1, 1.4, 2, 2.8 ... segments: the law has 181/128 for the root of 2.
        let halves = if steps % 2 == 1 { 181.0 / 128.0 } else { 1.0 };
        let growth = SEGMENT * 2f64.powi(steps / 2) * halves;
        growth.min((bdp / share).max(SEGMENT)).min(to_cap)
    }

    pub(super) fn shrink(&mut self, segment: &Segment, round: &Round, queue_us: f64) {
        let from = self.window.min(round.bytes + 2.0 * SEGMENT);
        let over_us = queue_us - self.target_us();
        let step = from * over_us * 1.5 / self.path.rtt_us();
        let step = step.max(from / self.params.shrink_divisor).floor();
        self.remember_saturation(self.window, 4.0);
        self.set((from - step).max(0.0));
        self.stop_growing(segment);
    }
}
