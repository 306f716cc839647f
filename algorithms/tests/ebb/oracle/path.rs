// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the `ebb` law makes of arriving segments (docs/ebb-law.md, §base, §capacity,
//! §detection), in real numbers.

use crate::receiver_oracle::MSS;
use ebb_algorithms::Segment;

/// A least delay and a least round-trip time.
#[derive(Clone, Copy)]
struct Least {
    delay_us: f64,
    rtt_us: f64,
}

const NONE: Least = Least {
    delay_us: f64::INFINITY,
    rtt_us: f64::INFINITY,
};

/// A segment: when it arrived, when it would have without a queue, and what had come by then.
#[derive(Clone, Copy, Default)]
struct Arrival {
    at_us: f64,
    sent_us: f64,
    so_far: f64,
}

pub struct Path {
    arrivals: Vec<Arrival>,
    /// When a segment came last that more than our own queue and `low_us` had held up.
    late_at_us: f64,
    /// Arrivals at about the same pace, and the mean gap between them.
    run: (usize, f64),
    has_run_steadily: bool,
    /// C in bytes per second; 0: not known.
    capacity: f64,
    pub segment_us: f64,
    /// The fastest twelve arrivals of this round trip.
    round_rate: f64,
    base_since_us: f64,
    /// What two segments of this window and the last agree on.
    base: [Least; 2],
    /// The least of this one, and the second least.
    lowest: Least,
    second: Least,
    /// What the base was before a longer route was tried.
    trial: Option<Least>,
    pub queue_us: f64,
    pub longest_queue_us: f64,
    pub last_rtt_us: f64,
    pub empty_at_us: f64,
    /// Own segments that would wait if we were alone, and the sender's clock then.
    own_bytes: f64,
    own_at_ms: Option<u32>,
}

impl Path {
    pub fn new(now_us: f64) -> Self {
        Self {
            arrivals: Vec::new(),
            late_at_us: 0.0,
            run: (0, 0.0),
            has_run_steadily: false,
            capacity: 0.0,
            segment_us: 0.0,
            round_rate: 0.0,
            base_since_us: now_us,
            base: [NONE; 2],
            lowest: NONE,
            second: NONE,
            trial: None,
            queue_us: 0.0,
            longest_queue_us: 0.0,
            last_rtt_us: 0.0,
            empty_at_us: now_us,
            own_bytes: 0.0,
            own_at_ms: None,
        }
    }

    /// §route: what the delay is now becomes the base, on trial.
    pub fn try_route(&mut self, now_us: f64) {
        self.trial = Some(Least {
            delay_us: self.base_us(),
            rtt_us: self.rtt_us(),
        });
        self.forget(now_us);
    }

    pub fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// It was a queue after all.
    pub fn leave_route(&mut self, now_us: f64) {
        if let Some(before) = self.trial.take() {
            self.forget(now_us);
            self.second = before;
            self.base[0] = before;
        }
    }

    fn forget(&mut self, now_us: f64) {
        self.base = [NONE; 2];
        self.lowest = NONE;
        self.second = NONE;
        self.base_since_us = now_us;
        self.empty_at_us = now_us;
        self.own_bytes = 0.0;
    }

    pub fn begin_round(&mut self) {
        self.round_rate = 0.0;
    }

    pub fn rtt_us(&self) -> f64 {
        let agreed_us = self.base[0].rtt_us.min(self.base[1].rtt_us);
        if agreed_us.is_finite() {
            agreed_us
        } else {
            self.lowest.rtt_us
        }
    }

    fn base_us(&self) -> f64 {
        let agreed_us = self.base[0].delay_us.min(self.base[1].delay_us);
        if agreed_us.is_finite() {
            agreed_us
        } else {
            self.lowest.delay_us
        }
    }

    pub fn bdp(&self) -> f64 {
        (self.capacity * self.rtt_us() / 1e6).floor()
    }

    pub fn bdp_or(&self, unknown: f64) -> f64 {
        if self.capacity > 0.0 {
            self.bdp()
        } else {
            unknown
        }
    }

    /// The window that fills the link with a queue of the target.
    pub fn cap(&self, target_us: f64) -> f64 {
        if self.capacity > 0.0 {
            let bytes = (self.capacity * (self.rtt_us() + target_us) / 1e6).floor();
            bytes.max(4.0 * f64::from(MSS))
        } else {
            f64::from(0x3fff_ffff)
        }
    }

    pub fn time_of(&self, bytes: f64) -> f64 {
        if self.capacity > 0.0 {
            (bytes * 1e6 / self.capacity).floor()
        } else {
            0.0
        }
    }

    /// Did the segments of this round trip come back to back at C?
    pub fn is_fast(&self) -> bool {
        self.round_rate * 100.0 > self.capacity * 85.0
    }

    /// Bytes per second from one arrival to another, counted from the last.
    fn train(&self, from_ago: usize, to_ago: usize) -> f64 {
        let (from, to) = (self.arrival(from_ago), self.arrival(to_ago));
        ((to.so_far - from.so_far) * 1e6 / (to.at_us - from.at_us)).floor()
    }

    /// The same for when the last ten were sent; a tick blurs that.
    fn sent_rate(&self) -> f64 {
        let (from, to) = (self.arrival(10), self.arrival(1));
        let took_us = to.sent_us - from.sent_us - 1000.0;
        match took_us {
            us if us < -2000.0 => 0.0,
            us if us <= 0.0 => f64::INFINITY,
            us => ((to.so_far - from.so_far) * 1e6 / us).floor(),
        }
    }

    fn arrival(&self, ago: usize) -> Arrival {
        self.arrivals[self.arrivals.len() - ago]
    }

    /// §capacity: two trains of five, within a run of ten at about the same pace, of segments that
    /// were not late.
    pub fn arrive(&mut self, now_us: f64, bytes: f64, is_late: bool) {
        let last = self.arrivals.last().copied().unwrap_or_default();
        self.arrivals.push(Arrival {
            at_us: now_us,
            sent_us: now_us - self.queue_us,
            so_far: last.so_far + bytes,
        });
        if is_late && self.capacity > 0.0 {
            self.late_at_us = now_us;
        }
        self.take_pace(now_us - last.at_us);
        self.learn_capacity();
        let count = self.arrivals.len();
        if count >= 12 {
            self.round_rate = self.round_rate.max(self.train(12, 1));
        }
    }

    fn learn_capacity(&mut self) {
        let count = self.arrivals.len();
        if count >= 10 && self.late_at_us >= self.arrival(10).at_us {
            return;
        }
        self.has_run_steadily |= self.run.0 >= 10;
        if self.run.0 >= 10 || (!self.has_run_steadily && count >= 64) {
            let rate = self.train(5, 1).min(self.train(10, 6));
            self.capacity = self.capacity.max(rate.min(self.sent_rate()));
            self.segment_us = self.time_of(f64::from(MSS)).min(1e6);
        }
    }

    fn take_pace(&mut self, gap_us: f64) {
        let (count, mean_us) = self.run;
        let is_known = count > 1;
        self.run = if count == 0 || (is_known && (gap_us / 8.0).floor() > mean_us) {
            (1, 0.0)
        } else if is_known && gap_us < (mean_us / 8.0).floor() {
            (2, gap_us)
        } else if is_known {
            (count + 1, ((7.0 * mean_us + gap_us) / 8.0).floor())
        } else {
            (2, gap_us)
        };
    }

    /// §base and §detection: q, and the part of it that our own bursts do not explain.
    pub fn take_delay(&mut self, segment: &Segment, is_yielding: bool) -> f64 {
        let now_us = segment.now_us as f64;
        // Up to a constant: the clocks' zero.
        let delay_us = f64::from(segment.local_ts.wrapping_sub(segment.tsval)) * 1000.0
            + (segment.now_us % 1000) as f64;
        let rtt_us = f64::from(segment.local_ts.wrapping_sub(segment.tsecr)) * 1000.0
            + (segment.now_us % 1000) as f64;
        let window_us = if is_yielding { 3e8 } else { 3e7 };
        if now_us - self.base_since_us > window_us && self.base[0].delay_us.is_finite() {
            self.base = [NONE, self.base[0]];
            self.lowest = NONE;
            self.second = NONE;
            self.base_since_us = now_us;
            self.trial = None;
        }
        self.last_rtt_us = rtt_us.max(1000.0);
        let (second, lowest) = (&mut self.second, &mut self.lowest);
        take_second(&mut lowest.delay_us, &mut second.delay_us, delay_us);
        take_second(&mut lowest.rtt_us, &mut second.rtt_us, self.last_rtt_us);
        self.base[0] = Least {
            delay_us: agreed(lowest.delay_us, second.delay_us),
            rtt_us: agreed(lowest.rtt_us, second.rtt_us),
        };
        let last_queue_us = self.queue_us;
        self.queue_us = (delay_us - self.base_us()).max(0.0);
        if self.queue_us < 1000.0 {
            self.empty_at_us = now_us;
        }
        self.longest_queue_us = self.longest_queue_us.max(self.queue_us.min(last_queue_us));
        let own_us = self.own_wait_us(segment);
        (self.queue_us - own_us).max(0.0)
    }

    fn own_wait_us(&mut self, segment: &Segment) -> f64 {
        let step_ms = segment.tsval.wrapping_sub(
            self.own_at_ms
                .replace(segment.tsval)
                .unwrap_or(segment.tsval),
        );
        let drained = (self.capacity * f64::from(step_ms) / 1000.0).floor();
        self.own_bytes = (self.own_bytes - drained).max(0.0) + f64::from(segment.payload_bytes);
        self.time_of(self.own_bytes)
    }
}

/// The second least of a row of values, and the least.
fn take_second(lowest: &mut f64, second: &mut f64, value: f64) {
    *second = second.min(lowest.max(value));
    *lowest = lowest.min(value);
}

/// The least, if another is near it.
fn agreed(lowest: f64, second: f64) -> f64 {
    if (0.0..=2_000.0).contains(&(second - lowest)) {
        lowest
    } else {
        second
    }
}
