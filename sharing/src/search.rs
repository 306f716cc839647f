// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The search for sigma, the sum of all targets: the least one that fills the link.
//!
//! One measurement of what flows receive at a time, between changes. What is tried is kept
//! if it was worth it, and taken back if not.

mod trial;

use crate::partition::desired_partition;
use crate::preferences::Preferences;
use crate::rates::part;
use crate::settings::Settings;

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

    /// Whether a flow receives what its target is, more or less, so that it might receive
    /// more with a larger one.
    fn is_held(&self, place: usize, settings: &Settings) -> bool {
        self.before[place] >= part(self.targets[place], settings.held_ppm)
    }

    /// Whether a larger target of a flow promises anything.
    fn is_eager(&self, place: usize, settings: &Settings) -> bool {
        self.is_held(place, settings) && !self.is_sated[place]
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
