// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far runs are: in the simulator one line on standard error, if that is a terminal; in the
//! lab a line for each wave, since real time is long.
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ebb_experiments::{Runner, Watch, Wave};
use ebb_link::Nanos;
use ebb_scenario::Scenario;

use crate::output::{self, StatusLine};

/// Tells the terminal what a [`Watch`] hears.
#[derive(Default)]
pub(super) struct Progress {
    /// What is simulated now.
    line: RwLock<Option<Line>>,
}

impl Watch for Progress {
    fn begins(&self, scenarios: &[Scenario]) {
        self.set(Some(Line::new(scenarios)));
    }

    fn reached(&self, run: usize, now: Nanos) {
        let line = self.line.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = &*line {
            line.reached(run, now);
        }
    }

    fn ends(&self) {
        self.set(None);
    }

    fn wave(&self, wave: &Wave<'_>) {
        let Wave { name, all, .. } = wave;
        let (first, last) = (wave.done + 1, wave.done + wave.runs);
        output::complain(&format!(
            "{name}: runs {first} to {last} of {all} in the lab, {:.0} s",
            wave.longest_s
        ));
    }
}

impl Progress {
    /// What carries runs out and tells of them here: so many at a time in the simulator, or one on
    /// each core.
    pub(super) fn runner(&self, jobs: Option<NonZeroUsize>) -> Runner<'_> {
        let runner = Runner {
            watch: self,
            ..Runner::default()
        };
        Runner {
            jobs: jobs.unwrap_or(runner.jobs),
            ..runner
        }
    }

    /// Another line takes the place of the one that is there.
    fn set(&self, line: Option<Line>) {
        let mut current = self.line.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *current, line) {
            before.end();
        }
    }
}

/// Told by all runs, from any thread.
struct Line {
    line: StatusLine,
    name: String,
    /// Time that each run has reached, and is to reach. *Units:* ns.
    runs_ns: Vec<(AtomicU64, u64)>,
    complete: AtomicU32,
    begun: Instant,
    written: Mutex<Option<Instant>>,
}

/// A line that changes more often cannot be read.
const INTERVAL: Duration = Duration::from_millis(100);
/// What takes less is over before somebody wonders.
const PATIENCE: Duration = Duration::from_millis(300);

impl Line {
    fn new(scenarios: &[Scenario]) -> Self {
        let runs = |scenario: &Scenario| {
            let duration_ns = scenario.duration.0;
            (0..scenario.runs).map(move |_| (AtomicU64::new(0), duration_ns))
        };
        Self {
            line: StatusLine::new(),
            name: scenarios
                .first()
                .map_or(String::new(), |first| first.name.clone()),
            runs_ns: scenarios.iter().flat_map(runs).collect(),
            complete: AtomicU32::new(0),
            begun: Instant::now(),
            written: Mutex::new(None),
        }
    }

    /// A run, counted over all scenarios, has reached this time.
    fn reached(&self, run: usize, now: Nanos) {
        let (reached, duration_ns) = &self.runs_ns[run];
        let before_ns = reached.swap(now.0, Ordering::Relaxed);
        if now.0 >= *duration_ns && before_ns < *duration_ns {
            self.complete.fetch_add(1, Ordering::Relaxed);
        }
        if !self.line.is_shown() || self.begun.elapsed() < PATIENCE {
            return;
        }
        let Ok(mut written) = self.written.try_lock() else {
            return;
        };
        if written.is_none_or(|written| written.elapsed() >= INTERVAL) {
            *written = Some(Instant::now());
            self.line.show(&self.text());
        }
    }

    /// The line goes away.
    fn end(&self) {
        self.line.end();
    }

    fn text(&self) -> String {
        let reached: u128 = self
            .runs_ns
            .iter()
            .map(|(reached, _)| u128::from(reached.load(Ordering::Relaxed)))
            .sum();
        let all: u128 = self
            .runs_ns
            .iter()
            .map(|(_, duration_ns)| u128::from(*duration_ns))
            .sum();
        let share = reached as f64 / all.max(1) as f64;
        let left_s = self.begun.elapsed().as_secs_f64() * (1.0 / share.max(1e-6) - 1.0);
        let runs = match self.runs_ns.len() {
            1 => String::new(),
            count => format!(
                "{} of {count} runs, ",
                self.complete.load(Ordering::Relaxed)
            ),
        };
        format!(
            "{}: {runs}{:.0} %, {left_s:.0} s left",
            self.name,
            share * 100.0
        )
    }
}
