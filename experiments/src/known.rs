// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::Path;

use crate::files::write;
use crate::{Cell, Comparison, ExperimentError, Verdict};

/// Verdicts as they were once, so that a change that makes one worse is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownVerdicts {
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Line {
    id: String,
    engine: String,
    row: String,
    case: String,
    verdict: Verdict,
}

impl Line {
    fn new(comparison: &Comparison, cell: &Cell) -> Self {
        Self {
            id: comparison.id.clone(),
            engine: comparison.engine.name().into(),
            row: cell.row.clone(),
            case: cell.case.clone(),
            verdict: cell.verdict,
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.id, &self.engine, &self.row, &self.case)
            == (&other.id, &other.engine, &other.row, &other.case)
    }
}

impl KnownVerdicts {
    /// Those of these comparisons.
    pub fn new(comparisons: &[Comparison]) -> Self {
        let of_one = |comparison| Comparison::lines(comparison);
        Self {
            lines: comparisons.iter().flat_map(of_one).collect(),
        }
    }

    /// Reads a CSV file with the columns id, engine, row, case, verdict.
    ///
    /// *Errors:* [`ExperimentError::Verdicts`] with the line that is wrong,
    /// [`ExperimentError::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = std::fs::read(path).map_err(|source| ExperimentError::File {
            path: path.to_owned(),
            source,
        })?;
        let lines = csv::Reader::from_reader(text.as_slice()).into_deserialize();
        let lines = lines.collect::<Result<_, _>>();
        let lines = lines.map_err(|source| ExperimentError::Verdicts {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { lines })
    }

    /// Writes such a file.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn write(&self, path: &Path) -> Result<(), ExperimentError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for line in &self.lines {
            writer.serialize(line)?;
        }
        let bytes = writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))?;
        write(path, &bytes)
    }

    /// What was green and is not any more, a line for each; what is not known, or not judged, is
    /// left out.
    pub fn lost(&self, comparisons: &[Comparison]) -> Vec<String> {
        let was_green = |now: &Line| {
            let known = self.lines.iter().find(|known| known.is_of(now));
            known.is_some_and(|known| known.verdict == Verdict::Green)
        };
        let now = comparisons.iter().flat_map(Comparison::lines);
        let is_worse = |now: &Line| matches!(now.verdict, Verdict::Yellow | Verdict::Red);
        let lost = now.filter(|now| is_worse(now) && was_green(now));
        let text = |line: Line| {
            format!(
                "{} ({}): {}, {} was green and is {}",
                line.id,
                line.engine,
                line.row,
                line.case,
                line.verdict.name()
            )
        };
        lost.map(text).collect()
    }
}

impl Comparison {
    /// What is judged and not green, a line for each.
    pub fn not_green(&self) -> Vec<String> {
        let (id, engine) = (&self.id, self.engine.name());
        let cells = self.cells.iter();
        let worse = cells.filter(|it| matches!(it.verdict, Verdict::Yellow | Verdict::Red));
        let text = |cell: &Cell| {
            let ours = cell.ours.map_or("none".into(), |ours| cell.number(ours));
            let policy = cell.policy.iter().map(|policy| format!(", {policy}"));
            format!(
                "{id} ({engine}): {}, {}{}: {ours}, not {}{}",
                cell.row,
                cell.case,
                policy.collect::<String>(),
                cell.bound.sign(),
                cell.paper
            )
        };
        worse.map(text).collect()
    }

    fn lines(&self) -> Vec<Line> {
        let cells = self.cells.iter();
        cells.map(|cell| Line::new(self, cell)).collect()
    }
}
