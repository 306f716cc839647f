// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vulture as its paper prints it (section 0.3, algorithms 1 to 6), with the readings that
//! docs/vulture.md chose: variations are numbers in a list, windows are real.

mod estimate;
mod params;

use crate::receiver_oracle::{Habits, MSS, Model, compare, is_after};
use ebb_algorithms::{Ack, Segment, Start};
use estimate::Estimate;
use params::{Params, any_params};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Policy {
    Fix,
    Double,
    Increase,
    Halve,
}

struct Vulture {
    params: Params,
    /// Our clock at the first segment, and its timestamp.
    zero: Option<(u64, u32)>,
    /// packetQue: when packets were sent and arrived, in jiffies; when the last was queued.
    packets: VecDeque<(f64, f64)>,
    queued_us: f64,
    pivs: Vec<f64>,
    estimate: Estimate,
    policy: Policy,
    rwnd: f64,
    thresh: f64,
    target: f64,
    /// How far off the law's window and threshold may be: it halves in whole bytes.
    error: f64,
    thresh_error: f64,
    is_doubtful: bool,
    /// Start of the round trip, or of the pause: our clock, our timestamp.
    mark: (f64, u32),
    is_pausing: bool,
    is_acting: bool,
    was_observed: bool,
    highest_seq: u32,
    increased: Option<(f64, u32)>,
    halved: Option<(f64, u32)>,
}

const LEAST_BYTES: f64 = 2.0 * MSS as f64;

impl Vulture {
    fn new(params: &Params, start: &Start) -> Self {
        let mut vulture = Self {
            params: params.clone(),
            zero: None,
            packets: VecDeque::new(),
            queued_us: 0.0,
            pivs: Vec::new(),
            estimate: Estimate::default(),
            policy: Policy::Fix,
            rwnd: 0.0,
            thresh: 0.0,
            target: 0.0,
            error: 0.0,
            thresh_error: 0.0,
            is_doubtful: false,
            mark: (0.0, 0),
            is_pausing: false,
            is_acting: false,
            was_observed: false,
            highest_seq: start.rcv_nxt,
            increased: None,
            halved: None,
        };
        vulture.begin(10.0 * f64::from(MSS));
        vulture
    }

    fn begin(&mut self, rwnd: f64) {
        self.rwnd = rwnd.max(LEAST_BYTES).floor();
        (self.error, self.thresh_error) = (0.0, 0.0);
        self.thresh = if self.params.first_thresh_x1024 > 0 {
            self.rwnd * f64::from(self.params.first_thresh_x1024) / 1024.0
        } else {
            f64::INFINITY
        };
    }

    /// Was the segment sent by somebody who knew of this moment? Difference 10.
    fn is_passed(mark: (f64, u32), segment: &Segment) -> bool {
        is_after(segment.tsecr, mark.1) || segment.now_us as f64 - mark.0 > 1e7
    }

    fn mark(segment: &Segment) -> (f64, u32) {
        (segment.now_us as f64, segment.local_ts)
    }

    /// Algorithm 1, with a queue of 86 packets that are not closer than PSI / 128.
    fn take_packet(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        let (zero_us, zero_ts) = *self.zero.get_or_insert((segment.now_us, segment.tsval));
        let sent_us = zero_us as f64 + f64::from(segment.tsval.wrapping_sub(zero_ts)) * 1000.0;
        let sent = self.params.jiffies(sent_us);
        let arrived = self.params.jiffies(now_us);
        if !self.is_acting {
            return;
        }
        if !self.is_pausing
            && let Some(head) = self.packets.front()
            && sent - head.0 >= self.params.psi.into()
        {
            let (psi, pai) = (sent - head.0, arrived - head.1);
            self.pivs.push(pai - psi);
            self.packets.pop_front();
            return;
        }
        let spacing_us = f64::from(self.params.psi * self.params.jiffy_us) / 128.0;
        let is_close = !self.packets.is_empty() && now_us - self.queued_us < spacing_us.floor();
        if self.packets.len() < 86 && !is_close {
            self.packets.push_back((sent, arrived));
            self.queued_us = now_us;
        }
    }

    /// Algorithm 4, after algorithms 2 and 3.
    fn decide(&mut self, segment: &Segment) {
        let (high, low) = self.params.sort(&self.pivs);
        let enough = self.pivs.len() as f64 * f64::from(self.params.alpha_x1024) / 1024.0;
        let error = self.error + self.thresh_error;
        self.is_doubtful |= error > 0.0 && (self.rwnd - self.thresh).abs() <= error;
        let policy = if high as f64 > enough {
            Policy::Halve
        } else if low as f64 <= enough {
            Policy::Fix
        } else if self.rwnd < self.thresh.floor() {
            Policy::Double
        } else {
            Policy::Increase
        };
        self.set_policy(policy, segment);
    }

    /// And the pause until the first segment that reflects the policy.
    fn set_policy(&mut self, policy: Policy, segment: &Segment) {
        match policy {
            Policy::Halve => {
                self.thresh = self.rwnd;
                self.target = self.rwnd / 2.0;
                self.thresh_error = self.error;
                if self.target.fract() > 0.0 {
                    self.error = self.error.max(self.error / 2.0 + 0.5);
                }
                self.halved = Some(Self::mark(segment));
            }
            Policy::Double => {
                self.target = self.rwnd * 2.0;
                self.error *= 2.0;
            }
            Policy::Increase => self.increased = None,
            Policy::Fix => {}
        }
        self.policy = policy;
        self.begin_round(segment);
        self.is_pausing = true;
    }

    fn begin_round(&mut self, segment: &Segment) {
        self.pivs.clear();
        self.mark = Self::mark(segment);
        self.is_pausing = false;
    }

    /// A hole in the sequence; a congestion mark counts as one (difference 11).
    fn shows_loss(&mut self, segment: &Segment) -> bool {
        let is_hole = is_after(segment.seq, self.highest_seq);
        let end_seq = segment.seq.wrapping_add(segment.payload_bytes);
        let window_bytes = segment.right_edge_seq.wrapping_sub(segment.rcv_nxt);
        let furthest_seq = segment
            .rcv_nxt
            .wrapping_add(window_bytes.saturating_mul(8).min(1 << 30));
        let is_allowed = !is_after(end_seq, furthest_seq);
        if is_after(end_seq, self.highest_seq) && is_allowed {
            self.highest_seq = end_seq;
        }
        is_hole || segment.is_ce > 0
    }

    fn start_acting(&mut self, segment: &Segment) {
        self.is_acting = true;
        self.packets.clear();
        if self.was_observed {
            let part = f64::from(self.params.first_window_x1024) / 1024.0;
            let bytes = (self.estimate.bytes * part).floor();
            self.begin(if bytes > 0.0 {
                bytes
            } else {
                10.0 * f64::from(MSS)
            });
        }
        self.policy = Policy::Fix;
        self.begin_round(segment);
    }
}

impl Model for Vulture {
    fn on_segment(&mut self, segment: &Segment) {
        self.estimate.on_segment(segment);
        let has_loss = self.shows_loss(segment);
        if segment.is_observing > 0 {
            self.was_observed = true;
        } else if !self.is_acting {
            self.start_acting(segment);
        }
        let is_passed = |mark: (f64, u32)| Self::is_passed(mark, segment);
        self.increased = self.increased.filter(|mark| !is_passed(*mark));
        self.halved = self.halved.filter(|mark| !is_passed(*mark));
        if self.is_acting && self.is_pausing && is_passed(self.mark) {
            self.begin_round(segment);
        }
        self.take_packet(segment);
        if !self.is_acting {
            return;
        }
        if has_loss {
            // Difference 11: at most once per round trip.
            if self.halved.is_none() {
                self.set_policy(Policy::Halve, segment);
            }
        } else if !self.is_pausing && Self::is_passed(self.mark, segment) {
            self.decide(segment);
        }
    }

    /// Algorithm 5; double ends at twice the window, halve at half of it, after a round trip.
    fn on_ack(&mut self, ack: &Ack) {
        let jiffy_ticks = self.params.jiffy_us / ack.local_tick_us;
        let acked = self.estimate.on_ack(ack, jiffy_ticks);
        if !self.is_acting {
            return;
        }
        match self.policy {
            Policy::Double => {
                self.rwnd = self.rwnd.max((self.rwnd + acked).min(self.target));
            }
            Policy::Increase if self.increased.is_none() => {
                self.rwnd += f64::from(MSS);
                self.increased = Some((ack.now_us as f64, ack.local_ts));
            }
            Policy::Halve => {
                self.rwnd = self.rwnd.min((self.rwnd - acked / 2.0).max(self.target));
            }
            _ => {}
        }
        if self.rwnd + self.error <= LEAST_BYTES {
            self.error = 0.0;
        }
        self.rwnd = self.rwnd.max(LEAST_BYTES);
    }

    fn window_bytes(&self) -> f64 {
        self.rwnd
    }

    fn tolerance_bytes(&self) -> f64 {
        self.error + 0.5
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}

fn compare_with(observed: usize) {
    let habits = Habits {
        queue_us: 120_000,
        use_x256: 256,
        observed,
        cases: 384,
    };
    compare(&habits, any_params(), |params, start| {
        (params.policy(), Vulture::new(params, start))
    });
}

#[test]
fn vulture_does_as_its_paper_has_it() {
    compare_with(0);
}

#[test]
fn vulture_begins_with_the_estimate_of_its_paper_after_observing() {
    compare_with(8);
}
