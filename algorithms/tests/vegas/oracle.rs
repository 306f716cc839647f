// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vegas as Brakmo and Peterson (1995) write it, on Reno as RFC 5681 writes that, in real
//! numbers. Where the law differs from the paper, the number of the difference stands beside.

use crate::reno_model::Reno;
use crate::sender_oracle::{FIRST_PKTS, Habits, Model, compare};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};
use proptest::prelude::*;

/// In segments and seconds.
#[derive(Debug, Clone)]
struct Vegas {
    constants: Constants,
    reno: Reno,
    /// All since the last idle time.
    rtts: Vec<f64>,
    round: Option<Round>,
    grows_in_slow_start: bool,
    is_doubtful: bool,
}

#[derive(Debug, Clone, Copy)]
struct Constants {
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// Difference 2: what a loss leaves.
    left: f64,
    /// Difference 1: slow start doubles each round trip, not every other one.
    is_slow_start_every_round: bool,
    /// Difference 7: the queue is held against the shortest RTT, not against the last one.
    is_queue_of_linux: bool,
    /// Difference 9: the shortest RTT is that of a single sample.
    is_lone_extreme_enough: bool,
}

#[derive(Debug, Clone)]
struct Round {
    end_seq: u32,
    rtts: Vec<f64>,
}

impl Vegas {
    fn new(constants: Constants) -> Self {
        Self {
            constants,
            reno: Reno::new(),
            rtts: Vec::new(),
            round: None,
            grows_in_slow_start: true,
            is_doubtful: false,
        }
    }

    fn begin_round(&mut self, ack: &SenderAck) {
        self.round = Some(Round {
            end_seq: ack.snd_nxt,
            rtts: Vec::new(),
        });
    }

    fn is_in_slow_start(&self) -> bool {
        self.reno.cwnd < self.reno.ssthresh
    }

    fn slow_start(&mut self, acked: f64) {
        if self.constants.is_slow_start_every_round || self.grows_in_slow_start {
            self.reno.slow_start(acked);
        }
    }

    /// Expected - Actual (§3.2), as segments in the queue: times BaseRTT.
    /// Difference 9: the second shortest. There were samples of a round trip.
    fn base_rtt(&self) -> f64 {
        let mut rtts = self.rtts.clone();
        rtts.sort_by(f64::total_cmp);
        rtts[usize::from(!self.constants.is_lone_extreme_enough)]
    }

    fn queued(&self, base: f64, rtt: f64) -> f64 {
        let window = self.reno.cwnd;
        // Difference 9: one that is shorter than what two agree on has no queue.
        let rtt = rtt.max(base);
        if self.constants.is_queue_of_linux {
            window * (rtt - base) / base
        } else {
            (window / base - window / rtt) * base
        }
    }

    fn judge(&mut self, rtt: f64, acked: f64) {
        let Constants {
            alpha, beta, gamma, ..
        } = self.constants;
        let base = self.base_rtt();
        let queued = self.queued(base, rtt);
        // Difference 7: whole segments.
        let whole = queued.floor();
        if self.is_in_slow_start() {
            self.is_doubtful |= self.is_near(queued, gamma + 1.0);
            if whole > gamma {
                // Difference 8: what the path holds, and a segment.
                let fits = (self.reno.cwnd * base / rtt).floor() + 1.0;
                self.reno.cwnd = self.reno.cwnd.min(fits).max(2.0);
                self.reno.ssthresh = self.reno.ssthresh.min(self.reno.cwnd);
            } else {
                self.slow_start(acked);
            }
        } else if whole > beta {
            self.reno.cwnd = (self.reno.cwnd - 1.0).max(2.0);
            self.reno.ssthresh = self.reno.ssthresh.min(self.reno.cwnd);
        } else if whole < alpha {
            self.reno.cwnd += 1.0;
        }
    }

    /// In slow start a decision that the law takes a round trip later is another one.
    fn is_near(&self, queued: f64, limit: f64) -> bool {
        let part = self.tolerance_pkts() / self.reno.cwnd;
        queued * (1.0 - part) < limit && limit <= queued * (1.0 + part)
    }
}

impl Model for Vegas {
    fn on_ack(&mut self, ack: &SenderAck) {
        if ack.phase != Phase::Open as u8 {
            self.round = None;
        } else if self.round.is_none() {
            self.begin_round(ack);
        }
        if ack.rtt_us > 0 {
            let rtt = f64::from(ack.rtt_us) / 1e6;
            self.rtts.push(rtt);
            if let Some(round) = &mut self.round {
                round.rtts.push(rtt);
            }
        }
        // Difference 5.
        if ack.acked_pkts == 0 || ack.is_cwnd_limited == 0 {
            return;
        }
        let acked = f64::from(ack.acked_pkts);
        let Some(round) = &self.round else {
            return self.reno.on_ack(ack);
        };
        if (ack.ack_seq.wrapping_sub(round.end_seq) as i32) > 0 {
            self.grows_in_slow_start = !self.grows_in_slow_start;
            // Difference 3.
            if round.rtts.len() <= 2 {
                self.reno.on_ack(ack);
            } else {
                let least = round.rtts.iter().copied().fold(f64::INFINITY, f64::min);
                self.judge(least, acked);
            }
            self.begin_round(ack);
        } else if self.is_in_slow_start() {
            self.slow_start(acked);
        }
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        self.reno.on_loss(event);
        let left = f64::from(event.inflight_pkts) * self.constants.left;
        self.reno.ssthresh = left.floor().max(2.0);
        self.reno.cwnd = self.reno.ssthresh;
        self.round = None;
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.on_loss(event);
        self.reno.cwnd = 1.0;
    }

    fn on_undo(&mut self, event: &SenderEvent) {
        self.reno.on_undo(event);
        // Is slow start over, or does a part of a segment lack?
        let room = self.reno.ssthresh - self.reno.cwnd;
        self.is_doubtful |= room > 0.0 && room < self.tolerance_pkts();
    }

    /// Difference 4.
    fn on_idle(&mut self, _: &SenderEvent) {
        self.reno.cwnd = self.reno.cwnd.min(f64::from(FIRST_PKTS));
        self.rtts.clear();
        self.round = None;
    }

    fn cwnd_pkts(&self) -> f64 {
        self.reno.cwnd
    }

    /// Reno's, and a step of a segment by either that the other has not taken.
    fn tolerance_pkts(&self) -> f64 {
        self.reno.tolerance_pkts() + 2.0
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}

/// The paper's constants where the law has them by default, or any.
fn any_constants() -> impl Strategy<Value = Option<(u32, u32, u32, [bool; 3])>> {
    let any = (0u32..5, 0u32..5, 0u32..4, any::<[bool; 3]>());
    prop_oneof![Just(None), any.prop_map(Some)]
}

fn policy_of(given: &Option<(u32, u32, u32, [bool; 3])>) -> (String, Vegas) {
    let Some((alpha, more, gamma, choices)) = *given else {
        let constants = Constants {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            left: 0.5,
            is_slow_start_every_round: true,
            is_queue_of_linux: true,
            is_lone_extreme_enough: false,
        };
        return ("vegas".to_owned(), Vegas::new(constants));
    };
    let [is_every_round, is_queue_of_linux, is_lone_extreme_enough] = choices;
    let beta = alpha + more;
    let policy = format!(
        "vegas:alpha_pkts={alpha},beta_pkts={beta},gamma_pkts={gamma},beta_x1024=768,\
         slow_start_rounds={},queue_rule={},lone_extremes={}",
        if is_every_round { 1 } else { 2 },
        u8::from(!is_queue_of_linux),
        u8::from(is_lone_extreme_enough),
    );
    let constants = Constants {
        alpha: alpha.into(),
        beta: beta.into(),
        gamma: gamma.into(),
        left: 0.75,
        is_slow_start_every_round: is_every_round,
        is_queue_of_linux,
        is_lone_extreme_enough,
    };
    (policy, Vegas::new(constants))
}

#[test]
fn vegas_is_within_four_segments_of_its_paper() {
    let habits = Habits {
        queue_us: 30_000,
        grain_us: 1,
        most_pkts: 2000,
        cases: 128,
    };
    compare(&habits, any_constants(), policy_of);
}
