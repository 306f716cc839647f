// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs what experiments, their sweeps and scores ask for, on either engine.
#[cfg(feature = "lab")]
mod lab;
mod simulator;
mod watch;

use std::num::NonZeroUsize;

use ebb_algorithms::Policy;
use ebb_scenario::{Results, Scenario};
use ebb_simulator::Observer;

#[cfg(feature = "lab")]
pub use lab::LabRuns;
pub use watch::{Watch, Wave};

use crate::score::{Score, ScorePlan, ScoreScenario};
use crate::{
    Comparison, Engine, Experiment, ExperimentError, Influence, Plan, Ran, RunStore, Sweep,
};

/// A run: place of its scenario, and its number.
type Run = (usize, u32);

/// How runs are carried out.
#[derive(Clone, Copy)]
pub struct Runner<'r> {
    /// Runs in the simulator at the same time.
    pub jobs: NonZeroUsize,
    /// Runs in the lab at the same time, each on a link of its own.
    pub parallel: NonZeroUsize,
    /// How often runs in the lab that were disturbed are repeated.
    pub retries: u32,
    /// Finished runs, which are not run again; none: nothing is kept.
    pub store: Option<&'r RunStore>,
    /// Who is told how far the runs are.
    pub watch: &'r dyn Watch,
}

impl Default for Runner<'_> {
    /// A run in the simulator on each core, eight in the lab, nothing kept, nobody told.
    fn default() -> Self {
        Self {
            jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            parallel: NonZeroUsize::MIN.saturating_add(7),
            retries: 2,
            store: None,
            watch: &(),
        }
    }
}

impl Runner<'_> {
    /// Runs an experiment and holds it against the paper. In the lab its scenarios are simulated,
    /// too, to stand beside.
    ///
    /// *Errors:* [`ExperimentError::Simulation`], [`ExperimentError::Lab`] and those of the store.
    pub fn run(&self, experiment: &Experiment, plan: Plan) -> Result<Comparison, ExperimentError> {
        let scenarios = experiment.scenarios(plan);
        let simulate = || match scenarios.is_empty() {
            true => Ok(Vec::new()),
            false => self.simulate(&scenarios, None),
        };
        if plan.engine != Engine::Lab {
            return Ok(experiment.compare(&Ran {
                plan,
                results: &simulate()?,
                simulated: None,
                disturbed: &[],
            }));
        }
        let (results, disturbed) = self.in_lab(&scenarios)?;
        Ok(experiment.compare(&Ran {
            plan,
            results: &results,
            simulated: Some(&simulate()?),
            disturbed: &disturbed,
        }))
    }

    /// Simulates how an assumption matters.
    ///
    /// *Errors:* [`ExperimentError::Simulation`], and those of the store.
    pub fn influence(
        &self,
        experiment: &Experiment,
        sweep: &Sweep,
    ) -> Result<Influence, ExperimentError> {
        let results = self.simulate(&sweep.scenarios(experiment), None)?;
        Ok(sweep.influence(experiment, &results))
    }

    /// Simulates each of the scenarios under each law, and holds it against strict priority.
    ///
    /// *Shape:* law by law, scenario by scenario.
    ///
    /// *Errors:* [`ExperimentError::Simulation`], and those of the store.
    pub fn scores(
        &self,
        scenarios: &[&ScoreScenario],
        laws: &[Policy],
        runs: u32,
    ) -> Result<Vec<Score>, ExperimentError> {
        let plan = ScorePlan::new(scenarios, laws, runs);
        Ok(plan.scores(self.simulate(&plan.scenarios(), None)?))
    }

    /// Simulates all runs of these scenarios; `observer` sees the packets of the first.
    ///
    /// *Shape:* in the order of the scenarios.
    ///
    /// *Errors:* [`ExperimentError::Simulation`], and those of the store.
    pub fn simulate(
        &self,
        scenarios: &[Scenario],
        observer: Option<&mut (dyn Observer + Send)>,
    ) -> Result<Vec<Results>, ExperimentError> {
        self.watch.begins(scenarios);
        let outcomes = simulator::run_all(self, scenarios, observer);
        self.watch.ends();
        let results = |(scenario, runs): (&Scenario, _)| Results {
            scenario: scenario.clone(),
            runs,
        };
        Ok(scenarios.iter().zip(outcomes?).map(results).collect())
    }

    #[cfg(feature = "lab")]
    fn in_lab(&self, scenarios: &[Scenario]) -> Result<(Vec<Results>, Vec<Run>), ExperimentError> {
        let ran = self.run_in_lab(scenarios)?;
        Ok((ran.results, ran.disturbed))
    }

    #[cfg(not(feature = "lab"))]
    fn in_lab(&self, _: &[Scenario]) -> Result<(Vec<Results>, Vec<Run>), ExperimentError> {
        Err(ExperimentError::NoLab)
    }
}
