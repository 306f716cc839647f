// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};

use ebb_lab::stats::Summary;
use ebb_scenario::{Outcome, Results};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::apart::{apart, by_chance};
use crate::verdict::{Pair, judge};
use crate::{
    Bound, Engine, Experiment, ExperimentError, Figure, Measure, PaperValue, Picture, Plan, Row,
    Tolerance, Unit, Verdict,
};

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
    /// Runs that the machine disturbed, and that stayed so when they were repeated.
    #[serde(default)]
    pub disturbed_runs: u32,
    /// How far the lab's goodputs are from the simulator's in the same scenarios: the part
    /// that is with another flow, lost or gained, in the mean over cases and intervals.
    #[serde(default)]
    pub goodput_apart: Option<f64>,
    /// As far as that would be apart if both were the simulator, with as many runs: these
    /// differ by their seeds alone. None with a single run.
    #[serde(default)]
    pub apart_by_chance: Option<f64>,
    /// Row by row.
    pub cells: Vec<Cell>,
    /// Pictures, in the paper's form.
    #[serde(default)]
    pub pictures: Vec<Picture>,
}

/// What was run for an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'r> {
    /// How.
    pub plan: Plan,
    /// What came out. *Shape:* those of [`Experiment::scenarios`], in their order.
    pub results: &'r [Results],
    /// What the simulator gave for the same scenarios, when it was the lab's turn.
    pub simulated: Option<&'r [Results]>,
    /// Runs that stayed disturbed.
    pub disturbed_runs: u32,
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
    /// What the simulator gave for the lab's scenario.
    #[serde(default)]
    pub simulated: Option<f64>,
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
    /// Compares.
    pub fn compare(&self, ran: &Ran<'_>) -> Comparison {
        let runs = self.planned_runs(ran.plan);
        let cells = |row| self.compare_row(row, ran, runs);
        let cells: Vec<Cell> = self.rows.iter().flat_map(cells).collect();
        Comparison {
            id: self.id.clone(),
            title: self.title.clone(),
            engine: ran.plan.engine,
            runs,
            is_quick: runs < self.runs || ran.plan.is_quick && ran.plan.engine == Engine::Lab,
            version: env!("CARGO_PKG_VERSION").into(),
            disturbed_runs: ran.disturbed_runs,
            goodput_apart: ran
                .simulated
                .and_then(|simulated| apart(ran.results, simulated)),
            apart_by_chance: ran.simulated.and_then(by_chance),
            pictures: self.pictures(&cells, ran.results),
            cells,
        }
    }

    fn compare_row(&self, row: &Row, ran: &Ran<'_>, runs: u32) -> Vec<Cell> {
        let runs = if row.measure.is_analytic() { 1 } else { runs };
        let is_in_lab = |paper: &&PaperValue| {
            let case = self.cases.get(paper.case);
            row.measure.is_known_to_lab() && case.is_some_and(|case| case.lab.is_some())
        };
        let papers: Vec<&PaperValue> = match ran.plan.engine {
            Engine::Lab => row.paper.iter().filter(is_in_lab).collect(),
            Engine::Sim | Engine::Analytic => row.paper.iter().collect(),
        };
        let take_all = |results: &[Results], paper: &PaperValue| -> Vec<Option<f64>> {
            let value = |run| take(row, results, paper.case, run);
            (0..runs as usize).map(value).collect()
        };
        let values: Vec<Vec<Option<f64>>> = papers
            .iter()
            .map(|paper| take_all(ran.results, paper))
            .collect();
        let pair = |(paper, values): (&&PaperValue, &Vec<Option<f64>>)| {
            let known: Option<Vec<f64>> = values.iter().copied().collect();
            Pair {
                paper: paper.value,
                bound: paper.bound,
                ours: known.and_then(|known| Summary::of(&known)),
                tolerance: paper.tolerance,
            }
        };
        let pairs: Vec<Pair> = papers.iter().zip(&values).map(pair).collect();
        let verdicts = judge(&pairs);
        let cells = papers.iter().zip(values).zip(pairs.iter().zip(verdicts));
        let cell = |((paper, values), (pair, verdict)): ((&&PaperValue, _), (&Pair, Verdict))| {
            let simulated = ran.simulated.and_then(|results| {
                let known: Option<Vec<f64>> = take_all(results, paper).into_iter().collect();
                Some(Summary::of(&known?)?.mean)
            });
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
                simulated,
                tolerance: paper.tolerance,
                verdict,
                why: row.why.clone().filter(|_| verdict != Verdict::Green),
            }
        };
        cells.map(cell).collect()
    }
}

impl Cell {
    /// A value of ours as it is written: as many digits as the paper has, and three that count.
    pub fn number(&self, value: f64) -> String {
        number(value, self.paper)
    }

    /// How far the lab's value is from the simulator's, as a part of that.
    pub fn apart(&self) -> Option<f64> {
        let simulated = self.simulated.filter(|value| *value != 0.0)?;
        self.ours.map(|ours| (ours - simulated) / simulated)
    }
}

/// A value as it is written beside the paper's: as many digits as that has, and three that
/// count.
pub fn number(value: f64, paper: f64) -> String {
    let text = paper.to_string();
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let significant = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let scale = paper.abs().max(value.abs());
    match value != 0.0 && value.abs() < 1e-3 * scale.min(1.0) {
        // What is not nothing does not look like it.
        true => format!("{value:.0e}"),
        false if value == 0.0 => format!("{value:.decimals$}"),
        false => format!("{value:.0$}", decimals.max(significant).min(5)),
    }
}

pub(crate) fn take(row: &Row, results: &[Results], case: usize, run: usize) -> Option<f64> {
    let outcomes: Vec<Option<&Outcome>> = results
        .iter()
        .map(|results| results.runs.get(run))
        .collect();
    let value = row.measure.take(&outcomes, case)?;
    Some(value / row.unit.size()).filter(|value| value.is_finite())
}

impl Measure {
    /// Whether a kernel tells it, and the lab's applications do.
    fn is_known_to_lab(&self) -> bool {
        let is_unknown = |part: &&Self| {
            matches!(
                part.figure,
                Figure::LossShare { .. }
                    | Figure::ObjectTime { .. }
                    | Figure::PageTime { .. }
                    | Figure::PreBuffer { .. }
            )
        };
        !self.parts().iter().any(is_unknown)
    }
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

    /// Where it is stored below a folder, without the ending: the lab's beside the others.
    fn stem(folder: &Path, id: &str, engine: Engine) -> PathBuf {
        match engine {
            Engine::Lab => with_ending(&folder.join(id), engine.name()),
            Engine::Sim | Engine::Analytic => folder.join(id),
        }
    }

    /// Writes `ID.json`, `ID.csv` and `ID.parquet` below the folder; those of the lab are
    /// `ID.lab.json` and so on.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn store(&self, folder: &Path) -> Result<PathBuf, ExperimentError> {
        let stem = Self::stem(folder, &self.id, self.engine);
        write(&with_ending(&stem, "csv"), self.to_csv()?.as_bytes())?;
        write(&with_ending(&stem, "parquet"), &self.to_parquet()?)?;
        let path = with_ending(&stem, "json");
        write(&path, self.to_json().as_bytes())?;
        Ok(path)
    }

    /// What is stored of an experiment on an engine below the folder, if anything is.
    ///
    /// *Errors:* [`ExperimentError::File`], and [`ExperimentError::Stored`] for a file of
    /// another version.
    pub fn stored(
        folder: &Path,
        id: &str,
        engine: Engine,
    ) -> Result<Option<Self>, ExperimentError> {
        read_stored(with_ending(&Self::stem(folder, id, engine), "json"))
    }

    /// As JSON, one line, the same bytes for the same results.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(self).expect("text, numbers and lists are JSON");
        text + "\n"
    }
}

/// IDs may have dots, so the ending is added, not replaced.
pub(crate) fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ExperimentError> {
    let parent = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, bytes))
        .map_err(|source| ExperimentError::File {
            path: path.to_owned(),
            source,
        })
}

/// None: there is no such file.
pub(crate) fn read_stored<T: DeserializeOwned>(
    path: PathBuf,
) -> Result<Option<T>, ExperimentError> {
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ExperimentError::File { path, source }),
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|source| ExperimentError::Stored { path, source })
}
