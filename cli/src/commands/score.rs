// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb score`: how far every law is from strict priority.
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use ebb_algorithms::{Policy, laws, own_laws};
use ebb_experiments::score::{Group, Matrix, Score, ScoreScenario, scores_to_csv, scores_to_json};
use ebb_experiments::{RunStore, Runner};
use ebb_report::{image, score};

use super::progress::Progress;
use crate::{count, data, output};

/// Hold every law against strict priority, in one set of scenarios
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct ScoreCommand {
    /// Law, with parameters if need be, like ebb or ledbat:target_us=25000; all laws if none
    /// is given
    #[arg(long = "law", value_name = "POLICY")]
    laws: Vec<Policy>,

    /// Scenario of the matrix; all of them if none is given
    #[arg(long = "scenario", value_name = "NAME")]
    scenarios: Vec<String>,

    /// Only the scenarios that stand for their kind, one run of each
    #[arg(long)]
    quick: bool,

    /// Scenarios that were drawn at random and that no law was tuned on, in place of the chosen
    #[arg(long)]
    held_out: bool,

    /// Another group of scenarios, which does not count for the table's mean: DualPI2 and CAKE,
    /// links whose rate varies, a queue for each flow, or buckets of tokens
    #[arg(long, value_name = "NAME", conflicts_with = "held_out")]
    group: Option<GroupName>,

    /// Runs of each cell; 3 if not given, 1 with --quick
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,

    /// List the scenarios
    #[arg(long)]
    list: bool,

    /// Run again what is known from before, when this program ran the same scenario
    #[arg(long, conflicts_with = "list")]
    fresh: bool,

    /// Directory for score.json, score.csv, score.svg and score.png, and for finished runs
    #[arg(short, long, value_name = "DIR", default_value = "ebb-score")]
    out: PathBuf,

    /// Directory of the scenarios, with matrix.toml and those of other groups; without it
    /// experiments/score here, or what was installed with this program
    #[arg(long, value_name = "DIR")]
    matrix: Option<PathBuf>,

    /// Runs at the same time; one on each core if not given
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    jobs: Option<NonZeroUsize>,

    /// Print the scores as JSON in place of the table
    #[arg(long)]
    json: bool,
}

/// Scenarios beside those that laws are tuned on.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum GroupName {
    Queues,
    Varying,
    Fair,
    Buckets,
}

const LONG_ABOUT: &str = "\
Hold every law against strict priority, in one set of scenarios.

The ideal is a bottleneck with two priorities: others as if the law's flows were not there, these \
all that is left. Each scenario runs three times: with the law, with such a queue, and without \
the law's flows. A score is how far the first is from the other two: goodput that others lose, \
delay that they gain, the part of the spare that is used, time to yield, time to take what became \
free, and Jain's index between flows of the law. The scenarios are files; docs/score.md describes \
them.";

const AFTER_HELP: &str = "\
Examples:
  ebb score --quick                           a table, a line for each law
  ebb score --law ebb                         one law, a line for each scenario
  ebb score --scenario on-off-3s              one scenario, a line for each law
  ebb score --law ebb --scenario on-off-3s    one cell, and the command that runs it
  ebb score --law ledbat:target_us=25000      a law with other parameters
  ebb score --held-out --law ebb              one law, where nobody tuned it
  ebb score --group varying --law ebb         one law, on links whose rate varies

Exit status: 0 whatever the scores are; 1 when a scenario is wrong or Ebb failed; 2 wrong usage.";

/// Runs of a cell, so that chance does not decide.
const RUNS: u32 = 3;

impl ScoreCommand {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        let folder = data::folder(self.matrix.as_deref(), "experiments/score");
        let matrix = Matrix::open(&folder, self.group())?;
        let scenarios = matrix.select(&self.scenarios, self.quick)?;
        if self.list {
            return output::print(&score::list(&scenarios).to_string());
        }
        let laws = self.laws();
        let scores = self.scores(&scenarios, &laws)?;
        let written = write(&scores, &self.out)?;
        if self.json {
            return output::print(&scores_to_json(&scores));
        }
        let text = match scores.as_slice() {
            [only] => {
                let table = score::cell(only, scenarios[0]);
                // A line for the shell: it must not be wrapped.
                format!("{table}Run it: {}\n", only.command)
            }
            _ if laws.len() == 1 => score::of_law(&scores).to_string(),
            _ if scenarios.len() == 1 => score::of_scenario(&scores, scenarios[0]).to_string(),
            _ => score::summary(&scores).to_string(),
        };
        output::print(&format!("{text}{written}"))
    }

    fn group(&self) -> Group {
        match self.group {
            Some(GroupName::Queues) => Group::Queues,
            Some(GroupName::Varying) => Group::Varying,
            Some(GroupName::Fair) => Group::Fair,
            Some(GroupName::Buckets) => Group::Buckets,
            None if self.held_out => Group::HeldOut,
            None => Group::Tuning,
        }
    }

    fn laws(&self) -> Vec<Policy> {
        match self.laws.is_empty() {
            true => laws()
                .iter()
                .chain(own_laws())
                .map(Policy::with_defaults)
                .collect(),
            false => self.laws.clone(),
        }
    }

    fn runs(&self) -> u32 {
        self.runs.unwrap_or(if self.quick { 1 } else { RUNS })
    }

    fn scores(&self, scenarios: &[&ScoreScenario], laws: &[Policy]) -> Result<Vec<Score>> {
        let store = RunStore::open(&self.out, self.fresh)?;
        let progress = Progress::default();
        let runner = Runner {
            store: Some(&store),
            ..progress.runner(self.jobs)
        };
        runner
            .scores(scenarios, laws, self.runs())
            .context("ebb score")
    }
}

/// Writes the files; answers what to tell of them.
fn write(scores: &[Score], folder: &Path) -> Result<String> {
    let file = |ending| folder.join(format!("score.{ending}"));
    let store = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| path.display().to_string())
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    store(&file("json"), scores_to_json(scores))?;
    store(&file("csv"), scores_to_csv(scores)?)?;
    let mut told = format!("Scores: {}\n", file("csv").display());
    if let Some(figure) = score::figure(scores) {
        let [_, png] = image::write(&figure, folder, "score")?;
        told += &format!("Picture: {}\n", png.display());
    }
    Ok(told)
}
