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
    let queue = Queue {
        runner,
        scenarios,
        work: &work,
        next: AtomicUsize::new(0),
        has_failed: AtomicBool::new(false),
        observer: Mutex::new(observer),
        done: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| {
        for _ in 0..runner.jobs.get().min(work.len()) {
            scope.spawn(|| queue.work_off());
        }
    });
    // A thread that panics ends the scope with its panic, so nobody left the lock broken.
    let mut done = queue.done.into_inner().expect("no thread has panicked");
    done.sort_by_key(|(number, _)| *number);
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); scenarios.len()];
    for (number, result) in done {
        outcomes[work[number].0].push(result?);
    }
    Ok(outcomes)
}

/// What several threads work off.
struct Queue<'q, 'o> {
    runner: &'q Runner<'q>,
    scenarios: &'q [Scenario],
    /// Scenario and run.
    work: &'q [(usize, u32)],
    /// Place in `work` of what is to be run next.
    next: AtomicUsize,
    has_failed: AtomicBool,
    /// Of the first run.
    observer: Mutex<Option<&'o mut (dyn Observer + Send)>>,
    /// By place in `work`.
    done: Mutex<Vec<(usize, Result<Outcome, ExperimentError>)>>,
}

impl Queue<'_, '_> {
    /// Until nothing is left, or something has failed.
    fn work_off(&self) {
        while !self.has_failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(place, run)) = self.work.get(number) else {
                break;
            };
            let mut observer = match number {
                0 => self.observer.lock().ok().and_then(|mut it| it.take()),
                _ => None,
            };
            let options = Options {
                run,
                observer: observer.as_mut().map(|observer| &mut **observer as _),
                progress: Some(&mut |now| self.runner.watch.reached(number, now)),
                is_stopped: Some(&|| self.runner.watch.is_stopped()),
            };
            let scenario = &self.scenarios[place];
            let result = run_or_load(scenario, options, self.runner.store);
            self.runner.watch.reached(number, scenario.duration);
            self.has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            if let Ok(mut done) = self.done.lock() {
                done.push((number, result));
            }
        }
    }
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
