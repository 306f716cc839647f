// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the command line asks for.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::PolicyChoice;
use super::catalogue::{CATALOGUE, Entry, all_scenarios};
use super::figure::{Figure, figures};
use super::presentation::{comparison, figure_table, misses};
use super::run::{Run, RunError, RunOptions, RunResult, run_many};
use super::scenario::Scenario;

/// Arguments of `ebb lab compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArguments {
    /// Scenarios, separated by commas; `all` for s1 to s7
    #[arg(long, value_delimiter = ',', default_value = "all")]
    scenario: Vec<String>,
    /// A policy for the LBE flows, `none` (plain TCP) or `priority` (two queues);
    /// may be given several times
    #[arg(long, required = true)]
    policy: Vec<PolicyChoice>,
    /// How often each is run
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Measures for so many seconds in place of a scenario's own
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    #[command(flatten)]
    common: CommonArguments,
}

/// Arguments of `ebb lab figures`.
#[derive(Args, Clone, Debug)]
pub struct FiguresArguments {
    /// Figures, like `ebb/share` or `vulture/table-1`, or all of a set: `ebb`, `upload`,
    /// `user`, `user-upload`, `tcp-lp`, `vulture`; all sets if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// A policy in place of the figures' own; may be given several times
    #[arg(long)]
    policy: Vec<PolicyChoice>,
    /// How often each is run
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Short runs: shows that everything works, and roughly where the figures are
    #[arg(long)]
    quick: bool,
    /// Fails when a figure misses its bound
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// What all measurements have.
#[derive(Args, Clone, Debug)]
struct CommonArguments {
    /// Runs at the same time, each on a link of its own
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=64))]
    parallel: u64,
    /// Records what the laws are told and answer, one file per run
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Writes figures and time series of all runs to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl CompareArguments {
    /// Runs the scenarios and prints, for each, one row per policy; answers the exit
    /// status, 0.
    ///
    /// *Errors:* an unknown scenario, or what the system refuses.
    pub fn run(self) -> Result<u8, RunError> {
        let scenarios = chosen_scenarios(&self.scenario)?.into_iter();
        let scenarios: Vec<Scenario> = match self.seconds {
            Some(seconds) => scenarios.map(|it| it.measured_for(seconds)).collect(),
            None => scenarios.collect(),
        };
        let runs = plan(&scenarios, &self.policy, self.runs);
        let results = self.common.carry_out(&runs)?;
        let figures = figures(&results);
        print!("{}", comparison(&figures));
        self.common.write_json(&figures, &results)?;
        Ok(0)
    }
}

impl FiguresArguments {
    /// Runs the figures' scenarios and prints each figure with what is expected; answers
    /// the exit status: 1 if a check failed, else 0.
    ///
    /// *Errors:* an unknown figure, or what the system refuses.
    pub fn run(self) -> Result<u8, RunError> {
        let entries = chosen_entries(&self.names)?;
        let mut runs = Vec::new();
        for scenario in all_scenarios(self.quick) {
            let mut policies: Vec<PolicyChoice> = Vec::new();
            for entry in entries.iter().filter(|it| it.scenario == scenario.name) {
                for policy in self.policies(entry)? {
                    if !policies.contains(&policy) {
                        policies.push(policy);
                    }
                }
            }
            if !policies.is_empty() {
                runs.extend(plan(&[scenario], &policies, self.runs));
            }
        }
        let results = self.common.carry_out(&runs)?;
        let figures = figures(&results);
        let mut missed = 0;
        let mut rows = Vec::new();
        for entry in &entries {
            for policy in self.policies(entry)? {
                missed += misses(entry, &figures, &policy.to_string());
                rows.push((*entry, policy.to_string()));
            }
        }
        print!("{}", figure_table(&rows, &figures));
        self.common.write_json(&figures, &results)?;
        if missed > 0 && self.check {
            println!("{missed} figures miss their bound");
            return Ok(1);
        }
        Ok(0)
    }

    fn policies(&self, entry: &Entry) -> Result<Vec<PolicyChoice>, RunError> {
        if !self.policy.is_empty() {
            return Ok(self.policy.clone());
        }
        let own = entry.policy().map(PolicyChoice::Law);
        own.map(|policy| vec![policy])
            .map_err(|error| RunError::Unknown(format!("{}: {error}", entry.name)))
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
                parallel: usize::try_from(self.parallel).expect("at most 64"),
                trace_directory: self.trace.clone(),
                is_verbose: true,
                ..RunOptions::default()
            },
        )
    }

    fn write_json(&self, figures: &[Figure], results: &[RunResult]) -> Result<(), RunError> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let report = JsonReport {
            command: std::env::args().collect(),
            expectations: CATALOGUE,
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
    expectations: &'a [Entry],
    figures: &'a [Figure],
    runs: &'a [RunResult],
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> RunError {
    let path = path.to_owned();
    |source| RunError::File { path, source }
}

fn chosen_scenarios(names: &[String]) -> Result<Vec<Scenario>, RunError> {
    let known = all_scenarios(false);
    let mut chosen: Vec<Scenario> = Vec::new();
    for name in names {
        let is_meant = |scenario: &&Scenario| match name.as_str() {
            "all" => scenario.name.starts_with('s'),
            name => scenario.name == name,
        };
        let found: Vec<Scenario> = known.iter().filter(is_meant).cloned().collect();
        if found.is_empty() {
            let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
            return Err(RunError::Unknown(format!(
                "--scenario: no scenario is called `{name}`; there are: {}",
                names.join(", ")
            )));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

/// Every set of figures.
const SETS: [&str; 6] = ["ebb", "upload", "user", "user-upload", "tcp-lp", "vulture"];

fn chosen_entries(names: &[String]) -> Result<Vec<Entry>, RunError> {
    for name in names {
        if !CATALOGUE.iter().any(|entry| entry.is_called(name)) {
            let mut known: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
            known.dedup();
            return Err(RunError::Unknown(format!(
                "no figure is called `{name}`; there are the sets {}, and {}",
                SETS.join(", "),
                known.join(", ")
            )));
        }
    }
    let is_chosen =
        |entry: &&Entry| names.is_empty() || names.iter().any(|name| entry.is_called(name));
    Ok(CATALOGUE.iter().filter(is_chosen).copied().collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_single_figures_and_sets() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            chosen_entries(&names).map(|entries| entries.len())
        };
        assert_eq!(names(&["ebb/alone"]).unwrap(), 2);
        let sets = SETS.map(|set| names(&[set]).unwrap());
        assert_eq!(sets.iter().sum::<usize>(), names(&[]).unwrap());
        let error = names(&["ebb/alon"]).unwrap_err().to_string();
        assert!(
            error.contains("`ebb/alon`") && error.contains("ebb/alone"),
            "{error}"
        );
    }

    #[test]
    fn a_batch_has_the_best_effort_flow_alone_once_per_repetition() {
        let scenarios = chosen_scenarios(&["s1".into(), "s2".into()]).unwrap();
        let policies = ["none".parse().unwrap(), "priority".parse().unwrap()];
        let runs = plan(&scenarios, &policies, 3);
        let alone = runs.iter().filter(|run| run.scenario.name == "s2-alone");
        assert_eq!(alone.count(), 3);
        assert_eq!(runs.len(), 3 * (2 + 2 + 1));
    }
}
