// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs what experiments, their sweeps and scores ask for, on either engine.
#[cfg(feature = "lab")]
mod lab;
mod simulator;
mod watch;

use std::num::NonZeroUsize;
use std::path::Path;

use ebb_algorithms::Policy;
use ebb_link::Nanos;
use ebb_scenario::{Results, Scenario};
use ebb_simulator::Observer;

#[cfg(feature = "lab")]
pub use lab::LabRuns;
pub use watch::{Watch, Wave};

use crate::files::{with_ending, write};
use crate::score::{Score, ScorePlan, ScoreScenario};
use crate::{
    Case, Comparison, Engine, Experiment, ExperimentError, Influence, Plan, Ran, RunStore, Sweep,
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
    /// Results of each case are written below this folder, with everything over time.
    pub results: Option<&'r Path>,
    /// What laws are told and answer in the lab's kernel is recorded in files of this folder.
    pub traces: Option<&'r Path>,
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
            results: None,
            traces: None,
            watch: &(),
        }
    }
}

impl Runner<'_> {
    /// Runs an experiment and holds it against the paper. In the lab its scenarios are simulated,
    /// too, to stand beside, if it is for the simulator as well.
    ///
    /// *Errors:* [`ExperimentError::Simulation`], [`ExperimentError::Lab`], those of the store, and
    /// [`ExperimentError::File`].
    pub fn run(&self, experiment: &Experiment, plan: Plan) -> Result<Comparison, ExperimentError> {
        let with_series = self.results.map(|_| experiment.with_series());
        let experiment = with_series.as_ref().unwrap_or(experiment);
        let scenarios = experiment.scenarios(plan);
        let simulate = |scenarios: &[Scenario]| match scenarios.is_empty() {
            true => Ok(Vec::new()),
            false => self.simulate(scenarios, None),
        };
        let (results, simulated, disturbed) = match plan.engine {
            Engine::Lab => {
                let (results, disturbed) = self.in_lab(experiment, &scenarios)?;
                let beside = experiment.engines.contains(&Engine::Sim);
                let simulated = beside.then(|| simulate(&scenarios)).transpose()?;
                (results, simulated, disturbed)
            }
            Engine::Sim | Engine::Analytic => (simulate(&scenarios)?, None, Vec::new()),
        };
        if let Some(folder) = self.results {
            write_results(experiment, &results, folder)?;
        }
        Ok(experiment.compare(&Ran {
            plan,
            results: &results,
            simulated: simulated.as_deref(),
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
    fn in_lab(
        &self,
        experiment: &Experiment,
        scenarios: &[Scenario],
    ) -> Result<(Vec<Results>, Vec<Run>), ExperimentError> {
        let mut traces = Vec::new();
        if let Some(folder) = self.traces {
            std::fs::create_dir_all(folder).map_err(|source| ExperimentError::File {
                path: folder.to_owned(),
                source,
            })?;
            let name = |case: &Case| format!("{}-{}-", plain(&experiment.id), case.file_name());
            traces.extend(experiment.cases.iter().map(|it| folder.join(name(it))));
        }
        let ran = self.run_recorded(scenarios, &traces)?;
        Ok((ran.results, ran.disturbed))
    }

    #[cfg(not(feature = "lab"))]
    fn in_lab(
        &self,
        _: &Experiment,
        _: &[Scenario],
    ) -> Result<(Vec<Results>, Vec<Run>), ExperimentError> {
        Err(ExperimentError::NoLab)
    }
}

/// Writes what was run of each case to `ID/CASE.json` below the folder.
fn write_results(
    experiment: &Experiment,
    results: &[Results],
    folder: &Path,
) -> Result<(), ExperimentError> {
    let ran = experiment.cases.iter().zip(results);
    for (case, results) in ran.filter(|(_, results)| !results.runs.is_empty()) {
        let path = folder.join(&experiment.id).join(case.file_name());
        write(&with_ending(&path, "json"), results.to_json().as_bytes())?;
    }
    Ok(())
}

impl Experiment {
    /// The same with everything over time in its results, not only what its measures need.
    fn with_series(&self) -> Self {
        let mut all = self.clone();
        let scenarios = all.cases.iter_mut().flat_map(Case::scenarios_mut);
        for scenario in scenarios.filter(|scenario| !scenario.has_flow_series) {
            scenario.has_flow_series = true;
            scenario.bin = scenario.bin.min(Nanos::from_millis(100));
        }
        all
    }
}

impl Case {
    /// Its name and policy as part of a file's name.
    fn file_name(&self) -> String {
        let policy = self.policy.iter().map(String::as_str);
        let parts: Vec<&str> = [self.name.as_str()].into_iter().chain(policy).collect();
        plain(&parts.join("-"))
    }
}

/// In letters that need no quoting.
fn plain(text: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || "-_.+".contains(letter) => letter,
        _ => '-',
    };
    text.chars().map(letter).collect()
}
