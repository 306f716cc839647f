// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a `vulture` that only watches sees: the packet interval variations of each round trip.

use ebb_algorithms::{PacketPairs, Policy};
use ebb_link::Nanos;

use super::clock::is_before32;
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
    pairs: PacketPairs,
    /// Our clock when the round trip began.
    round_ts: Option<u32>,
    pub(super) rounds: Vec<WatchedRound>,
}

impl Watch {
    /// None for laws that know nothing of variations.
    pub(super) fn new(policy: Policy) -> Option<Self> {
        Some(Self {
            pairs: PacketPairs::new(policy)?,
            round_ts: None,
            rounds: Vec::new(),
        })
    }

    /// A segment that echoes a later time than that of the round trip's beginning ends it.
    pub(super) fn on_segment(&mut self, time: LocalTime, segment: &Segment) {
        let Some(timestamps) = segment.timestamps else {
            return;
        };
        let began = *self.round_ts.get_or_insert(time.ts);
        if is_before32(began, timestamps.echo) {
            self.round_ts = Some(time.ts);
            let variations = self.pairs.end_round();
            if variations.all > 0 {
                self.rounds.push(WatchedRound {
                    at: time.now,
                    sum_jiffies: variations.sum_jiffies,
                    all: variations.all,
                    positive: variations.positive,
                });
            }
        }
        self.pairs.on_segment(time.now.0 / 1_000, timestamps.value);
    }
}
