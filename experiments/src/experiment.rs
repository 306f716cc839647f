// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::Scenario;
use serde::{Deserialize, Serialize};

use crate::{Bound, Measure, Tolerance, Unit};

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

/// A table or figure of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `paper/experiment`.
    pub id: String,
    /// What it is about, in one line.
    pub title: String,
    /// What the paper did.
    pub did: String,
    /// What the paper leaves open, and what was assumed.
    pub assumed: Vec<String>,
    /// What it can be run on.
    pub engine: Engine,
    /// Runs of each case.
    pub runs: u32,
    /// Runs of each case when it has to be quick.
    pub quick_runs: u32,
    /// What is run. *Shape:* names differ.
    pub cases: Vec<Case>,
    /// What is compared.
    pub rows: Vec<Row>,
}

/// A scenario, under a name.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name within the experiment.
    pub name: String,
    /// What is run.
    pub scenario: Scenario,
}

/// One quantity in several cases.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// How it is taken from a run.
    pub measure: Measure,
    /// What values are written in.
    pub unit: Unit,
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
    /// What has to be run for it, in the order of the cases, with the number of runs.
    pub fn scenarios(&self, is_quick: bool) -> Vec<Scenario> {
        let runs = self.planned_runs(is_quick);
        let scenario = |case: &Case| Scenario {
            name: self.id.clone(),
            runs,
            ..case.scenario.clone()
        };
        self.cases.iter().map(scenario).collect()
    }

    /// Runs of each case.
    pub fn planned_runs(&self, is_quick: bool) -> u32 {
        if is_quick { self.quick_runs } else { self.runs }
    }
}
