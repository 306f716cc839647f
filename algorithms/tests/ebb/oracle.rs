// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `ebb` law as docs/ebb-law.md has it, in floating point: connections with timestamps
//! whose clocks tick in 1 ms and do not drift. What the law keeps is whole bytes,
//! microseconds, and bytes per second; everything between is not.

use crate::oracle_path::Path;
use crate::receiver_oracle::{Habits, MSS, Model, compare, is_after};
use ebb_algorithms::{Ack, Segment, Start};
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub struct Params {
    pub low_us: f64,
    pub target_us: f64,
    pub high_us: f64,
    pub span_us: f64,
    pub hold_max_us: f64,
    pub probe_segments: f64,
    pub empty_within_us: f64,
    pub shrink_divisor: f64,
    pub plateau_rounds: f64,
    pub calm_us: f64,
}

fn any_params() -> impl Strategy<Value = Params> {
    let usual = Params {
        low_us: 3000.0,
        target_us: 5000.0,
        high_us: 10_000.0,
        span_us: 20_000.0,
        hold_max_us: 1e6,
        probe_segments: 2.0,
        empty_within_us: 1e7,
        shrink_divisor: 16.0,
        plateau_rounds: 2.0,
        calm_us: 2e7,
    };
    let any = (
        (1000u32..6000, 1000u32..8000, 1000u32..30_000),
        1000u32..50_000,
        0u32..3_000_000,
        1u32..6,
        1_000_000u32..20_000_000,
        2u32..64,
        (1u32..8, 1_000_000u32..6_000_000),
    )
        .prop_map(
            |((low, more, high), span, hold, probe, empty, shrink, (plateau, calm))| Params {
                low_us: low.into(),
                target_us: (low + more).into(),
                high_us: (low + more + high).into(),
                span_us: span.into(),
                hold_max_us: hold.into(),
                probe_segments: probe.into(),
                empty_within_us: empty.into(),
                shrink_divisor: shrink.into(),
                plateau_rounds: plateau.into(),
                calm_us: calm.into(),
            },
        );
    prop_oneof![Just(usual), any]
}

impl Params {
    fn policy(&self) -> String {
        format!(
            "ebb:low_us={},target_us={},high_us={},span_us={},hold_max_us={},probe_segments={},\
             empty_within_us={},shrink_divisor={},plateau_rounds={},calm_us={}",
            self.low_us,
            self.target_us,
            self.high_us,
            self.span_us,
            self.hold_max_us,
            self.probe_segments,
            self.empty_within_us,
            self.shrink_divisor,
            self.plateau_rounds,
            self.calm_us
        )
    }
}

const SEGMENT: f64 = MSS as f64;

/// The round trip under way.
#[derive(Default)]
struct Round {
    since_ts: u32,
    since_us: f64,
    bytes: f64,
    least_queue_us: Option<f64>,
    least_rtt_us: Option<f64>,
    most_excess_us: f64,
    window: f64,
}

struct Ebb {
    params: Params,
    path: Path,
    window: f64,
    round: Option<Round>,
    last_round_bytes: f64,
    /// W a round trip earlier.
    last_window: f64,
    growth: f64,
    growth_left: f64,
    /// Segments, since when, and their least excess.
    look: (f64, f64, Option<f64>),
    /// After a cut: until a segment beyond this right edge, or so late.
    blind: Option<(u32, f64)>,
    /// While draining: the window to come back to.
    restore: Option<f64>,
    /// Since when, and until when at least; how long the hold was.
    yielding: bool,
    yielded_at_us: Option<f64>,
    hold_until_us: f64,
    hold_us: f64,
    /// Round trips in YIELD with the same delay: since when, least, greatest, how many.
    calm: Option<(f64, f64, f64, u32)>,
    is_starting: bool,
    is_reclaiming: bool,
    saturation: f64,
    clear_rounds: i32,
    loss_until_us: f64,
    /// What is missing, since when, and the queue then.
    hole: Option<(u32, f64, f64)>,
}

impl Ebb {
    fn new(params: &Params, start: &Start) -> Self {
        Self {
            params: params.clone(),
            path: Path::new(start.now_us as f64),
            window: 10.0 * SEGMENT,
            round: None,
            last_round_bytes: 0.0,
            last_window: 10.0 * SEGMENT,
            growth: 0.0,
            growth_left: 0.0,
            look: (0.0, 0.0, None),
            blind: None,
            restore: None,
            yielding: false,
            yielded_at_us: None,
            hold_until_us: 0.0,
            hold_us: 0.0,
            calm: None,
            is_starting: true,
            is_reclaiming: false,
            saturation: 0.0,
            clear_rounds: 0,
            loss_until_us: 0.0,
            hole: None,
        }
    }

    fn low_us(&self) -> f64 {
        self.params.low_us.max(self.path.segment_us)
    }

    fn target_us(&self) -> f64 {
        self.params
            .target_us
            .max((self.path.segment_us * 1.5).floor())
    }

    fn high_us(&self) -> f64 {
        self.params.high_us.max(self.path.segment_us * 4.0)
    }

    fn set(&mut self, window: f64) {
        self.window = window.floor().max(SEGMENT);
    }

    fn begin_look(&mut self, now_us: f64) {
        self.look = (0.0, now_us, None);
    }

    fn begin_round(&mut self, segment: &Segment) {
        self.round = Some(Round {
            since_ts: segment.local_ts,
            since_us: segment.now_us as f64,
            window: self.window,
            ..Round::default()
        });
        self.path.begin_round();
        self.begin_look(segment.now_us as f64);
    }

    /// After each cut nothing is judged until a segment arrives beyond the right edge then.
    fn go_blind(&mut self, segment: &Segment) {
        let until_us = segment.now_us as f64 + 4.0 * self.path.rtt_us() + 20_000.0;
        self.blind = Some((segment.right_edge_seq, until_us));
        self.last_window = self.window;
        self.growth = 0.0;
        self.growth_left = 0.0;
        self.round = None;
    }

    fn stop_growing(&mut self, segment: &Segment) {
        self.is_starting = false;
        self.is_reclaiming = false;
        self.clear_rounds = 0;
        self.go_blind(segment);
    }

    /// Where the link was full last; a part of what was remembered before counts, too.
    fn remember_saturation(&mut self, window: f64, fifths: f64) {
        self.saturation = window.max((self.saturation * fifths / 5.0).floor());
    }

    // §yield

    fn probe_segments(&self, now_us: f64) -> f64 {
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

    fn enter_yield(&mut self, now_us: f64) {
        let rtt_us = self.path.rtt_us();
        self.hold_us = match self.yielded_at_us {
            Some(at_us) if now_us - at_us < 8.0 * rtt_us + self.hold_us => {
                (2.0 * self.hold_us + 300_000.0).min(self.params.hold_max_us)
            }
            _ => 3.0 * rtt_us,
        };
        self.yielding = true;
        self.calm = None;
        self.yielded_at_us = Some(now_us);
        self.hold_until_us = now_us + self.hold_us;
    }

    fn others_want_the_link(&mut self, segment: &Segment, excess_us: f64, own_us: f64) {
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
    fn retreat(&mut self, segment: &Segment, excess_us: f64) {
        let rtt_us = self.path.rtt_us();
        let longer_us = rtt_us + (excess_us - self.target_us()).max(0.0) + 2000.0;
        let allowed = self.window * rtt_us / longer_us;
        self.set(self.last_window.min(allowed));
        self.remember_saturation(self.window, 0.0);
        self.stop_growing(segment);
    }

    /// §detection; answers whether the window was cut.
    fn judge(&mut self, segment: &Segment, excess_us: Option<f64>) -> bool {
        let Some(excess_us) = excess_us.filter(|_| !self.yielding) else {
            return false;
        };
        let grown = (self.window - self.last_window).max(0.0);
        let own_us = self.path.time_of(grown);
        if excess_us <= self.high_us() {
            return false;
        } else if excess_us > self.high_us() + own_us {
            self.others_want_the_link(segment, excess_us, own_us);
        } else {
            self.retreat(segment, excess_us);
        }
        true
    }

    // §route

    /// Has the delay been the same for long?
    fn is_calm(&mut self, now_us: f64, round: &Round) -> bool {
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

    fn leave_route(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        self.path.leave_route(now_us);
        self.set(self.params.probe_segments * SEGMENT);
        self.enter_yield(now_us);
        self.stop_growing(segment);
    }

    // §thresholds

    /// Below saturation.
    fn recall(&mut self) -> f64 {
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

    fn growth_of_round(&mut self, round: &Round) -> f64 {
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

    fn shrink(&mut self, segment: &Segment, round: &Round, queue_us: f64) {
        let from = self.window.min(round.bytes + 2.0 * SEGMENT);
        let over_us = queue_us - self.target_us();
        let step = from * over_us * 1.5 / self.path.rtt_us();
        let step = step.max(from / self.params.shrink_divisor).floor();
        self.remember_saturation(self.window, 4.0);
        self.set((from - step).max(0.0));
        self.stop_growing(segment);
    }

    fn end_round(&mut self, segment: &Segment, round: &Round) {
        let now_us = segment.now_us as f64;
        self.last_round_bytes = round.bytes;
        self.last_window = round.window;
        self.growth = 0.0;
        if self.yielding {
            let is_clear = round.least_queue_us.is_some_and(|us| us < self.target_us());
            if is_clear && now_us >= self.hold_until_us {
                self.yielding = false;
                self.is_reclaiming = true;
                self.clear_rounds = 0;
                if !self.path.is_on_trial() {
                    self.set(self.params.probe_segments * SEGMENT);
                }
                self.growth = self.growth_of_round(round).floor();
            } else {
                if self.is_calm(now_us, round) {
                    self.path.try_route(now_us);
                    self.calm = None;
                }
                self.set(self.probe_segments(now_us) * SEGMENT);
            }
        } else {
            if self.judge(segment, round.least_queue_us) {
                return;
            }
            self.set(self.window.min(2.0 * round.bytes + 4.0 * SEGMENT));
            // §base: the window goes to three quarters, or to a segment, for a round trip.
            if now_us - self.path.empty_at_us >= self.params.empty_within_us {
                self.restore = Some(self.window);
                self.path.empty_at_us = now_us;
                let is_small = self.window < (self.path.bdp_or(0.0) / 2.0).floor();
                self.set(if is_small {
                    SEGMENT
                } else {
                    self.window * 0.75
                });
                self.go_blind(segment);
                return;
            }
            match round.least_queue_us {
                Some(us) if us < self.low_us() => {
                    self.clear_rounds += 1;
                    self.growth = self.growth_of_round(round).floor();
                }
                Some(us) if us < self.target_us() => {
                    self.is_starting = false;
                    self.set(self.window.min(round.bytes + 2.0 * SEGMENT));
                    self.growth = SEGMENT;
                }
                Some(us) => return self.shrink(segment, round, us),
                None => {}
            }
        }
        self.growth_left = self.growth;
        self.begin_round(segment);
    }

    /// A hole still open after a quarter RTT, if segments were queueing when it appeared; or
    /// a mark.
    fn take_loss(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        if self.yielding || now_us < self.loss_until_us {
            return;
        }
        let rtt_us = self.path.rtt_us();
        let is_old = |(_, since_us, _): (u32, f64, f64)| now_us - since_us > (rtt_us / 4.0).floor();
        if self.path.is_on_trial() && self.hole.is_some_and(is_old) {
            return self.leave_route(segment);
        }
        let usual_us = self
            .target_us()
            .min((self.path.longest_queue_us / 4.0).floor() * 3.0)
            .max(1000.0);
        let is_congestion = self
            .hole
            .is_some_and(|hole| is_old(hole) && hole.2 > usual_us);
        if segment.is_ce == 0 && !is_congestion {
            return;
        }
        self.loss_until_us = now_us + rtt_us + self.path.queue_us;
        self.remember_saturation(self.window, 0.0);
        self.set((self.window / 2.0).max(2.0 * SEGMENT));
        self.stop_growing(segment);
    }

    fn watch_hole(&mut self, segment: &Segment) {
        if !is_after(segment.seq, segment.rcv_nxt) {
            self.hole = None;
        } else if self.hole.is_none_or(|(seq, ..)| seq != segment.rcv_nxt) {
            self.hole = Some((segment.rcv_nxt, segment.now_us as f64, self.path.queue_us));
        }
    }

    /// The growth is spread over the segments of the round trip.
    fn grow(&mut self, round_window: f64, bytes: f64) {
        if self.growth_left > 0.0 {
            let share = (self.growth * bytes / round_window).floor();
            let share = share.min(self.growth_left);
            self.growth_left -= share;
            self.set(self.window + share);
        }
    }
}

impl Model for Ebb {
    fn on_segment(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        let bytes = f64::from(segment.payload_bytes);
        self.path.arrive(now_us, bytes);
        let excess_us = self.path.take_delay(segment, self.yielding);
        self.look.2 = Some(
            self.look
                .2
                .map_or(excess_us, |least_us| least_us.min(excess_us)),
        );
        if let Some(round) = &mut self.round {
            round.bytes += bytes;
            let queue_us = self.path.queue_us;
            round.least_queue_us =
                Some(round.least_queue_us.map_or(queue_us, |us| us.min(queue_us)));
            let rtt_us = self.path.last_rtt_us;
            round.least_rtt_us = Some(round.least_rtt_us.map_or(rtt_us, |us| us.min(rtt_us)));
            round.most_excess_us = round.most_excess_us.max(excess_us);
        }
        self.watch_hole(segment);
        if let Some((edge_seq, until_us)) = self.blind {
            let end_seq = segment.seq.wrapping_add(segment.payload_bytes);
            if !is_after(end_seq, edge_seq) && now_us < until_us {
                return;
            }
            self.blind = None;
            if let Some(window) = self.restore.take() {
                self.set(window);
                self.last_window = self.window;
            }
        }
        let Some(round) = &self.round else {
            return self.begin_round(segment);
        };
        let round_window = round.window;
        self.take_loss(segment);
        if self.blind.is_some() {
            return;
        }
        self.grow(round_window, bytes);
        self.look.0 += 1.0;
        let (segments, since_us, least_us) = self.look;
        if segments >= 8.0
            && now_us - since_us >= (self.path.rtt_us() / 4.0).floor()
            && !self.judge(segment, least_us)
        {
            self.begin_look(now_us);
        }
        if self.blind.is_some() {
            return;
        }
        if let Some(round) = self
            .round
            .take_if(|round| is_after(segment.tsecr, round.since_ts))
        {
            self.end_round(segment, &round);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.yielding {
            let probe = self.probe_segments(ack.now_us as f64);
            if probe * SEGMENT < self.window {
                self.set(probe * SEGMENT);
            }
        }
    }

    fn window_bytes(&self) -> f64 {
        self.window
    }

    /// Both have whole bytes, microseconds, and bytes per second.
    fn tolerance_bytes(&self) -> f64 {
        0.5
    }
}

fn compare_with(queue_us: u64) {
    let habits = Habits {
        queue_us,
        use_x256: 256,
        observed: 0,
        cases: 512,
    };
    compare(&habits, any_params(), |params, start| {
        (params.policy(), Ebb::new(params, start))
    });
}

#[test]
fn ebb_does_as_its_document_has_it_in_short_queues() {
    compare_with(8_000);
}

#[test]
fn ebb_does_as_its_document_has_it_in_long_queues() {
    compare_with(60_000);
}
