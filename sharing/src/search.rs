// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The search for sigma, the sum of all targets: the least one that fills the link.
//!
//! One measurement of what flows receive at a time, between changes. What is tried is kept
//! if it was worth it, and taken back if not.

use std::cmp::Reverse;

use crate::partition::desired_partition;
use crate::preferences::{Preferences, minima_bits_per_s, weights};
use crate::settings::{Settings, part};

/// What a search is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All flows are free: what they receive together is the first sum.
    Releasing,
    /// Nothing is tried.
    Holding,
    /// Whether more is received with a larger sum.
    Relaxing,
    /// Whether more is received with a larger target of one flow alone, by place.
    Probing(usize),
    /// Whether as much is received with a smaller sum.
    Constraining,
}

/// A search; flows and their rates are in the same order everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) stage: Stage,
    pub(crate) sigma: u64,
    /// What flows are to be held at; of no meaning while all are free.
    pub(crate) targets: Vec<u64>,
    /// What all received together while they were free.
    released: u64,
    /// What was received before the trial, and what held flows then.
    before: Vec<u64>,
    sigma_before: u64,
    targets_before: Vec<u64>,
    /// What is still to be probed in this round, the last first.
    to_probe: Vec<Stage>,
    /// Flows that took nothing of larger targets, in this direction.
    is_sated: Vec<bool>,
    /// Whether constraining comes next, and not relaxing.
    constrains_next: bool,
    step_ppm: u32,
    /// Whether it has grown by success.
    has_grown: bool,
    /// The least step that shows in what is measured.
    least_step_ppm: u32,
}

/// A move of the search.
struct Trial {
    stage: Stage,
    sigma: u64,
    targets: Vec<u64>,
}

impl Search {
    pub(crate) fn new(flows: usize, settings: &Settings) -> Self {
        Self {
            stage: Stage::Releasing,
            sigma: 0,
            targets: vec![0; flows],
            released: 0,
            before: vec![0; flows],
            sigma_before: 0,
            targets_before: vec![0; flows],
            to_probe: Vec::new(),
            is_sated: vec![false; flows],
            constrains_next: false,
            step_ppm: settings.step_ppm,
            has_grown: false,
            least_step_ppm: settings.step_ppm,
        }
    }

    /// Goes on with what flows received since the last change had settled; `error` is the
    /// standard error of its sum, as a part of it.
    pub(crate) fn go_on(
        &mut self,
        received: &[u64],
        error: f64,
        flows: &[Preferences],
        settings: &Settings,
    ) {
        let total = total(received);
        let visible_ppm = (error * f64::from(settings.errors_of_step) * 1e6) as u32;
        self.least_step_ppm = visible_ppm
            .min(settings.longest_step_ppm)
            .max(settings.step_ppm);
        match self.stage {
            Stage::Releasing if total == 0 => {}
            Stage::Releasing => {
                self.sigma = total;
                self.released = total;
                self.hold(flows);
            }
            Stage::Holding => self.begin(received, flows, settings),
            _ if self.was_worth_it(received, settings) => {
                self.step_ppm = (self.step_ppm.saturating_mul(2)).min(settings.longest_step_ppm);
                self.has_grown = true;
                self.to_probe.clear();
                // Those that were probed in vain get their minima: that is nothing to them.
                self.hold(flows);
                self.begin(received, flows, settings);
            }
            stage => {
                self.go_back(stage, received, settings);
                self.hold(flows);
            }
        }
    }

    /// Whether no flow receives much more than its target: smaller ones take effect slowly.
    pub(crate) fn is_obeyed(&self, received: &[u64], settings: &Settings) -> bool {
        let tolerance = self.step();
        let is_obeyed = |(rate, target): (&u64, &u64)| {
            let most = u128::from(*target) * 1_000_000 / u128::from(settings.held_ppm.max(1));
            u128::from(*rate) <= most + u128::from(tolerance)
        };
        received.iter().zip(&self.targets).all(is_obeyed)
    }

    fn hold(&mut self, flows: &[Preferences]) {
        self.stage = Stage::Holding;
        self.targets = desired_partition(self.sigma, flows);
    }

    /// Starts the next trial that makes sense.
    fn begin(&mut self, received: &[u64], flows: &[Preferences], settings: &Settings) {
        self.before = received.to_vec();
        self.step_ppm = self.step_ppm.max(self.least_step_ppm);
        for _ in 0..2 {
            let trial = match self.constrains_next {
                true => self.constraint(flows, settings),
                false => self.relaxation(flows, settings),
            };
            if let Some(trial) = trial {
                self.sigma_before = std::mem::replace(&mut self.sigma, trial.sigma);
                self.targets_before = std::mem::replace(&mut self.targets, trial.targets);
                self.stage = trial.stage;
                return;
            }
            self.turn();
        }
    }

    /// The other direction comes next, with small steps.
    fn turn(&mut self) {
        self.constrains_next = !self.constrains_next;
        self.step_ppm = self.least_step_ppm;
        self.has_grown = false;
        self.to_probe.clear();
        self.is_sated.fill(false);
    }

    /// Whether what some flows took was more than what others lost, or what some gave up
    /// went to others.
    fn was_worth_it(&self, received: &[u64], settings: &Settings) -> bool {
        let (before, now) = (total(&self.before), total(received));
        let noise = part(before, settings.noise_ppm);
        let (mut taken, mut given) = (0_u64, 0_u64);
        for (place, rate) in received.iter().enumerate() {
            if self.targets[place] > self.targets_before[place] {
                taken = taken.saturating_add(rate.saturating_sub(self.before[place]));
            } else {
                given = given.saturating_add(self.before[place].saturating_sub(*rate));
            }
        }
        match self.stage {
            Stage::Constraining => {
                before.saturating_sub(now) <= part(given, settings.worth_ppm).max(noise)
            }
            _ => now.saturating_sub(before) > part(taken, settings.worth_ppm).max(noise),
        }
    }

    /// Takes a trial back, and chooses what comes next.
    fn go_back(&mut self, stage: Stage, received: &[u64], settings: &Settings) {
        self.sigma = self.sigma_before;
        let took = |place: usize| {
            let offered = self.targets[place].saturating_sub(self.targets_before[place]);
            let taken = received[place].saturating_sub(self.before[place]);
            offered > 0 && taken > part(offered, settings.worth_ppm / 2)
        };
        if std::mem::take(&mut self.has_grown) {
            // It was too much, perhaps: less, before anything else.
            self.step_ppm = self.least_step_ppm;
            self.to_probe.clear();
            return;
        }
        let goes_on = match stage {
            // Who took what it was offered, to the cost of others, has shown that the link
            // is full: nobody below needs to be asked.
            Stage::Probing(place) => {
                let gain = total(received).saturating_sub(total(&self.before));
                let taken = received[place].saturating_sub(self.before[place]);
                let is_full = took(place) && gain <= part(taken, settings.worth_ppm);
                !is_full && !self.to_probe.is_empty()
            }
            Stage::Relaxing => {
                let takes: Vec<bool> = (0..received.len()).map(took).collect();
                self.sate(&takes, settings)
            }
            _ => false,
        };
        if !goes_on {
            self.turn();
        }
    }

    /// Notes who took nothing. *Returns:* whether the step is worth another try for others.
    fn sate(&mut self, takes: &[bool], settings: &Settings) -> bool {
        let held: Vec<usize> = (0..takes.len())
            .filter(|place| self.is_eager(*place, settings))
            .collect();
        let sated = || held.iter().filter(|place| !takes[**place]);
        let goes_on = (1..held.len()).contains(&sated().count());
        for place in sated() {
            self.is_sated[*place] = true;
        }
        goes_on
    }

    /// A larger sum; while minima are not met, a larger target of one flow.
    fn relaxation(&mut self, flows: &[Preferences], settings: &Settings) -> Option<Trial> {
        if minima_bits_per_s(flows).is_none_or(|minima| self.sigma < minima) {
            return self.probe(flows, settings);
        }
        let weight = self.weight(flows, |place| self.is_eager(place, settings));
        let increase = scaled(self.step(), self.weight(flows, |_| true), weight?);
        let sigma = self.sigma.saturating_add(increase);
        Some(Trial {
            stage: Stage::Relaxing,
            sigma,
            targets: desired_partition(sigma, flows),
        })
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
        let weight = self.weight(flows, has_minimum)?;
        let more = scaled(self.step(), self.weight(flows, |_| true), weight);
        let sigma = minima_bits_per_s(flows)?.checked_add(more)?;
        Some(Trial {
            stage: Stage::Relaxing,
            sigma,
            targets: desired_partition(sigma, flows),
        })
    }

    /// A smaller sum, if that may help somebody who deserves it more.
    fn constraint(&self, flows: &[Preferences], settings: &Settings) -> Option<Trial> {
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

    /// Whether a flow receives what its target is, more or less, so that it might receive
    /// more with a larger one.
    fn is_held(&self, place: usize, settings: &Settings) -> bool {
        self.before[place] >= part(self.targets[place], settings.held_ppm)
    }

    /// Whether a larger target of a flow promises anything.
    fn is_eager(&self, place: usize, settings: &Settings) -> bool {
        self.is_held(place, settings) && !self.is_sated[place]
    }

    /// The weight of all flows of a kind together, if they have any.
    fn weight(&self, flows: &[Preferences], is_meant: impl Fn(usize) -> bool) -> Option<u64> {
        let weights = weights(flows).into_iter().enumerate();
        let weights = weights.filter(|(place, _)| is_meant(*place));
        Some(weights.map(|(_, weight)| weight).sum()).filter(|weight| *weight > 0)
    }

    /// A step. *Units:* bit/s, at least one.
    fn step(&self) -> u64 {
        let whole = total(&self.before).max(self.released / 8);
        part(whole, self.step_ppm).max(1)
    }
}

fn total(received: &[u64]) -> u64 {
    received
        .iter()
        .fold(0, |sum, rate| sum.saturating_add(*rate))
}

fn scaled(rate: u64, by: Option<u64>, of: u64) -> u64 {
    let scaled = u128::from(rate) * u128::from(by.unwrap_or(of)) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
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
