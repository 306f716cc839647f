// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::Path;

use ebb_scenario::{Results, Scenario};
use serde::{Deserialize, Serialize};

use crate::comparison::{spread, take};
use crate::files::{read_stored, with_ending, write};
use crate::{Bound, Experiment, ExperimentError, Unit};

/// An assumption and the values with which its influence is shown.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is assumed.
    pub assumption: String,
    /// The key of the scenario that it is in.
    pub key: String,
    /// What the key is set to, as written.
    pub values: Vec<String>,
    /// Places of the rows that are looked at.
    pub rows: Vec<usize>,
    /// Places of the cases in which the key is set.
    pub cases: Vec<usize>,
    /// Runs of each.
    pub runs: u32,
    /// What is run. *Shape:* by value, then by case.
    pub(crate) scenarios: Vec<Vec<Scenario>>,
}

/// How values move with an assumption: what a result file holds a list of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Influence {
    /// What is assumed.
    pub assumption: String,
    /// The key of the scenario that it is in.
    pub key: String,
    /// What it was set to.
    pub values: Vec<String>,
    /// Runs of each.
    pub runs: u32,
    /// Cells of the table.
    pub lines: Vec<InfluenceLine>,
}

/// A cell under each value of an assumption. *Units:* `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfluenceLine {
    /// Name of the row.
    pub row: String,
    /// Name of the case.
    pub case: String,
    /// What values are written in.
    pub unit: Unit,
    /// What the paper has.
    pub paper: f64,
    /// Whether that is a value or a bound.
    #[serde(default)]
    pub bound: Bound,
    /// The mean of our runs under each value; none: it could not be measured.
    pub ours: Vec<Option<f64>>,
}

impl Sweep {
    /// What has to be run for it: with each value all cases that are looked at.
    pub fn scenarios(&self, experiment: &Experiment) -> Vec<Scenario> {
        let needed = self.needed(experiment);
        let of_value = |cases: &Vec<Scenario>| {
            let scenario = |(place, scenario): (usize, &Scenario)| Scenario {
                name: format!("{} {}", experiment.id, self.key),
                runs: if needed.contains(&place) {
                    self.runs
                } else {
                    0
                },
                ..scenario.clone()
            };
            let cases = cases.iter().enumerate();
            cases.map(scenario).collect::<Vec<_>>()
        };
        self.scenarios.iter().flat_map(of_value).collect()
    }

    /// How values move. *Shape:* `results` are those of [`Self::scenarios`], in their order.
    pub fn influence(&self, experiment: &Experiment, results: &[Results]) -> Influence {
        let by_value: Vec<&[Results]> = results.chunks(self.scenarios[0].len().max(1)).collect();
        let mut lines = Vec::new();
        for row in self.rows.iter().map(|place| &experiment.rows[*place]) {
            for paper in row.paper.iter().filter(|it| self.cases.contains(&it.case)) {
                let ours = by_value.iter().map(|results| {
                    let values: Vec<Option<f64>> = (0..self.runs as usize)
                        .map(|run| take(row, results, paper.case, run))
                        .collect();
                    Some(spread(row, &values)?.mean)
                });
                lines.push(InfluenceLine {
                    row: row.name.clone(),
                    case: experiment.cases[paper.case].name.clone(),
                    unit: row.unit,
                    paper: paper.value,
                    bound: paper.bound,
                    ours: ours.collect(),
                });
            }
        }
        Influence {
            assumption: self.assumption.clone(),
            key: self.key.clone(),
            values: self.values.clone(),
            runs: self.runs,
            lines,
        }
    }

    /// Cases of the rows, and those that their measures name.
    fn needed(&self, experiment: &Experiment) -> Vec<usize> {
        let rows = self.rows.iter().map(|place| &experiment.rows[*place]);
        let of_row = |row: &crate::Row| {
            let named = row.measure.cases();
            let own = row.paper.iter().map(|paper| paper.case);
            let own = own.filter(|case| self.cases.contains(case));
            named.chain(own).collect::<Vec<_>>()
        };
        rows.flat_map(of_row).collect()
    }
}

impl Influence {
    /// Writes the influences of an experiment's assumptions below the folder.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn store(all: &[Self], folder: &Path, id: &str) -> Result<(), ExperimentError> {
        let text = serde_json::to_string(all).expect("text, numbers and lists are JSON");
        let path = with_ending(&folder.join(id), "assumptions.json");
        write(&path, text.as_bytes())
    }

    /// What is stored of an experiment below the folder.
    ///
    /// *Errors:* [`ExperimentError::File`], and [`ExperimentError::Stored`] for a file of
    /// another version.
    pub fn stored(folder: &Path, id: &str) -> Result<Vec<Self>, ExperimentError> {
        let path = with_ending(&folder.join(id), "assumptions.json");
        Ok(read_stored(path)?.unwrap_or_default())
    }
}
