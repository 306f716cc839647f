// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{read_lines, write_lines};
use crate::known::rounded;
use crate::{Comparison, Distance, DistanceOf, ExperimentError};

/// How far the lab was from the simulator, of several experiments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistanceTable {
    lines: Vec<Line>,
}

/// *Units:* Mbit/s of goodput, ms of queueing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    case: String,
    policy: String,
    interval: String,
    what: DistanceOf,
    lab: f64,
    simulator: f64,
    apart: f64,
    by_chance: Option<f64>,
    runs: u32,
    is_quick: bool,
    disturbed_runs: u32,
    version: String,
}

/// What is known to be further apart than it may be, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exceptions {
    lines: Vec<Exception>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    id: String,
    /// The case, with its policy behind a comma if it has one; `*`: each.
    case: String,
    what: DistanceOf,
    /// `chance`: no more than twice what the simulator is from itself.
    cause: String,
}

/// The cause that is tested.
const CHANCE: &str = "chance";
/// With two runs and their like a distance is up to twice what it is in the mean.
const CHANCE_MEANS: f64 = 2.0;

impl Line {
    fn new(comparison: &Comparison, distance: &Distance) -> Self {
        Self {
            id: comparison.id.clone(),
            case: distance.case.clone(),
            policy: distance.policy.clone().unwrap_or_default(),
            interval: distance.interval.clone(),
            what: distance.what,
            lab: rounded(distance.lab),
            simulator: rounded(distance.simulated),
            apart: rounded(distance.apart),
            by_chance: distance.by_chance.map(rounded),
            runs: comparison.runs,
            is_quick: comparison.is_quick,
            disturbed_runs: distance.disturbed_runs,
            version: comparison.version.clone(),
        }
    }

    fn is_beyond(&self) -> bool {
        self.apart > self.what.most_apart()
    }

    fn is_by_chance(&self) -> bool {
        let limit = self.by_chance.map(|by_chance| CHANCE_MEANS * by_chance);
        limit.is_some_and(|limit| self.apart <= limit)
    }

    fn named_case(&self) -> String {
        match &*self.policy {
            "" => self.case.clone(),
            policy => format!("{}, {policy}", self.case),
        }
    }

    fn told(&self) -> String {
        let by_chance = self
            .by_chance
            .map(|it| format!(", {:.1} % by chance", it * 100.0));
        format!(
            "{}: {}, {}, {}: {} in the lab, {} in the simulator: {:.1} % apart, not {:.0}{}",
            self.id,
            self.named_case(),
            self.interval,
            self.what,
            self.lab,
            self.simulator,
            self.apart * 100.0,
            self.what.most_apart() * 100.0,
            by_chance.unwrap_or_default()
        )
    }
}

impl Exception {
    fn is_of(&self, line: &Line) -> bool {
        let is_case = self.case == "*" || self.case == line.named_case();
        is_case && self.id == line.id && self.what == line.what
    }

    fn holds(&self, line: &Line) -> bool {
        self.is_of(line) && (self.cause != CHANCE || line.is_by_chance())
    }
}

impl DistanceTable {
    /// Of what ran in the lab.
    pub fn new(comparisons: &[Comparison]) -> Self {
        let of_one = |comparison: &Comparison| -> Vec<Line> {
            let distances = comparison.distances.iter();
            distances
                .map(|distance| Line::new(comparison, distance))
                .collect()
        };
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

    /// Writes such a file: a line for each distance.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn write(&self, path: &Path) -> Result<(), ExperimentError> {
        write_lines(path, &self.lines)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Runs that the machine disturbed, and that stayed so when they were repeated.
    pub fn disturbed_runs(&self) -> u32 {
        let of_cases = self.lines.iter().map(|line| {
            let of_case = (&line.id, &line.case, &line.policy);
            (of_case, line.disturbed_runs)
        });
        of_cases.collect::<BTreeMap<_, _>>().values().sum()
    }

    /// What is further apart than it may be and no exception, a line for each.
    pub fn beyond(&self, exceptions: &Exceptions) -> Vec<String> {
        let beyond = self.lines.iter().filter(|line| line.is_beyond());
        let is_known = |line: &&Line| exceptions.lines.iter().any(|it| it.holds(line));
        let unknown = beyond.filter(|line| !is_known(line));
        unknown.map(Line::told).collect()
    }

    /// Exceptions that nothing needs, a line for each.
    pub fn needless(&self, exceptions: &Exceptions) -> Vec<String> {
        let is_needed = |exception: &&Exception| {
            let mut beyond = self.lines.iter().filter(|line| line.is_beyond());
            beyond.any(|line| exception.holds(line))
        };
        let exceptions = exceptions.lines.iter();
        let needless = exceptions.filter(|exception| !is_needed(exception));
        needless
            .map(|it| {
                format!(
                    "{}: {}, {}: nothing of it is too far apart",
                    it.id, it.case, it.what
                )
            })
            .collect()
    }
}

impl Exceptions {
    /// Reads a CSV file: `id,case,what,cause`.
    ///
    /// *Errors:* [`ExperimentError::Values`] with the line that is wrong,
    /// [`ExperimentError::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        Ok(Self {
            lines: read_lines(path)?,
        })
    }
}
