// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::Results;
use ebb_scenario::stats::Spread;
use serde::{Deserialize, Serialize};

use crate::apart::{distances, goodput_apart};
use crate::numbers::number;
use crate::verdict::Pair;
use crate::{
    Bound, Chosen, Counts, Distance, Engine, Experiment, Kind, Measure, MeasureKind, PaperValue,
    Picture, Plan, Row, Tolerance, Unit, Verdict,
};

/// The paper's values beside ours: what a result file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// ID of the experiment.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether it is no paper's but our own: `paper` is a bound of ours then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_own: bool,
    /// Whether these are some of its cases only, or under other policies than its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_part: bool,
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
    /// The same by cases and intervals, and how far queueing delays are apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Distance>,
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
    /// Runs that stayed disturbed: place of the case, and number.
    pub disturbed: &'r [(usize, u32)],
}

/// A value of the paper beside ours. *Units:* `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the row.
    pub row: String,
    /// Name of the case; empty for a formula.
    pub case: String,
    /// What the case was put under in place of the laws of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What values are written in.
    pub unit: Unit,
    /// The paper's value.
    pub paper: f64,
    /// Whether that is a value or a bound.
    #[serde(default)]
    pub bound: Bound,
    /// The mean of our runs; none: it could not be measured in each of them, or, for what is
    /// itself a mean over what came (objects, pages), in nine of ten.
    pub ours: Option<f64>,
    /// Half of its 95 % interval by Student's t; none with one run.
    pub half_width_95: Option<f64>,
    /// Each run; none: it could not be measured.
    pub values: Vec<Option<f64>>,
    /// Numbers, from 0, of the runs that stayed disturbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_runs: Vec<u32>,
    /// What the simulator gave for the lab's scenario.
    #[serde(default)]
    pub simulated: Option<f64>,
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// By what the set-up was chosen.
    #[serde(default)]
    pub chosen: Chosen,
    /// How far ours may be away.
    pub tolerance: Tolerance,
    /// How close it is.
    pub verdict: Verdict,
    /// Why it differs, as far as is known.
    pub why: Option<String>,
}

impl Experiment {
    /// Compares.
    pub fn compare(&self, ran: &Ran<'_>) -> Comparison {
        let runs = self.planned_runs(ran.plan);
        let cells = |row| self.compare_row(row, ran, runs);
        let cells: Vec<Cell> = self.rows.iter().flat_map(cells).collect();
        let distances = distances(&self.cases, ran);
        let [goodput_apart, apart_by_chance] = goodput_apart(&distances);
        Comparison {
            id: self.id.clone(),
            title: self.title.clone(),
            is_own: self.is_own,
            is_part: !self.is_whole,
            engine: ran.plan.engine,
            runs,
            is_quick: runs < self.runs || ran.plan.is_quick && ran.plan.engine == Engine::Lab,
            version: env!("CARGO_PKG_VERSION").into(),
            disturbed_runs: ran.disturbed.len() as u32,
            goodput_apart,
            apart_by_chance,
            distances,
            pictures: self.pictures(&cells, ran.results),
            cells,
        }
    }

    fn compare_row(&self, row: &Row, ran: &Ran<'_>, runs: u32) -> Vec<Cell> {
        let runs = if row.measure.is_analytic() { 1 } else { runs };
        let papers = self.compared(row, ran.plan);
        let taken = |results: &[Results], paper: &PaperValue| -> Vec<Option<f64>> {
            let value = |run| take(row, results, paper.case, run);
            (0..runs as usize).map(value).collect()
        };
        let cell = |paper: &&PaperValue| Cell {
            disturbed_runs: disturbed_runs(row, paper, ran.disturbed),
            simulated: ran
                .simulated
                .and_then(|results| Some(spread(row, &taken(results, paper))?.mean)),
            ..self.cell(row, paper, taken(ran.results, paper), ran.plan)
        };
        papers.iter().map(cell).collect()
    }

    /// With what the runs gave, and nothing of other engines.
    fn cell(&self, row: &Row, paper: &PaperValue, values: Vec<Option<f64>>, plan: Plan) -> Cell {
        let case = self.cases.get(paper.case);
        let ours = spread(row, &values);
        let pair = Pair {
            paper: paper.value,
            bound: paper.bound,
            ours,
            tolerance: paper.tolerance,
            is_of_mean: self.is_own || row.measure.is_analytic(),
            is_shortened: self.is_of_shortened(row, paper, plan),
        };
        let verdict = pair.verdict();
        let is_off = matches!(verdict, Verdict::Yellow | Verdict::Red);
        let of_case = case.map_or(Chosen::default(), |case| case.chosen);
        Cell {
            row: row.name.clone(),
            case: case.map_or(String::new(), |case| case.name.clone()),
            policy: row.policy.clone(),
            unit: row.unit,
            paper: paper.value,
            bound: paper.bound,
            ours: ours.map(|ours| ours.mean),
            half_width_95: ours.and_then(|ours| ours.half_width_95),
            values,
            disturbed_runs: Vec::new(),
            simulated: None,
            kind: row.kind,
            chosen: row.chosen.map_or(of_case, |of_row| of_row.max(of_case)),
            tolerance: paper.tolerance,
            verdict,
            why: row.why.clone().filter(|_| is_off),
        }
    }

    /// What of a row the engine can tell, and was run.
    fn compared<'r>(&self, row: &'r Row, plan: Plan) -> Vec<&'r PaperValue> {
        let is_told = |paper: &&PaperValue| {
            let mut of_row = row.measure.cases().chain([paper.case]);
            let is_run = of_row.all(|case| self.cases.get(case).is_none_or(|it| it.is_run(plan)));
            let case = self.cases.get(paper.case);
            let is_in_lab =
                || row.measure.is_known_to_lab() && case.is_some_and(|case| case.lab.is_some());
            is_run && (plan.engine != Engine::Lab || is_in_lab())
        };
        row.paper.iter().filter(is_told).collect()
    }

    /// Whether a value is of a shortened case, its own or one that the measure names.
    fn is_of_shortened(&self, row: &Row, paper: &PaperValue, plan: Plan) -> bool {
        let mut cases = row.measure.cases().chain([paper.case]);
        cases.any(|case| self.is_shortened(plan, case))
    }
}

/// Of the case of a value, and of those that its measure names.
fn disturbed_runs(row: &Row, paper: &PaperValue, disturbed: &[(usize, u32)]) -> Vec<u32> {
    let is_of = |place: usize| paper.case == place || row.measure.cases().any(|it| it == place);
    let own = disturbed.iter().filter(|(place, _)| is_of(*place));
    let mut runs: Vec<u32> = own.map(|(_, run)| *run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

impl Cell {
    /// Whether it is a value that its paper reports, and that its set-up was not chosen by.
    pub fn counts(&self) -> bool {
        self.kind.counts() && self.chosen != Chosen::Fitted
    }

    /// Why it does not count, if so.
    pub fn is_shown_as(&self) -> Option<&'static str> {
        match (self.chosen, self.kind.counts()) {
            (Chosen::Fitted, _) => Some(Chosen::Fitted.name()),
            (_, false) => Some(self.kind.name()),
            (_, true) => None,
        }
    }

    /// That some runs had nothing of which this is the mean, where it is told nevertheless.
    pub fn missing_runs(&self) -> Option<String> {
        let missing = self.values.iter().filter(|value| value.is_none()).count();
        let is_told = self.ours.is_some() && missing > 0;
        let runs = self.values.len();
        is_told.then(|| {
            let known = runs - missing;
            format!(
                "{}, {}: of {known} of {runs} runs, none came in the others",
                self.row, self.case
            )
        })
    }

    /// The least and the greatest of several runs.
    pub fn range(&self) -> Option<[f64; 2]> {
        let known: Vec<f64> = self.values.iter().copied().flatten().collect();
        let spread = Spread::of(&known).filter(|spread| spread.runs > 1)?;
        Some([spread.min, spread.max])
    }

    /// A value of ours as it is written: as many digits as the paper has, and three that count.
    pub fn number(&self, value: f64) -> String {
        number(value, self.paper)
    }

    /// How far ours may be from the paper's value; none: that is a bound, which has no tolerance,
    /// or nothing is judged. *Units:* `unit`.
    pub fn within(&self) -> Option<f64> {
        let is_held = self.bound == Bound::Exact && self.verdict != Verdict::Shortened;
        is_held.then(|| self.tolerance.around(self.paper))
    }

    /// How far the lab's value is from the simulator's, as a part of that.
    pub fn apart(&self) -> Option<f64> {
        let simulated = self.simulated.filter(|value| *value != 0.0)?;
        self.ours.map(|ours| (ours - simulated) / simulated)
    }
}

impl Comparison {
    /// Why rows differ, each once: row and reason. What was shortened differs from the paper's
    /// scenario anyway, so there it is told only if somebody looked.
    pub fn reasons(&self) -> Vec<(&str, &str)> {
        let mut reasons: Vec<(&str, &str)> = Vec::new();
        for cell in &self.cells {
            let why = match cell.verdict {
                Verdict::Green => None,
                Verdict::Yellow | Verdict::Shortened => cell.why.as_deref(),
                Verdict::Red => Some(cell.why.as_deref().unwrap_or("not looked for yet")),
            };
            let is_told = reasons.iter().any(|(row, _)| *row == cell.row);
            reasons.extend(why.filter(|_| !is_told).map(|why| (cell.row.as_str(), why)));
        }
        reasons
    }
}

/// Over the runs. A value that is missing in one of them is a transfer that did not end, and
/// without it the mean would be too good. Means over what came (objects, pages) are told if one
/// run in ten at most had nothing to have a mean of.
pub(crate) fn spread(row: &Row, values: &[Option<f64>]) -> Option<Spread> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let missing = values.len() - known.len();
    let may_miss = match row.measure.is_of_what_came() {
        true => values.len() / 10,
        false => 0,
    };
    Spread::of(&known).filter(|_| missing <= may_miss)
}

pub(crate) fn take(row: &Row, results: &[Results], case: usize, run: usize) -> Option<f64> {
    let value = row.measure.take(results, case, run)?;
    Some(value / row.unit.size()).filter(|value| value.is_finite())
}

impl MeasureKind {
    /// Whether it is a mean over as many objects or pages as there were.
    fn is_of_what_came(&self) -> bool {
        matches!(
            self,
            Self::ObjectTime { .. }
                | Self::PageTime { .. }
                | Self::Timeouts {
                    per_object: true,
                    ..
                }
        )
    }
}

impl Measure {
    /// Whether a kernel tells it, and the lab's applications do.
    fn is_known_to_lab(&self) -> bool {
        let is_known = |part: &&Self| {
            !part.kind.is_of_what_came()
                && !matches!(
                    part.kind,
                    MeasureKind::LossShare { .. } | MeasureKind::PreBuffer { .. }
                )
        };
        self.parts().iter().all(is_known)
    }

    /// Whether it is a mean over as many objects or pages as there were.
    fn is_of_what_came(&self) -> bool {
        self.parts().iter().any(|part| part.kind.is_of_what_came())
    }
}

impl Comparison {
    /// How many cells that count have each verdict.
    pub fn counts(&self) -> Counts {
        self.cells.iter().collect()
    }

    /// The same of those whose set-up was chosen so; what was fitted counts for nothing elsewhere.
    pub fn counts_of(&self, chosen: Chosen) -> Counts {
        let cells = self.cells.iter();
        let of_kind = cells.filter(|cell| cell.chosen == chosen && cell.kind.counts());
        of_kind.map(|cell| cell.verdict).collect()
    }
}
