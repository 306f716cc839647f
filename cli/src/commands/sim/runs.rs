// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The runs of a scenario, side by side on several cores.
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Result, anyhow};
use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::{Observer, Options};

use super::progress::Progress;

/// Runs all of them, at the most `jobs` at a time, and answers what came out in the order
/// of the runs. `observer` sees the packets of the first.
pub(super) fn run_all(
    scenario: &Scenario,
    jobs: NonZeroUsize,
    observer: Option<&mut (dyn Observer + Send)>,
    progress: &Progress,
) -> Result<Vec<Outcome>> {
    let next = AtomicU32::new(0);
    let has_failed = AtomicBool::new(false);
    let observer = Mutex::new(observer);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.get().min(scenario.runs as usize) {
            scope.spawn(|| {
                while !has_failed.load(Ordering::Relaxed) {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= scenario.runs {
                        break;
                    }
                    let mut observer = match run {
                        0 => observer
                            .lock()
                            .ok()
                            .and_then(|mut observer| observer.take()),
                        _ => None,
                    };
                    let result = ebb_simulator::run(
                        scenario,
                        Options {
                            run,
                            observer: observer.as_mut().map(|observer| &mut **observer as _),
                            progress: Some(&mut |now| progress.reached(run, now)),
                        },
                    );
                    has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    if let Ok(mut done) = done.lock() {
                        done.push((run, result));
                    }
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .map_err(|_| anyhow!("a run was broken off"))?;
    done.sort_by_key(|(run, _)| *run);
    let outcomes: Result<Vec<Outcome>, _> = done.into_iter().map(|(_, result)| result).collect();
    Ok(outcomes?)
}
