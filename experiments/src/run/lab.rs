// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs in the lab: in real time, a few at a time.
use std::cmp::Reverse;
use std::path::PathBuf;

use ebb_lab::engine::{self, Job, LabRun};
use ebb_scenario::{Outcome, Results, Scenario};

use super::{Run, Runner, Wave};
use crate::{Engine, ExperimentError, RunStore};

/// What came out of runs in the lab.
#[derive(Clone, Debug)]
pub struct LabRuns {
    /// By scenario.
    pub results: Vec<Results>,
    /// How exactly packets were delivered, in lines. *Shape:* by scenario; none of runs that were
    /// known.
    pub emulator: Vec<Vec<String>>,
    /// Runs that stayed disturbed: place of the scenario, and number.
    pub disturbed: Vec<Run>,
}

impl LabRuns {
    /// Whether a run of the scenario at this place is not to be believed.
    pub fn is_disturbed(&self, place: usize) -> bool {
        self.disturbed.iter().any(|(of, _)| *of == place)
    }
}

impl Runner<'_> {
    /// Runs all runs of these scenarios; what the store knows is not run again. A run that stays
    /// disturbed is part of the result, and is not kept.
    ///
    /// *Errors:* [`ExperimentError::Lab`], and those of the store.
    pub fn run_in_lab(&self, scenarios: &[Scenario]) -> Result<LabRuns, ExperimentError> {
        self.run_recorded(scenarios, &[])
    }

    /// The same; where `traces` has a beginning of names for a scenario, what its laws are told and
    /// answer is recorded, so that all of it is run.
    ///
    /// *Errors:* those of [`Self::run_in_lab`].
    pub(super) fn run_recorded(
        &self,
        scenarios: &[Scenario],
        traces: &[PathBuf],
    ) -> Result<LabRuns, ExperimentError> {
        let mut ran = RanInLab::new(known(scenarios, self.store.filter(|_| traces.is_empty())));
        let missing = missing(scenarios, &ran.outcomes);
        let mut done = 0;
        for wave in missing.chunks(wave_length(missing.len(), self.parallel.get())) {
            self.watch.wave(&tell(scenarios, wave, done, missing.len()));
            self.run_wave(wave, scenarios, traces, &mut ran)?;
            done += wave.len();
        }
        let results = scenarios.iter().zip(ran.outcomes);
        let results = results.map(|(scenario, runs)| Results {
            scenario: scenario.clone(),
            runs: runs.into_iter().flatten().collect(),
        });
        Ok(LabRuns {
            results: results.collect(),
            emulator: ran.emulator,
            disturbed: ran.disturbed,
        })
    }

    /// Runs a wave. What is done is kept at once: those that are repeated may take long.
    fn run_wave(
        &self,
        wave: &[Run],
        scenarios: &[Scenario],
        traces: &[PathBuf],
        ran: &mut RanInLab,
    ) -> Result<(), ExperimentError> {
        let job = |&(place, run): &Run| Job {
            traces: traces.get(place).map(PathBuf::as_path),
            ..Job::new(&scenarios[place], run)
        };
        let jobs: Vec<Job<'_>> = wave.iter().map(job).collect();
        let mut kept = Ok(());
        engine::run_each(&jobs, wave.len(), self.retries, |at, run| {
            if let (false, true, Some(store)) = (run.is_disturbed, kept.is_ok(), self.store) {
                kept = store.save(Engine::Lab, jobs[at].scenario, &run.outcome);
            }
            ran.take(wave[at], run);
        })?;
        kept
    }
}

/// What came out so far.
struct RanInLab {
    /// By scenario, then by run.
    outcomes: Vec<Vec<Option<Outcome>>>,
    emulator: Vec<Vec<String>>,
    disturbed: Vec<Run>,
}

impl RanInLab {
    fn new(outcomes: Vec<Vec<Option<Outcome>>>) -> Self {
        Self {
            emulator: vec![Vec::new(); outcomes.len()],
            outcomes,
            disturbed: Vec::new(),
        }
    }

    fn take(&mut self, (place, run): Run, ran: LabRun) {
        if ran.is_disturbed {
            self.disturbed.push((place, run));
        }
        self.outcomes[place][run as usize] = Some(ran.outcome);
        if !self.emulator[place].contains(&ran.emulator) {
            self.emulator[place].push(ran.emulator);
        }
    }
}

/// What the store knows. *Shape:* by scenario, then by run.
fn known(scenarios: &[Scenario], store: Option<&RunStore>) -> Vec<Vec<Option<Outcome>>> {
    let of_one = |scenario: &Scenario| {
        let runs = 0..scenario.runs;
        runs.map(|run| store?.load(Engine::Lab, scenario, run))
            .collect()
    };
    scenarios.iter().map(of_one).collect()
}

/// What has to be run, the longest first: a wave lasts as long as its longest run.
fn missing(scenarios: &[Scenario], outcomes: &[Vec<Option<Outcome>>]) -> Vec<Run> {
    let of_one = |(place, runs): (usize, &Vec<Option<Outcome>>)| {
        let runs = runs.iter().enumerate();
        let unknown = runs.filter(|(_, outcome)| outcome.is_none());
        let named = unknown.map(|(run, _)| (place, run as u32));
        named.collect::<Vec<_>>()
    };
    let mut missing: Vec<Run> = outcomes.iter().enumerate().flat_map(of_one).collect();
    missing.sort_by_key(|(place, _)| Reverse(scenarios[*place].duration));
    missing
}

/// Waves of equal length: the fewer paths, the less they disturb each other.
fn wave_length(runs: usize, parallel: usize) -> usize {
    let waves = runs.div_ceil(parallel);
    runs.div_ceil(waves.max(1)).max(1)
}

fn tell<'s>(scenarios: &'s [Scenario], wave: &[Run], done: usize, all: usize) -> Wave<'s> {
    let lengths_s = wave
        .iter()
        .map(|(place, _)| scenarios[*place].duration.as_secs_f64());
    Wave {
        name: scenarios.first().map_or("", |scenario| &scenario.name),
        done,
        runs: wave.len(),
        all,
        longest_s: lengths_s.fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_of_equal_length_and_no_longer_than_allowed() {
        assert_eq!(wave_length(65, 20), 17);
        assert_eq!(wave_length(8, 8), 8);
        assert_eq!(wave_length(9, 8), 5);
        assert_eq!(wave_length(0, 8), 1);
    }
}
