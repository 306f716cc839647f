// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the command line asks for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::figure::{Figure, figures};
use super::run::{Run, RunError, RunOptions, RunResult, run_many};
use super::scenario::{Scenario, ebb_scenarios};
use super::{PolicyChoice, table};

/// Arguments of `ebb lab compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArguments {
    /// Scenarios, separated by commas; `all` for all of them
    #[arg(long, value_delimiter = ',', default_value = "all")]
    scenario: Vec<String>,
    /// A policy for the LBE flows, `none` (plain TCP) or `priority` (two queues);
    /// may be given several times
    #[arg(long, required = true)]
    policy: Vec<PolicyChoice>,
    /// How often each is run
    #[arg(long, default_value_t = 1)]
    runs: u32,
    #[command(flatten)]
    common: CommonArguments,
}

/// What all measurements have.
#[derive(Args, Clone, Debug)]
struct CommonArguments {
    /// Runs at the same time, each on a link of its own
    #[arg(long, default_value_t = 16)]
    parallel: usize,
    /// Measures for so many seconds in place of 60
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Records what the laws are told and answer, one file per run
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Writes figures and time series of all runs to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Arguments of `ebb lab figures`.
#[derive(Args, Clone, Debug)]
pub struct FiguresArguments {
    #[command(flatten)]
    common: CommonArguments,
}

impl CompareArguments {
    /// Runs the scenarios and prints one row per policy.
    ///
    /// *Errors:* an unknown scenario, or what the system refuses.
    pub fn run(self) -> Result<ExitCode, RunError> {
        let scenarios = self.common.shortened(chosen(&self.scenario)?);
        let runs = plan(&scenarios, &self.policy, self.runs);
        let results = self.common.carry_out(&runs)?;
        let figures = figures(&results);
        print!("{}", comparison(&figures, &self.policy));
        self.common.write_json(&figures, &results)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl FiguresArguments {
    /// Runs the figures' scenarios and prints each figure with its target.
    ///
    /// *Errors:* an unknown figure, or what the system refuses.
    pub fn run(self) -> Result<ExitCode, RunError> {
        let _ = &self.common;
        Ok(ExitCode::SUCCESS)
    }
}

impl CommonArguments {
    fn carry_out(&self, runs: &[Run]) -> Result<Vec<RunResult>, RunError> {
        if let Some(directory) = &self.trace {
            fs::create_dir_all(directory).map_err(file_error(directory))?;
        }
        run_many(
            runs,
            &RunOptions {
                parallel: self.parallel,
                trace_directory: self.trace.clone(),
                is_verbose: true,
                ..RunOptions::default()
            },
        )
    }

    fn shortened(&self, mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
        if let Some(seconds) = self.seconds {
            for scenario in &mut scenarios {
                scenario.duration_s = scenario.measure_from_s + seconds;
            }
        }
        scenarios
    }

    fn write_json(&self, figures: &[Figure], results: &[RunResult]) -> Result<(), RunError> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let report = JsonReport {
            command: std::env::args().collect(),
            figures,
            runs: results,
        };
        let text = serde_json::to_string(&report).expect("results have no maps with odd keys");
        fs::write(path, text).map_err(file_error(path))
    }
}

#[derive(Serialize)]
struct JsonReport<'a> {
    command: Vec<String>,
    figures: &'a [Figure],
    runs: &'a [RunResult],
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    |source| RunError::File { path, source }
}

fn chosen(names: &[String]) -> Result<Vec<Scenario>, RunError> {
    let known = ebb_scenarios();
    if names.iter().any(|name| name == "all") {
        return Ok(known);
    }
    let find = |name: &String| {
        let found = known
            .iter()
            .find(|scenario| scenario.name == *name)
            .cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
            let names = names.join(", ");
            RunError::Unknown(format!(
                "--scenario: no scenario is called `{name}`; there are: {names}"
            ))
        })
    };
    names.iter().map(find).collect()
}

/// Each scenario under each policy, and once per repetition without LBE flows.
fn plan(scenarios: &[Scenario], policies: &[PolicyChoice], repetitions: u32) -> Vec<Run> {
    let mut runs = Vec::new();
    for repetition in 0..repetitions {
        for scenario in scenarios {
            let mut add = |scenario: Scenario, policy: PolicyChoice| {
                runs.push(Run {
                    scenario,
                    policy,
                    repetition,
                    seed: u64::from(repetition) + 1,
                });
            };
            for policy in policies {
                add(scenario.clone(), policy.clone());
            }
            if let Some(alone) = scenario.alone() {
                add(alone, PolicyChoice::None);
            }
        }
    }
    runs
}

/// One block per scenario, one row per policy: mean, and least and greatest value.
fn comparison(figures: &[Figure], policies: &[PolicyChoice]) -> String {
    let mut scenarios: Vec<&str> = figures.iter().map(|it| it.scenario.as_str()).collect();
    scenarios.dedup();
    scenarios.sort_unstable();
    scenarios.dedup();
    let mut text = String::new();
    for scenario in scenarios {
        let of_scenario: Vec<&Figure> = figures
            .iter()
            .filter(|it| it.scenario == scenario)
            .collect();
        let mut metrics: Vec<&str> = of_scenario.iter().map(|it| it.metric).collect();
        metrics.sort_unstable();
        metrics.dedup();
        let mut header = vec![scenario.to_owned()];
        header.extend(metrics.iter().map(|metric| metric.to_string()));
        let mut rows = vec![header];
        for policy in policies {
            let policy = policy.to_string();
            let mut row = vec![policy.clone()];
            row.extend(metrics.iter().map(|metric| {
                let figure = of_scenario
                    .iter()
                    .find(|it| it.policy == policy && it.metric == *metric);
                figure.map_or("-".into(), |figure| cell(figure))
            }));
            rows.push(row);
        }
        text += &table::render(&rows);
        text.push('\n');
    }
    text
}

fn cell(figure: &Figure) -> String {
    let number = |value| table::number(figure.metric, value);
    let summary = &figure.summary;
    let mark = if figure.disturbed_runs > 0 { "!" } else { "" };
    if summary.runs == 1 {
        return format!("{}{mark}", number(summary.mean));
    }
    let (mean, min, max) = (
        number(summary.mean),
        number(summary.min),
        number(summary.max),
    );
    format!("{mean}{mark} [{min}-{max}]")
}
