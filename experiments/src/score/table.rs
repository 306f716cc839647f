// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

use super::Distances;
use crate::ExperimentError;

/// A law in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The law with its parameters.
    pub law: String,
    /// Which window it sets: `receiver` or `sender`.
    pub side: String,
    /// The scenario's name.
    pub scenario: String,
    /// Runs that the distances are means of.
    pub runs: u32,
    /// How far it is from strict priority.
    pub distances: Distances,
    /// The command that runs this cell by itself.
    pub command: String,
}

/// The mean of each law over its scenarios, the one nearest to strict priority first: by
/// what it takes from others and what it leaves unused, both as shares.
pub fn summaries(scores: &[Score]) -> Vec<(String, Distances)> {
    let mut laws: Vec<&str> = Vec::new();
    for score in scores {
        if !laws.contains(&score.law.as_str()) {
            laws.push(&score.law);
        }
    }
    let of_law = |law: &str| {
        let own = scores.iter().filter(|score| score.law == law);
        Distances::mean(own.map(|score| &score.distances))
    };
    let mut means: Vec<(String, Distances)> = laws
        .into_iter()
        .map(|law| (law.to_owned(), of_law(law)))
        .collect();
    let distance = |one: &Distances| {
        one.goodput_taken.unwrap_or(0.0).max(0.0) + 1.0 - one.spare_used.unwrap_or(1.0)
    };
    means.sort_by(|left, right| distance(&left.1).total_cmp(&distance(&right.1)));
    means
}

/// As JSON, the same bytes for the same results.
pub fn scores_to_json(scores: &[Score]) -> String {
    let text = serde_json::to_string(scores).expect("text, numbers and lists are JSON");
    text + "\n"
}

/// As CSV: a line for each cell, units in the heads of columns.
///
/// *Errors:* the CSV library's, which writing to memory does not have.
pub fn scores_to_csv(scores: &[Score]) -> Result<String, ExperimentError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let values = Distances::default().values().map(|(name, _)| name);
    let heads = ["law", "side", "scenario", "runs"]
        .into_iter()
        .chain(values);
    writer.write_record(heads.chain(["command"]))?;
    for score in scores {
        let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let values = score.distances.values().map(|(_, value)| text(value));
        let runs = score.runs.to_string();
        let names = [
            score.law.clone(),
            score.side.clone(),
            score.scenario.clone(),
            runs,
        ];
        let line = names
            .into_iter()
            .chain(values)
            .chain([score.command.clone()]);
        writer.write_record(line)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
