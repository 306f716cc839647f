// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is worth a try: more for all, more for one that has less than its minimum, or less.

use std::cmp::Reverse;

use super::{Search, Stage, total};
use crate::partition::desired_partition;
use crate::preferences::{Preferences, minima_bits_per_s, weights};
use crate::rates::{part, scaled};
use crate::settings::Settings;

/// A move of the search.
pub(super) struct Trial {
    pub stage: Stage,
    pub sigma: u64,
    pub targets: Vec<u64>,
}

impl Search {
    /// A larger sum; while minima are not met, a larger target of one flow.
    pub(super) fn relaxation(
        &mut self,
        flows: &[Preferences],
        settings: &Settings,
    ) -> Option<Trial> {
        if minima_bits_per_s(flows).is_none_or(|minima| self.sigma < minima) {
            return self.probe(flows, settings);
        }
        let increase = self.step_for(flows, |place| self.is_eager(place, settings))?;
        let sigma = self.sigma.saturating_add(increase);
        Some(Trial {
            stage: Stage::Relaxing,
            sigma,
            targets: desired_partition(sigma, flows),
        })
    }

    /// How much more for all is a step more for flows of a kind; none if they have no weight.
    fn step_for(&self, flows: &[Preferences], is_meant: impl Fn(usize) -> bool) -> Option<u64> {
        let theirs = weight(flows, is_meant)?;
        let all = weight(flows, |_| true)?;
        Some(scaled(self.step(), all, theirs))
    }

    /// The next flow without its minimum, in decreasing order of priority; after them those
    /// that have theirs.
    fn probe(&mut self, flows: &[Preferences], settings: &Settings) -> Option<Trial> {
        if self.to_probe.is_empty() {
            self.begin_round(flows);
        }
        while let Some(stage) = self.to_probe.pop() {
            let trial = match stage {
                Stage::Probing(place) => self.probe_one(place, flows),
                _ => self.probe_rest(flows, settings),
            };
            if trial.is_some() {
                return trial;
            }
        }
        None
    }

    fn begin_round(&mut self, flows: &[Preferences]) {
        let lacks = |place: &usize| self.lacks(*place, flows);
        let mut places: Vec<usize> = (0..flows.len()).filter(lacks).collect();
        places.sort_by_key(|place| (flows[*place].priority, Reverse(*place)));
        self.to_probe = vec![Stage::Relaxing];
        self.to_probe.extend(places.into_iter().map(Stage::Probing));
    }

    /// Whether a flow's minimum is out of reach by a step or more: less would not show.
    fn lacks(&self, place: usize, flows: &[Preferences]) -> bool {
        let minimum = flows[place].minimum_bits_per_s;
        minimum.saturating_sub(self.targets[place]) >= self.step()
    }

    /// None if no sum gives the flow more, since somebody above wants all there is.
    fn probe_one(&self, place: usize, flows: &[Preferences]) -> Option<Trial> {
        let minimum = flows[place].minimum_bits_per_s;
        let mut targets = self.targets.clone();
        targets[place] = targets[place].saturating_add(self.step()).min(minimum);
        let sigma = least_sum_that_gives(targets[place], place, self.sigma, flows)?;
        Some(Trial {
            stage: Stage::Probing(place),
            sigma,
            targets,
        })
    }

    /// Minima for all who were probed in vain, and something beyond them for the others.
    fn probe_rest(&self, flows: &[Preferences], settings: &Settings) -> Option<Trial> {
        let has_minimum = |place: usize| !self.lacks(place, flows) && self.is_held(place, settings);
        let more = self.step_for(flows, has_minimum)?;
        let sigma = minima_bits_per_s(flows)?.checked_add(more)?;
        Some(Trial {
            stage: Stage::Relaxing,
            sigma,
            targets: desired_partition(sigma, flows),
        })
    }

    /// A smaller sum, if that may help somebody who deserves it more.
    pub(super) fn constraint(&self, flows: &[Preferences], settings: &Settings) -> Option<Trial> {
        if total(&self.before) == 0 {
            return None;
        }
        let sigma = self.sum_that_takes(self.step(), flows);
        let targets = desired_partition(sigma, flows);
        let is_smaller = sigma < self.sigma;
        (is_smaller && self.helps(&targets, flows, settings)).then_some(Trial {
            stage: Stage::Constraining,
            sigma,
            targets,
        })
    }

    /// The greatest sum of which flows would receive so much less, if nobody took it.
    fn sum_that_takes(&self, loss: u64, flows: &[Preferences]) -> u64 {
        let lost = |sigma: u64| {
            let targets = desired_partition(sigma, flows);
            let losses = self.before.iter().zip(targets);
            losses.fold(0, |sum: u64, (rate, target)| {
                sum.saturating_add(rate.saturating_sub(target))
            })
        };
        let (mut low, mut high) = (0, self.sigma);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if lost(middle) >= loss {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Whether somebody who is not held by a target deserves more than somebody whose
    /// target becomes smaller.
    fn helps(&self, targets: &[u64], flows: &[Preferences], settings: &Settings) -> bool {
        let places = || 0..flows.len();
        let is_better = |one, other| {
            targets[other] < self.targets[other] && self.deserves_more(one, other, flows)
        };
        let needs_it =
            |one: &usize| self.before[*one] < part(self.targets[*one], settings.enough_ppm);
        let is_anybody_less = |one| places().any(|other| is_better(one, other));
        places().filter(needs_it).any(is_anybody_less)
    }

    /// Section IV-B; what a flow has beyond its minimum counts, as in (7).
    fn deserves_more(&self, one: usize, other: usize, flows: &[Preferences]) -> bool {
        let beyond = |place: usize| self.before[place].checked_sub(flows[place].minimum_bits_per_s);
        let weight = |place: usize| u128::from(flows[place].weight);
        match (beyond(one), beyond(other)) {
            (None, Some(_)) => true,
            (None, None) => flows[one].priority >= flows[other].priority,
            (Some(_), None) => false,
            (Some(mine), Some(others)) => {
                u128::from(mine) * weight(other) < u128::from(others) * weight(one)
            }
        }
    }
}

/// The weight of all flows of a kind together, if they have any.
fn weight(flows: &[Preferences], is_meant: impl Fn(usize) -> bool) -> Option<u64> {
    let weights = weights(flows).into_iter().enumerate();
    let weights = weights.filter(|(place, _)| is_meant(*place));
    Some(weights.map(|(_, weight)| weight).sum()).filter(|weight| *weight > 0)
}

/// The least sum, from `from` on, of which the desired partition gives a flow so much.
fn least_sum_that_gives(
    target: u64,
    place: usize,
    from: u64,
    flows: &[Preferences],
) -> Option<u64> {
    let is_enough = |sigma: u64| desired_partition(sigma, flows)[place] >= target;
    let (mut low, mut high) = (from, minima_bits_per_s(flows).unwrap_or(u64::MAX).max(from));
    if !is_enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}
