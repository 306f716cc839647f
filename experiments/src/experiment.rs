// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};

use ebb_scenario::Scenario;
use serde::{Deserialize, Serialize};

use crate::{Bound, Chosen, Kind, Measure, Plot, Sweep, Tolerance, Unit};

/// What runs an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The packet simulator.
    Sim,
    /// Real kernel TCP over an emulated link.
    Lab,
    /// A formula: nothing is run.
    Analytic,
}

impl Engine {
    /// How files and tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Lab => "lab",
            Self::Analytic => "analytic",
        }
    }
}

/// How an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// By what.
    pub engine: Engine,
    /// With fewer runs than the paper's statistic asks for and, in the lab, what the file
    /// has to make them shorter.
    pub is_quick: bool,
}

/// A table or figure of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `paper/experiment`.
    pub id: String,
    /// Its file.
    pub file: PathBuf,
    /// Whether it is no paper's but our own: what its rows have are bounds that we set ourselves.
    pub is_own: bool,
    /// What it is about, in one line.
    pub title: String,
    /// What the paper did.
    pub did: String,
    /// What the paper leaves open of the set-up, and what was assumed.
    pub assumed: Vec<String>,
    /// How the paper's words and values were taken, and what stands in for what cannot be
    /// had: nothing that is set in a scenario.
    pub taken: Vec<String>,
    /// What it can be run on. *Shape:* at least one; the first is the usual one.
    pub engines: Vec<Engine>,
    /// Runs of each case.
    pub runs: u32,
    /// Runs of each case when it has to be quick.
    pub quick_runs: u32,
    /// The same in the lab.
    pub lab_quick_runs: u32,
    /// In place of all of these.
    pub chosen_runs: Option<u32>,
    /// Whether it is as its file has it: all cases, under the laws that these name.
    pub is_whole: bool,
    /// What is run. *Shape:* names differ.
    pub cases: Vec<Case>,
    /// What is compared.
    pub rows: Vec<Row>,
    /// Pictures, in the paper's form.
    pub plots: Vec<Plot>,
    /// Assumptions whose influence can be shown.
    pub sweeps: Vec<Sweep>,
}

/// A scenario, under a name.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name within the experiment.
    pub name: String,
    /// What it was put under in place of the laws of its file.
    pub policy: Option<String>,
    /// Whether a row needs it.
    pub is_needed: bool,
    /// The scenario's file.
    pub file: PathBuf,
    /// What is set in it, as `ebb sim run --set` has it.
    pub settings: Vec<String>,
    /// By what its set-up was chosen.
    pub chosen: Chosen,
    /// Whether it stands in the second column, which is left out when it has to be quick.
    pub is_second: bool,
    /// What is run.
    pub scenario: Scenario,
    /// The same for the lab; none: the lab does not run it.
    pub lab: Option<LabScenario>,
}

/// What of a case is run in the lab.
#[derive(Clone, Debug)]
pub struct LabScenario {
    /// What is set beyond the case's.
    pub settings: Vec<String>,
    /// What is set beyond that when it has to be quick.
    pub quick_settings: Vec<String>,
    /// In full.
    pub whole: Scenario,
    /// When it has to be quick.
    pub quick: Scenario,
}

/// One quantity in several cases.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// What its cases were put under in place of the laws of their files.
    pub policy: Option<String>,
    /// How it is taken from a run.
    pub measure: Measure,
    /// What values are written in.
    pub unit: Unit,
    /// What its values are.
    pub kind: Kind,
    /// By what the set-up was chosen; none: as its cases have it.
    pub chosen: Option<Chosen>,
    /// What the paper has. *Shape:* at least one.
    pub paper: Vec<PaperValue>,
    /// Why ours differs, as far as is known.
    pub why: Option<String>,
}

/// What the paper has for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperValue {
    /// Place of the case in [`Experiment::cases`].
    pub case: usize,
    /// The value. *Units:* the row's.
    pub value: f64,
    /// Whether it is a value or a bound.
    pub bound: Bound,
    /// How far ours may be away from it. *Units:* the row's.
    pub tolerance: Tolerance,
}

impl Experiment {
    /// What has to be run for it, in the order of the cases, with the number of runs: none of
    /// what the engine does not run.
    pub fn scenarios(&self, plan: Plan) -> Vec<Scenario> {
        let runs = self.planned_runs(plan);
        let scenario = |case: &Case| {
            let (scenario, runs) = match (plan.engine, &case.lab) {
                (Engine::Lab, Some(lab)) if plan.is_quick => (&lab.quick, runs),
                (Engine::Lab, Some(lab)) => (&lab.whole, runs),
                (Engine::Lab, None) => (&case.scenario, 0),
                (Engine::Sim | Engine::Analytic, _) => (&case.scenario, runs),
            };
            Scenario {
                name: self.id.clone(),
                runs: if case.is_run(plan) { runs } else { 0 },
                ..scenario.clone()
            }
        };
        self.cases.iter().map(scenario).collect()
    }

    /// Its file and those of its scenarios, each once.
    pub fn files(&self) -> Vec<&Path> {
        let mut files = vec![self.file.as_path()];
        for case in &self.cases {
            if !files.contains(&case.file.as_path()) {
                files.push(&case.file);
            }
        }
        files
    }

    /// Whether what is run of a case is shorter than the paper's scenario, so that its values say
    /// nothing of the paper's: what the file sets with `--quick` in the lab changes it.
    pub(crate) fn is_shortened(&self, plan: Plan, case: usize) -> bool {
        let lab = self.cases.get(case).and_then(|case| case.lab.as_ref());
        let is_other = |lab: &LabScenario| lab.quick != lab.whole;
        plan.engine == Engine::Lab && plan.is_quick && lab.is_some_and(is_other)
    }

    /// Runs of each case.
    pub fn planned_runs(&self, plan: Plan) -> u32 {
        let usual = match (plan.is_quick, plan.engine) {
            (false, _) => self.runs,
            (true, Engine::Lab) => self.lab_quick_runs,
            (true, Engine::Sim | Engine::Analytic) => self.quick_runs,
        };
        self.chosen_runs.unwrap_or(usual)
    }
}

impl Case {
    /// Whether a row needs it.
    pub(crate) fn is_run(&self, plan: Plan) -> bool {
        self.is_needed && !(self.is_second && plan.is_quick)
    }

    /// All that may be run for it.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        let lab = self.lab.iter().flat_map(|lab| [&lab.whole, &lab.quick]);
        [&self.scenario].into_iter().chain(lab)
    }

    /// The same, to be changed.
    pub(crate) fn scenarios_mut(&mut self) -> impl Iterator<Item = &mut Scenario> {
        let lab = self.lab.iter_mut();
        let lab = lab.flat_map(|lab| [&mut lab.whole, &mut lab.quick]);
        [&mut self.scenario].into_iter().chain(lab)
    }
}
