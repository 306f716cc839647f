// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};

use ebb_lab::stats::Summary;
use ebb_scenario::{Outcome, Results};
use serde::{Deserialize, Serialize};

use crate::verdict::{Pair, judge};
use crate::{Bound, Engine, Experiment, ExperimentError, Row, Tolerance, Unit, Verdict};

/// The paper's values beside ours: what a result file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// ID of the experiment.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What ran it.
    pub engine: Engine,
    /// Runs of each case.
    pub runs: u32,
    /// Whether these are fewer than the paper's statistic asks for.
    pub is_quick: bool,
    /// Version of Ebb.
    pub version: String,
    /// Row by row.
    pub cells: Vec<Cell>,
}

/// A value of the paper beside ours. *Units:* `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the row.
    pub row: String,
    /// Name of the case; empty for a formula.
    pub case: String,
    /// What values are written in.
    pub unit: Unit,
    /// The paper's value.
    pub paper: f64,
    /// Whether that is a value or a bound.
    #[serde(default)]
    pub bound: Bound,
    /// The mean of our runs; none: it could not be measured in each of them.
    pub ours: Option<f64>,
    /// Half of its 95 % interval by Student's t; none with one run.
    pub half_width_95: Option<f64>,
    /// Each run; none: it could not be measured.
    pub values: Vec<Option<f64>>,
    /// How far ours may be away.
    pub tolerance: Tolerance,
    /// How close it is.
    pub verdict: Verdict,
    /// Why it differs, as far as is known.
    pub why: Option<String>,
}

/// How many cells have each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Green ones.
    pub green: usize,
    /// Yellow ones.
    pub yellow: usize,
    /// Red ones.
    pub red: usize,
}

impl Experiment {
    /// Compares. *Shape:* `results` are those of [`Experiment::scenarios`], in their order.
    pub fn compare(&self, results: &[Results], is_quick: bool) -> Comparison {
        let runs = self.planned_runs(is_quick);
        let cells = |row| self.compare_row(row, results, runs);
        Comparison {
            id: self.id.clone(),
            title: self.title.clone(),
            engine: self.engine,
            runs,
            is_quick: runs < self.runs,
            version: env!("CARGO_PKG_VERSION").into(),
            cells: self.rows.iter().flat_map(cells).collect(),
        }
    }

    fn compare_row(&self, row: &Row, results: &[Results], runs: u32) -> Vec<Cell> {
        let runs = if row.measure.is_analytic() { 1 } else { runs };
        let values: Vec<Vec<Option<f64>>> = row
            .paper
            .iter()
            .map(|paper| {
                let value = |run| take(row, results, paper.case, run);
                (0..runs as usize).map(value).collect()
            })
            .collect();
        let pair = |(paper, values): (&crate::PaperValue, &Vec<Option<f64>>)| {
            let known: Option<Vec<f64>> = values.iter().copied().collect();
            Pair {
                paper: paper.value,
                bound: paper.bound,
                ours: known.and_then(|known| Summary::of(&known)),
                tolerance: paper.tolerance,
            }
        };
        let pairs: Vec<Pair> = row.paper.iter().zip(&values).map(pair).collect();
        let verdicts = judge(&pairs);
        let cells = row.paper.iter().zip(values).zip(pairs.iter().zip(verdicts));
        let cell =
            |((paper, values), (pair, verdict)): ((&crate::PaperValue, _), (&Pair, Verdict))| {
                Cell {
                    row: row.name.clone(),
                    case: self
                        .cases
                        .get(paper.case)
                        .map_or(String::new(), |case| case.name.clone()),
                    unit: row.unit,
                    paper: paper.value,
                    bound: paper.bound,
                    ours: pair.ours.map(|ours| ours.mean),
                    half_width_95: pair.ours.and_then(|ours| ours.half_width_95),
                    values,
                    tolerance: paper.tolerance,
                    verdict,
                    why: row.why.clone().filter(|_| verdict != Verdict::Green),
                }
            };
        cells.map(cell).collect()
    }
}

fn take(row: &Row, results: &[Results], case: usize, run: usize) -> Option<f64> {
    let outcomes: Option<Vec<&Outcome>> = results
        .iter()
        .map(|results| results.runs.get(run))
        .collect();
    let value = row.measure.take(&outcomes?, case)?;
    Some(value / row.unit.size()).filter(|value| value.is_finite())
}

impl Comparison {
    /// How many cells have each verdict.
    pub fn counts(&self) -> Counts {
        let count = |verdict| {
            self.cells
                .iter()
                .filter(|cell| cell.verdict == verdict)
                .count()
        };
        Counts {
            green: count(Verdict::Green),
            yellow: count(Verdict::Yellow),
            red: count(Verdict::Red),
        }
    }

    /// Where it is stored below a folder, without the ending.
    fn stem(folder: &Path, id: &str) -> PathBuf {
        folder.join(id)
    }

    /// Writes `ID.json`, `ID.csv` and `ID.parquet` below the folder.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn store(&self, folder: &Path) -> Result<PathBuf, ExperimentError> {
        let stem = Self::stem(folder, &self.id);
        let write = |path: &Path, bytes: &[u8]| {
            let parent = path.parent().unwrap_or(Path::new(""));
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(path, bytes))
                .map_err(|source| ExperimentError::File {
                    path: path.to_owned(),
                    source,
                })
        };
        write(&with_ending(&stem, "csv"), self.to_csv()?.as_bytes())?;
        write(&with_ending(&stem, "parquet"), &self.to_parquet()?)?;
        let path = with_ending(&stem, "json");
        write(&path, self.to_json().as_bytes())?;
        Ok(path)
    }

    /// What is stored of an experiment below the folder, if anything is.
    ///
    /// *Errors:* [`ExperimentError::File`], and [`ExperimentError::Stored`] for a file of
    /// another version.
    pub fn stored(folder: &Path, id: &str) -> Result<Option<Self>, ExperimentError> {
        let path = with_ending(&Self::stem(folder, id), "json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ExperimentError::File { path, source }),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|source| ExperimentError::Stored { path, source })
    }

    /// As JSON, one line, the same bytes for the same results.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(self).expect("text, numbers and lists are JSON");
        text + "\n"
    }
}

/// IDs may have dots, so the ending is added, not replaced.
fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
