// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of experiments in the lab: in real time, a few at a time.
use std::num::NonZeroUsize;

use anyhow::Result;
use ebb_experiments::{Engine, RunStore};
use ebb_lab::engine::{self, Job};
use ebb_scenario::{Outcome, Results, Scenario};

use crate::output;

/// How often a disturbed run is repeated.
const RETRIES: u32 = 2;

/// What came out.
pub(super) struct Ran {
    /// By scenario.
    pub results: Vec<Results>,
    /// Runs that stayed disturbed.
    pub disturbed_runs: u32,
}

/// Runs all of them, `parallel` runs at a time; what the store knows is not run again. A run
/// that stays disturbed is part of the result, and is not kept.
pub(super) fn run_all(
    scenarios: &[Scenario],
    parallel: NonZeroUsize,
    store: &RunStore,
) -> Result<Ran> {
    let mut outcomes: Vec<Vec<Option<Outcome>>> = Vec::new();
    let mut missing = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let known = |run| store.load(Engine::Lab, scenario, run);
        outcomes.push((0..scenario.runs).map(known).collect());
        let unknown = (0..scenario.runs).filter(|run| outcomes[place][*run as usize].is_none());
        missing.extend(unknown.map(|run| (place, run)));
    }
    let mut disturbed_runs = 0;
    let mut done = 0;
    for wave in missing.chunks(parallel.get()) {
        tell(scenarios, wave, done, missing.len());
        let job = |&(place, run): &(usize, u32)| Job {
            scenario: &scenarios[place],
            run,
        };
        let jobs: Vec<Job<'_>> = wave.iter().map(job).collect();
        let runs = engine::run(&jobs, parallel.get(), RETRIES)?;
        for ((place, run), ran) in wave.iter().zip(runs) {
            match ran.is_disturbed {
                true => disturbed_runs += 1,
                false => store.save(Engine::Lab, &scenarios[*place], &ran.outcome)?,
            }
            outcomes[*place][*run as usize] = Some(ran.outcome);
        }
        done += wave.len();
    }
    let results = scenarios.iter().zip(outcomes);
    let results = results.map(|(scenario, runs)| Results {
        scenario: scenario.clone(),
        runs: runs.into_iter().flatten().collect(),
    });
    Ok(Ran {
        results: results.collect(),
        disturbed_runs,
    })
}

/// Real time is long: says what is waited for.
fn tell(scenarios: &[Scenario], wave: &[(usize, u32)], done: usize, all: usize) {
    let longest_s = wave
        .iter()
        .map(|(place, _)| scenarios[*place].duration.as_secs_f64());
    let longest_s = longest_s.fold(0.0, f64::max);
    let name = scenarios.first().map_or("", |scenario| &scenario.name);
    output::complain(&format!(
        "{name}: runs {} to {} of {all} in the lab, {longest_s:.0} s",
        done + 1,
        done + wave.len(),
    ));
}
