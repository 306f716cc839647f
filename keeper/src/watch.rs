// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks at connections now and then, for what is said of them at the end.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::flow::{Direction, FlowView};
use crate::summary::Seen;

/// Connections are looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A look that took long is not repeated before so many times that long.
const LOOK_SHARE: u32 = 100;
/// A busy machine takes long for everything.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// Looks at connections that belong together, such as those of a command.
#[derive(Debug, Clone)]
pub struct Watch {
    due: Instant,
    looked: Option<Instant>,
    payload_bytes: HashMap<(u64, Direction), u64>,
    held_back: Duration,
    queue: QueueSeen,
}

/// Queueing delays of what moved, as the laws saw them: one for each connection and look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSeen {
    /// How many are at most so long as each of [`Self::BOUNDS_US`], and longer than the one before;
    /// the last ones are longer than all.
    pub counts: [u64; Self::BOUNDS_US.len() + 1],
    /// All together.
    pub sum_us: u64,
    /// The longest.
    pub most_us: u32,
}

impl QueueSeen {
    /// Between these, counts are told apart.
    pub const BOUNDS_US: [u32; 10] = [
        1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    ];

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn note(&mut self, queue_us: u32) {
        let place = Self::BOUNDS_US.partition_point(|bound_us| *bound_us < queue_us);
        self.counts[place] += 1;
        self.sum_us += u64::from(queue_us);
        self.most_us = self.most_us.max(queue_us);
    }
}

impl Default for Watch {
    /// Nothing seen yet.
    fn default() -> Self {
        Self {
            due: Instant::now(),
            looked: None,
            payload_bytes: HashMap::new(),
            held_back: Duration::ZERO,
            queue: QueueSeen::default(),
        }
    }
}

impl Watch {
    /// When it wants to look again.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Looks if it is time to.
    pub fn look(&mut self, flows: impl FnOnce() -> Vec<FlowView>) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let flows = flows();
        self.note(&flows, now);
        let took = now.elapsed();
        self.due = now + (took * LOOK_SHARE).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY);
    }

    /// Takes a look that was made now, of all the connections.
    pub fn note(&mut self, flows: &[FlowView], now: Instant) {
        let since = self.looked.map_or(Duration::ZERO, |last| now - last);
        self.looked = Some(now);
        let mut is_held_back = false;
        let before = std::mem::take(&mut self.payload_bytes);
        for flow in flows {
            let key = (flow.cookie, flow.direction);
            self.payload_bytes.insert(key, flow.payload_bytes);
            if flow.payload_bytes <= before.get(&key).copied().unwrap_or(0) {
                continue;
            }
            is_held_back |= !flow.reason.is_empty();
            if let Some(queue_us) = flow.queue_us {
                self.queue.note(queue_us);
            }
        }
        if is_held_back {
            self.held_back += since;
        }
    }

    /// Nothing is to be seen for a while: what comes then is new, and no time went by.
    pub fn pause(&mut self) {
        self.looked = None;
        self.payload_bytes.clear();
    }

    /// What it has seen.
    pub fn seen(&self) -> Seen {
        let looks = self.queue.count();
        Seen {
            held_back_ms: u64::try_from(self.held_back.as_millis()).unwrap_or(u64::MAX),
            queue_mean_us: self.queue.sum_us.checked_div(looks),
            queue_most_us: (looks > 0).then_some(self.queue.most_us),
        }
    }

    /// How long anything that moved was held back: from look to look, so that what lasted less than
    /// that is seen by chance.
    pub fn held_back(&self) -> Duration {
        self.held_back
    }

    /// The queueing delays.
    pub fn queue(&self) -> QueueSeen {
        self.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(payload_bytes: u64, reason: &str, queue_us: u32) -> FlowView {
        FlowView {
            cookie: 1,
            direction: Direction::Down,
            local: ([10, 0, 0, 1], 1).into(),
            peer: ([10, 0, 0, 2], 2).into(),
            law: "ebb".into(),
            payload_bytes,
            window_bytes: 0,
            pace_bytes_per_s: None,
            rtt_us: None,
            queue_us: Some(queue_us),
            mode: "-".into(),
            reason: reason.into(),
            is_acting: true,
            process: None,
        }
    }

    #[test]
    fn time_is_held_back_while_something_moves_and_there_is_a_reason() {
        let mut watch = Watch::default();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        watch.note(&[flow(10, "", 1_000)], at(0));
        watch.note(&[flow(20, "others want it", 9_000)], at(1));
        watch.note(&[flow(30, "queue at target", 5_000)], at(3));
        // It has nothing to carry any more: nobody holds that back.
        watch.note(&[flow(30, "others want it", 70_000)], at(9));
        let seen = watch.seen();
        assert_eq!(seen.held_back_ms, 3_000);
        assert_eq!(seen.queue_mean_us, Some(5_000));
        assert_eq!(seen.queue_most_us, Some(9_000));
        // 9 ms is between 5 and 10, 5 ms not above 5, and 1 ms not above 1.
        assert_eq!(watch.queue().counts[..4], [1, 0, 1, 1]);
    }
}
