// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `ebb` law as docs/ebb-law.md has it, in floating point: connections with timestamps
//! whose clocks tick in 1 ms and do not drift. What the law keeps is whole bytes,
//! microseconds, and bytes per second; everything between is not.

mod moves;
mod params;
mod path;

use crate::receiver_oracle::{Habits, MSS, Model, compare, is_after};
use ebb_algorithms::{Ack, Segment, Start};
use params::{Params, any_params};
use path::Path;

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
    /// §slower: others in the last yield, a jump since then, yields for nobody, and retreats.
    has_met: bool,
    has_jumped: bool,
    vain_yields: u32,
    retreats: u32,
    is_starting: bool,
    is_reclaiming: bool,
    saturation: f64,
    clear_rounds: i32,
    loss_until_us: f64,
    /// What is missing, since when, and the queue then.
    hole: Option<(u32, f64, f64)>,
    /// The queue at holes that stayed open, on average; 0: there was none. Is this one counted?
    full_us: f64,
    has_lost: bool,
    /// When the last round trip began.
    round_since_us: f64,
    /// The least threshold when the last segment came.
    last_low_us: f64,
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
            has_met: false,
            has_jumped: false,
            vain_yields: 0,
            retreats: 0,
            is_starting: true,
            is_reclaiming: false,
            saturation: 0.0,
            clear_rounds: 0,
            loss_until_us: 0.0,
            hole: None,
            full_us: 0.0,
            has_lost: false,
            round_since_us: 0.0,
            last_low_us: 0.0,
        }
    }

    fn end_yielding_round(&mut self, now_us: f64, round: &Round) {
        let is_ours_gone = self
            .yielded_at_us
            .is_some_and(|at_us| round.since_us - at_us > self.path.rtt_us() + self.target_us());
        self.has_met |= is_ours_gone && round.least_queue_us.is_none_or(|us| us >= self.low_us());
        let is_clear = round.least_queue_us.is_some_and(|us| us < self.target_us());
        if is_clear && now_us >= self.hold_until_us {
            self.yielding = false;
            self.is_reclaiming = true;
            self.clear_rounds = 0;
            if !self.path.is_on_trial() {
                self.set(self.params.probe_segments * SEGMENT);
            }
            self.growth = self.growth_of_round(round).floor();
            return;
        }
        if self.is_calm(now_us, round) {
            self.path.try_route(now_us);
            self.calm = None;
        }
        self.set(self.probe_segments(now_us) * SEGMENT);
    }

    /// §base: the window goes to three quarters, or to a segment, for a round trip.
    fn drain(&mut self, segment: &Segment) {
        self.restore = Some(self.window);
        self.path.empty_at_us = segment.now_us as f64;
        let is_small = self.window < (self.path.bdp_or(0.0) / 2.0).floor();
        let left = if is_small {
            SEGMENT
        } else {
            self.window * 0.75
        };
        self.set(left);
        self.go_blind(segment);
    }

    fn end_round(&mut self, segment: &Segment, round: &Round) {
        let now_us = segment.now_us as f64;
        self.last_round_bytes = round.bytes;
        self.last_window = round.window;
        self.growth = 0.0;
        if self.yielding {
            self.end_yielding_round(now_us, round);
        } else {
            if self.judge(segment, round.least_queue_us) {
                return;
            }
            self.set(self.window.min(2.0 * round.bytes + 4.0 * SEGMENT));
            if now_us - self.path.empty_at_us >= self.params.empty_within_us {
                return self.drain(segment);
            }
            if round.least_queue_us.is_some_and(|us| us < self.target_us()) {
                self.retreats = 0;
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
        if self.path.is_on_trial() && self.old_hole(now_us).is_some() {
            return self.leave_route(segment);
        }
        let usual_us = self
            .target_us()
            .min((self.path.longest_queue_us / 4.0).floor() * 3.0)
            .max(1000.0);
        let is_congestion = self.old_hole(now_us).is_some_and(|queue| queue > usual_us);
        if segment.is_ce == 0 && !is_congestion {
            return;
        }
        self.loss_until_us = now_us + rtt_us + self.path.queue_us;
        self.remember_saturation(self.window, 0.0);
        if self.is_near() {
            self.set(self.params.probe_segments * SEGMENT);
            self.enter_yield(now_us);
        } else {
            self.set((self.window / 2.0).max(2.0 * SEGMENT));
        }
        self.stop_growing(segment);
    }

    /// The queue when the hole was seen first, if it is still open after a quarter RTT.
    fn old_hole(&self, now_us: f64) -> Option<f64> {
        let old_us = (self.path.rtt_us() / 4.0).floor();
        let is_old = |hole: &(u32, f64, f64)| now_us - hole.1 > old_us;
        self.hole.filter(is_old).map(|hole| hole.2)
    }

    /// §short queues: how long the queue is when it is full.
    fn learn_full(&mut self, now_us: f64) {
        if let Some(queue_us) = self.old_hole(now_us).filter(|_| !self.has_lost) {
            self.has_lost = true;
            self.full_us = if self.full_us > 0.0 {
                ((3.0 * self.full_us + queue_us) / 4.0).floor()
            } else {
                queue_us
            };
        }
    }

    fn watch_hole(&mut self, segment: &Segment) {
        if !is_after(segment.seq, segment.rcv_nxt) {
            self.hole = None;
        } else if self.hole.is_none_or(|(seq, ..)| seq != segment.rcv_nxt) {
            self.hole = Some((segment.rcv_nxt, segment.now_us as f64, self.path.queue_us));
            self.has_lost = false;
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

impl Ebb {
    /// What the segment tells, whatever follows from it.
    fn learn(&mut self, segment: &Segment) {
        let bytes = f64::from(segment.payload_bytes);
        let excess_us = self.path.take_delay(segment, self.yielding);
        let is_late = excess_us > self.last_low_us;
        self.path.arrive(segment.now_us as f64, bytes, is_late);
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
        self.learn_full(segment.now_us as f64);
        self.last_low_us = self.low_us();
    }
}

impl Model for Ebb {
    fn on_segment(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        let bytes = f64::from(segment.payload_bytes);
        self.learn(segment);
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
