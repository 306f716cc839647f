// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb sim sweep`: a scenario with each of several values.
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use ebb_report::outcome::{self, SweepPoint};
use ebb_scenario::{Scenario, ScenarioError, Setting};

use crate::commands::progress::Progress;
use crate::{count, output};

/// Run a scenario with each of several values
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct SimSweep {
    /// Scenario file; docs/scenarios.md describes the language
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Key and its values, like bottleneck.queue=50,100,200; of several keys every
    /// combination is run
    #[arg(long, value_name = "KEY=VALUE,…", required = true)]
    over: Vec<Axis>,

    /// Value that comes before that of the file, as for `ebb sim run`
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    settings: Vec<Setting>,

    /// Interval of the scenario that is shown; the first if not given
    #[arg(long, value_name = "NAME")]
    interval: Option<String>,

    /// Table of all runs, intervals, flows and links as CSV
    #[arg(short, long, value_name = "FILE.csv")]
    out: Option<PathBuf>,

    /// Number of runs of each combination, in place of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,

    /// Runs at the same time; one on each core if not given
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    jobs: Option<NonZeroUsize>,
}

const LONG_ABOUT: &str = "\
Run a scenario with each of several values.

Every combination of the values is run, as often as the scenario says, with the same seeds; all \
runs go over all cores. The table has a line for each combination: the goodput of each entry of \
[[flow]] in Mbit/s, then use of the first link and waiting in its queue. A value with a comma in \
it goes between brackets: flow.mine.receiver=[ebb:low_us=2000,high_us=9000],vulture.";

const AFTER_HELP: &str = "\
Examples:
  ebb sim sweep two-flows.toml --over bottleneck.queue=25,50,100,200
  ebb sim sweep two-flows.toml --over bottleneck.rtt=10ms,100ms,300ms \\
      --over flow.mine.receiver=ebb,vulture --interval together --out sweep.csv

Exit status: 0; 1 when the scenario is wrong or Ebb failed; 2 wrong usage.";

/// A key with several values.
#[derive(Clone, Debug)]
struct Axis {
    key: String,
    values: Vec<String>,
}

impl FromStr for Axis {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        // All are read once here, so that mistakes are wrong usage.
        text.parse::<Setting>()?;
        let (key, values) = text.split_once('=').unwrap_or((text, ""));
        let values = split(values);
        for value in &values {
            format!("{key}={value}").parse::<Setting>()?;
        }
        Ok(Self {
            key: key.to_owned(),
            values,
        })
    }
}

/// Splits at commas that are not between brackets or quotes; brackets around a whole value
/// are taken off.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_u32;
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !is_quoted => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
        .iter()
        .map(|part| unwrapped(part.trim()).to_owned())
        .collect()
}

/// `[ebb:low_us=2000,high_us=9000]` is text in brackets, `["5s", "9s"]` a list.
fn unwrapped(part: &str) -> &str {
    let inner = part
        .strip_prefix('[')
        .and_then(|part| part.strip_suffix(']'));
    inner
        .filter(|inner| !inner.contains(['"', '[']))
        .unwrap_or(part)
}

impl SimSweep {
    pub(super) fn execute(self) -> Result<()> {
        let combinations = self.combinations();
        let mut scenarios = Vec::with_capacity(combinations.len());
        for combination in &combinations {
            scenarios.push(self.scenario(combination)?);
        }
        let interval = scenarios[0].interval_place(self.interval.as_deref())?;
        let results = Progress::default()
            .runner(self.jobs)
            .simulate(&scenarios, None)
            .with_context(|| self.file.display().to_string())?;
        let points: Vec<SweepPoint> = combinations
            .into_iter()
            .zip(results)
            .map(|(settings, results)| SweepPoint { settings, results })
            .collect();
        let mut text = outcome::sweep_table(&points, interval).to_string();
        if let Some(path) = &self.out {
            let table = outcome::sweep_csv(&points).context("the table could not be made")?;
            std::fs::write(path, table).with_context(|| path.display().to_string())?;
            text += &format!("\nResult: {}\n", path.display());
        }
        output::print(&text)
    }

    /// All of them, the last key changing fastest.
    fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut combinations = vec![Vec::new()];
        for Axis { key, values } in &self.over {
            let extended = |combination: &Vec<(String, String)>| -> Vec<Vec<(String, String)>> {
                let with = |value: &String| {
                    let mut combination = combination.clone();
                    combination.push((key.clone(), value.clone()));
                    combination
                };
                values.iter().map(with).collect()
            };
            combinations = combinations.iter().flat_map(extended).collect();
        }
        combinations
    }

    fn scenario(&self, combination: &[(String, String)]) -> Result<Scenario> {
        let mut settings = self.settings.clone();
        for (key, value) in combination {
            settings.push(format!("{key}={value}").parse()?);
        }
        let mut scenario = Scenario::read_with(&self.file, &settings)?;
        scenario.runs = self.runs.unwrap_or(scenario.runs);
        // Nobody looks at time series of so many runs.
        scenario.has_flow_series = false;
        scenario.bin = scenario.duration;
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_at_commas_but_not_within_brackets_or_quotes() {
        assert_eq!(split("25,50, 100"), ["25", "50", "100"]);
        assert_eq!(
            split("[ebb:low_us=1,high_us=2],vulture"),
            ["ebb:low_us=1,high_us=2", "vulture"]
        );
        assert_eq!(
            split("[\"5s\", \"9s\"],\"a,b\""),
            ["[\"5s\", \"9s\"]", "\"a,b\""]
        );
        assert_eq!(
            split("{ kind = \"codel\", ecn = true },86"),
            ["{ kind = \"codel\", ecn = true }", "86"]
        );
    }

    #[test]
    fn a_key_without_a_value_is_refused() {
        assert!("bottleneck".parse::<Axis>().is_err());
    }
}
