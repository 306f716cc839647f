// SPDX-License-Identifier: Apache-2.0 OR MIT

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fmt::Debug;
use std::ops::RangeBounds;
use std::path::Path;

use ebb_lab::engine::{EngineError, Job, LabRun, run};
use ebb_lab::judging::{Attempt, judge};
use ebb_scenario::{Outcome, Scenario};

// The main of a test program is not ours, but it is its own worker.
ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn become_worker() {
        ebb_lab::endpoint::become_worker_if_asked();
    }
}

/// Whether a test that needs root can run; says so when not.
pub fn is_root(name: &str) -> bool {
    ebb_kernel::requires_root(name)
}

/// What became of a run.
pub struct Ran(pub Outcome);

impl Ran {
    /// In the first interval, of all flows of this name. *Units:* bit/s.
    pub fn goodput(&self, group: &str) -> f64 {
        self.goodput_in(group, 0)
    }

    pub fn goodput_in(&self, group: &str, place: usize) -> f64 {
        let flows = self.0.flows.iter().filter(|flow| flow.group == group);
        flows
            .map(|flow| flow.measures[place].goodput_bits_per_s)
            .sum()
    }

    /// How long packets of BE waited before the bottleneck.
    pub fn be_waiting_ms(&self) -> f64 {
        self.0.links[0].measures[0].best_effort.mean_queue_delay_ms
    }
}

/// Runs these scenarios at the same time, once each.
pub fn run_all(texts: &[String]) -> Result<Vec<LabRun>, EngineError> {
    let parse = |text: &String| Scenario::parse("test.toml", text, Path::new("")).unwrap();
    let scenarios: Vec<Scenario> = texts.iter().map(parse).collect();
    let jobs: Vec<Job<'_>> = scenarios.iter().map(|it| Job::new(it, 0)).collect();
    run(&jobs, jobs.len(), 0)
}

/// Runs them and has `misses` say what is wrong with their results, as often as [`judge`] wants.
pub fn judge_runs(name: &str, texts: &[String], misses: impl Fn(&[Ran]) -> Vec<String>) {
    if !is_root(name) {
        return;
    }
    judge(name, || {
        let ran = run_all(texts).unwrap();
        let disturbed = ran.iter().find(|run| run.is_disturbed);
        let disturbed = disturbed.map(|run| run.emulator.clone());
        let ran: Vec<Ran> = ran.into_iter().map(|run| Ran(run.outcome)).collect();
        Attempt {
            wrong: misses(&ran),
            disturbed,
        }
    });
}

/// What is to be said if the value is out of its bounds.
pub fn bound(value: f64, bounds: impl RangeBounds<f64> + Debug, what: &str) -> Vec<String> {
    let is_within = bounds.contains(&value);
    Vec::from_iter((!is_within).then(|| format!("{value} {what}, not {bounds:?}")))
}
