// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{read_lines, write_lines};
use crate::{Bound, Cell, Chosen, Comparison, ExperimentError, Kind, Unit, Verdict};

/// Values as they were once, so that a change that moves one is seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownValues {
    lines: Vec<Line>,
}

/// A value as it was. *Units:* `unit`, of all numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    engine: String,
    row: String,
    case: String,
    /// Empty: that of the paper.
    #[serde(default)]
    policy: String,
    is: Kind,
    chosen: Chosen,
    unit: Unit,
    bound: Bound,
    paper: f64,
    tolerance: Option<f64>,
    ours: Option<f64>,
    half_width_95: Option<f64>,
    runs: usize,
    verdict: Verdict,
    version: String,
}

/// Numbers are written with so many digits that count.
const DIGITS: i32 = 6;

impl Line {
    fn new(comparison: &Comparison, cell: &Cell) -> Self {
        Self {
            id: comparison.id.clone(),
            engine: comparison.engine.name().into(),
            row: cell.row.clone(),
            case: cell.case.clone(),
            policy: cell.policy.clone().unwrap_or_default(),
            is: cell.kind,
            chosen: cell.chosen,
            unit: cell.unit,
            bound: cell.bound,
            paper: cell.paper,
            tolerance: cell.within().map(rounded),
            ours: cell.ours.map(rounded),
            half_width_95: cell.half_width_95.map(rounded),
            runs: cell.values.len(),
            verdict: cell.verdict,
            version: comparison.version.clone(),
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        let Self {
            id,
            engine,
            row,
            case,
            policy,
            ..
        } = other;
        let named = [&self.id, &self.engine, &self.row, &self.case, &self.policy];
        named == [id, engine, row, case, policy]
    }

    /// Whether this is where it was: in its interval, or the same where one run had none.
    fn holds(&self, now: &Self) -> bool {
        match (self.ours, now.ours) {
            (None, None) => true,
            (Some(was), Some(is)) => {
                let rounding = was.abs() * 10_f64.powi(1 - DIGITS);
                (is - was).abs() <= self.half_width_95.unwrap_or(0.0) + rounding
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn told(&self) -> String {
        let half = self.half_width_95.map(|half| format!(" ± {half}"));
        let value = self.ours.map_or("none".into(), |ours| ours.to_string());
        value + &half.unwrap_or_default()
    }
}

/// To the digits that count in files of values.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - value.abs().log10().floor() as i32;
    let text = match usize::try_from(places) {
        Ok(places) => format!("{value:.places$}"),
        Err(_) => format!("{value:.0}"),
    };
    text.parse().unwrap_or(value)
}

impl KnownValues {
    /// Those of these comparisons.
    pub fn new(comparisons: &[Comparison]) -> Self {
        let of_one = |comparison| Comparison::lines(comparison);
        Self {
            lines: comparisons.iter().flat_map(of_one).collect(),
        }
    }

    /// Reads a CSV file as [`Self::write`] makes it.
    ///
    /// *Errors:* [`ExperimentError::Values`] with the line that is wrong,
    /// [`ExperimentError::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        Ok(Self {
            lines: read_lines(path)?,
        })
    }

    /// Writes such a file: a line for each value.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn write(&self, path: &Path) -> Result<(), ExperimentError> {
        write_lines(path, &self.lines)
    }

    /// What has left its interval, a line for each; what is not known, or not judged, is left out.
    pub fn moved(&self, comparisons: &[Comparison]) -> Vec<String> {
        let now = comparisons.iter().flat_map(Comparison::lines);
        let moved = now.filter_map(|now| {
            let was = self.lines.iter().find(|known| known.is_of(&now))?;
            let is_judged = now.verdict != Verdict::Shortened;
            (is_judged && !was.holds(&now)).then(|| {
                format!(
                    "{} ({}): {}, {} was {} and is {}",
                    now.id,
                    now.engine,
                    now.row,
                    now.case,
                    was.told(),
                    now.told()
                )
            })
        });
        moved.collect()
    }
}

impl Comparison {
    /// What counts and is not green, a line for each.
    pub fn not_green(&self) -> Vec<String> {
        let (id, engine) = (&self.id, self.engine.name());
        let cells = self.cells.iter().filter(|cell| cell.counts());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.333333"),
            (-1234.5678, "-1234.57"),
            (1_234_567.8, "1234568"),
            (1.234_567_8e-7, "0.000000123457"),
        ] {
            assert_eq!(rounded(value).to_string(), text);
        }
    }
}
