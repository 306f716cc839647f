// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs in the simulator, side by side on several cores.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::{Observer, Options};

use super::Runner;
use crate::{Engine, ExperimentError, RunStore};

/// Runs all runs of all scenarios, at the most `jobs` at a time. `observer` sees the
/// packets of the first; what the store knows is not run again.
///
/// *Shape:* outcomes by scenario, then by run, whatever was ready first.
pub(super) fn run_all(
    runner: &Runner<'_>,
    scenarios: &[Scenario],
    observer: Option<&mut (dyn Observer + Send)>,
) -> Result<Vec<Vec<Outcome>>, ExperimentError> {
    let work: Vec<(usize, u32)> = scenarios
        .iter()
        .enumerate()
        .flat_map(|(place, scenario)| (0..scenario.runs).map(move |run| (place, run)))
        .collect();
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let observer = Mutex::new(observer);
    let done = Mutex::new(Vec::new());
    let worker = || {
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(place, run)) = work.get(number) else {
                break;
            };
            let mut observer = match number {
                0 => observer
                    .lock()
                    .ok()
                    .and_then(|mut observer| observer.take()),
                _ => None,
            };
            let options = Options {
                run,
                observer: observer.as_mut().map(|observer| &mut **observer as _),
                progress: Some(&mut |now| runner.watch.reached(number, now)),
            };
            let result = run_or_load(&scenarios[place], options, runner.store);
            runner.watch.reached(number, scenarios[place].duration);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            if let Ok(mut done) = done.lock() {
                done.push((number, result));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..runner.jobs.get().min(work.len()) {
            scope.spawn(worker);
        }
    });
    // A thread that panics ends the scope with its panic, so nobody left the lock broken.
    let mut done = done.into_inner().expect("no thread has panicked");
    done.sort_by_key(|(number, _)| *number);
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); scenarios.len()];
    for (number, result) in done {
        outcomes[work[number].0].push(result?);
    }
    Ok(outcomes)
}

/// What the store knows of a run, or what it gives, which is kept.
fn run_or_load(
    scenario: &Scenario,
    options: Options<'_>,
    store: Option<&RunStore>,
) -> Result<Outcome, ExperimentError> {
    let run = options.run;
    if let Some(known) = store.and_then(|store| store.load(Engine::Sim, scenario, run)) {
        return Ok(known);
    }
    let outcome = ebb_simulator::run(scenario, options)?;
    if let Some(store) = store {
        store.save(Engine::Sim, scenario, &outcome)?;
    }
    Ok(outcome)
}
