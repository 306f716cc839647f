// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules that share by their weights what others leave: docs/weights.md.

use std::time::{Duration, Instant};

use ebb_algorithms::FLOOR_UNBOUND_BYTES_PER_S;
use ebb_keeper::{Held, KernelHeld};
use ebb_sharing::{Preferences, Target, Weighing};

use super::{Kept, Service};
use crate::ledger::Counts;

/// How often it is looked who has what.
const PERIOD: Duration = Duration::from_secs(1);

/// The rules that share.
#[derive(Debug)]
pub(super) struct Weighed {
    rules: Vec<Known>,
    /// What arrives, and what is sent.
    ways: [Weighing; 2],
    looked: Instant,
}

/// What is known of a rule.
#[derive(Debug)]
struct Known {
    name: String,
    /// What had come, each way. *Units:* bytes.
    counted: [u64; 2],
}

impl Service {
    /// Has rules share, once any has a weight; answers when it is to be looked at again.
    pub(super) fn weigh(&mut self) -> Option<Instant> {
        if !self.kept.iter().any(|kept| kept.rule.weight.is_some()) {
            if self.weighed.take().is_some() {
                lift(&mut self.kept);
            }
            return None;
        }
        let is_known = |weighed: &mut Weighed| weighed.knows(&self.kept);
        if !self.weighed.as_mut().is_some_and(is_known) {
            lift(&mut self.kept);
            self.weighed = Some(Weighed::new(&self.kept));
        }
        let weighed = self.weighed.as_mut()?;
        if weighed.looked.elapsed() >= PERIOD {
            weighed.look(&mut self.kept);
        }
        Some(weighed.looked + PERIOD)
    }
}

impl Weighed {
    fn new(kept: &[Kept]) -> Self {
        let known = |kept: &Kept| Known {
            name: kept.rule.name.clone(),
            counted: counted(kept.post.as_held()),
        };
        Self {
            rules: kept.iter().map(known).collect(),
            ways: [Weighing::new(kept.len()), Weighing::new(kept.len())],
            looked: Instant::now(),
        }
    }

    fn knows(&self, kept: &[Kept]) -> bool {
        let names = self.rules.iter().map(|known| &known.name);
        names.eq(kept.iter().map(|kept| &kept.rule.name))
    }

    fn look(&mut self, kept: &mut [Kept]) {
        let period_s = self.looked.elapsed().as_secs_f64();
        self.looked = Instant::now();
        let rates: Vec<[u64; 2]> = self
            .rules
            .iter_mut()
            .zip(&*kept)
            .map(|(known, kept)| {
                let now = counted(kept.post.as_held());
                let before = std::mem::replace(&mut known.counted, now);
                [0, 1].map(|way| {
                    let bytes = now[way].saturating_sub(before[way]);
                    (bytes as f64 * 8.0 / period_s) as u64
                })
            })
            .collect();
        for (way, weighing) in self.ways.iter_mut().enumerate() {
            let wanted: Vec<_> = kept.iter().map(|kept| preferences(kept, way)).collect();
            let received: Vec<u64> = rates.iter().map(|rates| rates[way]).collect();
            // As many as there are rules.
            let _ = weighing.on_period(&wanted, &received);
        }
        for (place, kept) in kept.iter_mut().enumerate() {
            let ceilings = [0, 1].map(|way| match self.ways[way].ceiling(place) {
                Target::Free => 0,
                Target::At(bits_per_s) => (bits_per_s / 8).max(1),
            });
            tracing::debug!(rule = kept.rule.name, rates = ?rates[place], ?ceilings, "weighed");
            // Each time: a policy that has come since has none yet.
            set(kept, ceilings);
        }
    }
}

/// What a rule is to have, one way; none if nothing holds it back, or everything is as others are.
fn preferences(kept: &Kept, way: usize) -> Option<Preferences> {
    let held = kept.post.as_held();
    let floor_bytes_per_s = held.floor_bytes_per_s();
    let has_law = way == 0 || held.policies().upload.is_some();
    let yields = held.is_held() && !held.in_force().is_observing && has_law;
    (yields && floor_bytes_per_s < FLOOR_UNBOUND_BYTES_PER_S).then(|| Preferences {
        weight: kept.rule.weight.unwrap_or(1),
        minimum_bits_per_s: floor_bytes_per_s * 8,
        priority: 0,
    })
}

fn counted(held: &KernelHeld) -> [u64; 2] {
    let counts = Counts::of(&held.counted());
    [counts.received_bytes, counts.sent_bytes]
}

fn lift(kept: &mut [Kept]) {
    kept.iter_mut().for_each(|kept| set(kept, [0; 2]));
}

fn set(kept: &mut Kept, ceilings: [u64; 2]) {
    // What has ended has no ceiling either.
    if let Err(error) = kept.post.held().set_ceilings(ceilings) {
        tracing::debug!("{error}");
    }
}
