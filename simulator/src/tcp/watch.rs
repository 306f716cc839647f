// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a `vulture` that only watches sees: the packet interval variations of each round trip.

use ebb_algorithms::{PairRounds, Policy};
use ebb_link::Nanos;

use super::receiver_law::LocalTime;
use crate::segment::Segment;

/// The variations of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedRound {
    /// When it was over.
    pub at: Nanos,
    /// Sum of the variations. *Units:* jiffies of the law.
    pub sum_jiffies: i64,
    /// How many there were; never none.
    pub all: u32,
    /// How many of these were positive.
    pub positive: u32,
}

/// Pairs of packets and the round trips that they belong to.
#[derive(Debug)]
pub(super) struct Watch {
    pairs: PairRounds,
    pub(super) rounds: Vec<WatchedRound>,
}

impl Watch {
    /// None for laws that know nothing of variations.
    pub(super) fn new(policy: Policy) -> Option<Self> {
        Some(Self {
            pairs: PairRounds::new(policy)?,
            rounds: Vec::new(),
        })
    }

    pub(super) fn on_segment(&mut self, time: LocalTime, segment: &Segment) {
        let Some(timestamps) = segment.timestamps else {
            return;
        };
        let echoes = (timestamps.value, timestamps.echo);
        let now_us = time.now.0 / 1_000;
        if let Some(variations) = self.pairs.on_segment(now_us, time.ts, echoes) {
            self.rounds.push(WatchedRound {
                at: time.now,
                sum_jiffies: variations.sum_jiffies,
                all: variations.all,
                positive: variations.positive,
            });
        }
    }
}
