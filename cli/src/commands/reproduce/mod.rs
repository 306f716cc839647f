// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb reproduce`: what papers report, beside what we get; and our own figures beside their bounds.
mod again;
mod check;
mod chosen;
mod layout;
mod tables;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use check::{Check, Known};
use clap::{Args, ValueEnum};
use ebb_experiments::{
    Catalogue, Comparison, Engine, Experiment, Influence, PolicyChoice, RunStore, Runner,
};
use ebb_report::pages::{self, Entry};
use ebb_scenario::Setting;

use super::progress::Progress;
use crate::backend::require_root;
use crate::{count, data, output};

/// Run what papers report and our own figures, and print their values beside ours
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Reproduce {
    /// Experiments, like vulture/table-1, or folders of them, like vulture; those of all papers if
    /// none is given. Our own figures are `ebb`
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Policy in place of those that flows yield by, `none` (plain TCP), `priority` (two queues) or
    /// `own` (what the file says); several times for several, which stand in lines beside each other
    #[arg(long = "policy", value_name = "POLICY",
          conflicts_with_all = ["list", "stored", "assumptions", "html"])]
    policies: Vec<PolicyChoice>,

    /// Only what is measured in this case; several times for several
    #[arg(long = "case", value_name = "NAME",
          conflicts_with_all = ["list", "stored", "assumptions", "html"])]
    cases: Vec<String>,

    /// List experiments with their engines and what came out last
    #[arg(long)]
    list: bool,

    /// Value that is set in all cases after all others, as for `ebb sim run`
    #[arg(long = "set", value_name = "KEY=VALUE",
          conflicts_with_all = ["list", "stored", "assumptions", "html", "values"])]
    settings: Vec<Setting>,

    /// Fewer runs than the paper's statistic asks for
    #[arg(long, conflicts_with = "list")]
    quick: bool,

    /// Runs of each case, in place of the experiments' own number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["list", "stored", "assumptions"],
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,

    /// Run again what is known from before, when this program ran the same scenario
    #[arg(long, conflicts_with = "list")]
    fresh: bool,

    /// What runs them; if not given, the first that an experiment names
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineChoice>,

    /// Show the influence of what had to be assumed, where an experiment has values for it
    #[arg(long, conflicts_with_all = ["list", "stored", "engine"])]
    assumptions: bool,

    /// Run nothing: show what came out last
    #[arg(long, conflicts_with_all = ["list", "fresh", "quick"])]
    stored: bool,

    /// Runs in the lab at the same time, each on a link of its own
    #[arg(long, value_name = "NUMBER", default_value = "8", value_parser = count::parse)]
    parallel: NonZeroUsize,

    /// How often runs in the lab that the machine disturbed are repeated
    #[arg(long, value_name = "NUMBER", default_value = "2")]
    retries: u32,

    /// Write pages that show it all in a browser to this directory, without a network
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    html: Option<PathBuf>,

    /// Fail when a value that counts is not green, or, with a file, when one is not within the interval
    /// that it has there; and say which
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["list", "assumptions"],
          num_args = 0..=1, default_missing_value = "")]
    check: Option<Check>,

    /// Write the values to this file, with intervals, runs and verdicts, for --check
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["list", "assumptions"])]
    values: Option<PathBuf>,

    /// Write how far the lab is from the simulator, by cases and intervals, to this file
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["list", "stored", "assumptions"])]
    distances: Option<PathBuf>,

    /// Write all runs of each case, with everything over time, to DIR/ID/CASE.json, for `ebb sim show`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "stored", "assumptions"])]
    results: Option<PathBuf>,

    /// Record what laws in the lab's kernel are told and answer, in files of this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "stored", "assumptions"])]
    trace: Option<PathBuf>,

    /// Directory for results, ID.json, ID.csv and ID.parquet, and for finished runs
    #[arg(short, long, value_name = "DIR", default_value = "ebb-reproduced")]
    out: PathBuf,

    /// Directory of the experiments; without it experiments/ here, or what was installed with this
    /// program
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,

    /// Runs in the simulator at the same time; one on each core if not given
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    jobs: Option<NonZeroUsize>,

    /// Print the results as JSON in place of the tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineChoice {
    /// The packet simulator
    Sim,
    /// Real kernel TCP over an emulated link, in real time; needs root
    Lab,
}

const LONG_ABOUT: &str = "\
Run what papers report and our own figures, and print their values beside ours.

Each experiment is a table or figure of a paper: scenarios, measures, and the paper's values, in \
experiments/PAPER/EXPERIMENT.toml; docs/reproduce.md describes the files. Those of `ebb` are our own \
(docs/figures.md), with a bound in place of each value: green is what keeps it. Ours is the mean over \
the runs, ± half its 95 % interval by Student's t. A value is green when that whole interval lies \
in what the paper says (a band around a value, or beyond a bound), red when none of it does, yellow \
when a part does: a single run decides nothing. What was fitted to the very values, follows from \
others, or is no paper's number is shown and does not count. What the lab makes shorter with --quick is not the paper's scenario: \
it stands beside the simulator, and is not judged.

Finished runs are kept: what is broken off goes on where it stopped, and a run that this program \
has done before is not done again, unless --fresh.";

const AFTER_HELP: &str = "\
Examples:
  ebb reproduce --list                       what there is, and what came out last
  ebb reproduce cubic-plus/table-2           one table
  ebb reproduce vulture --quick              a paper, with fewer runs
  ebb reproduce tcp-lp/fig-11 --assumptions  how what was assumed matters
  sudo ebb reproduce vulture/fig-17 --quick --engine lab
  sudo ebb reproduce ebb --check             our own figures; fails when one misses its bound
  sudo ebb reproduce ebb/kernel --policy none --policy priority --policy ebb --case 'bursts of 3 s'
  ebb reproduce --stored --html pages        what came out last, for a browser
  ebb reproduce --json | jq '.[].cells[]'

Exit status: 0 whatever the verdicts are; 1 when --check found what it looks for, an experiment is \
wrong or Ebb failed; 2 wrong usage.";

impl Reproduce {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        self.check_usage()?;
        // What would go wrong at the end is told at the beginning.
        let known = self.check.as_ref().map(Check::read).transpose()?;
        let experiments = self.chosen(&self.catalogue()?)?;
        if self.list {
            return self.print_list(&experiments);
        }
        if self.stored {
            return self.print_stored(&experiments, known.as_ref());
        }
        let store = RunStore::open(&self.out, self.fresh)?;
        let progress = Progress::default();
        let runner = Runner {
            parallel: self.parallel,
            retries: self.retries,
            store: Some(&store),
            results: self.results.as_deref(),
            traces: self.trace.as_deref(),
            ..progress.runner(self.jobs)
        };
        if self.assumptions {
            self.sweep_assumptions(&experiments, &runner)?;
            return self.write_pages(&experiments);
        }
        let mut comparisons = Vec::new();
        for experiment in &experiments {
            let comparison = self.run(experiment, &runner)?;
            self.keep(experiment, &comparison)?;
            comparisons.push(comparison);
        }
        self.print_end(&comparisons)?;
        self.write_pages(&experiments)?;
        self.check_values(&comparisons, known.as_ref())
    }

    fn catalogue(&self) -> Result<Catalogue> {
        let folder = data::folder(self.experiments.as_deref(), "experiments");
        Ok(Catalogue::open(&folder)?)
    }

    /// Pages of these experiments, with all that is stored of them.
    fn write_pages(&self, experiments: &[Experiment]) -> Result<()> {
        let Some(folder) = &self.html else {
            return Ok(());
        };
        let mut entries = Vec::new();
        for experiment in experiments {
            let mut comparisons = Vec::new();
            for engine in &experiment.engines {
                comparisons.extend(Comparison::stored(&self.out, &experiment.id, *engine)?);
            }
            entries.push(Entry {
                experiment,
                comparisons,
                influences: Influence::stored(&self.out, &experiment.id)?,
                commands: again::commands(experiment),
            });
        }
        let index = pages::write(&entries, folder)?;
        match self.json {
            true => Ok(()),
            false => output::print(&format!("Pages: {}\n", index.display())),
        }
    }

    fn run(&self, experiment: &Experiment, runner: &Runner<'_>) -> Result<Comparison> {
        let plan = self.plan(experiment);
        if plan.engine == Engine::Lab {
            require_root("reproduce --engine lab")?;
        }
        let comparison = runner.run(experiment, plan);
        comparison.with_context(|| experiment.id.clone())
    }

    /// Stores and prints it: what is complete stays when a later one is broken off.
    fn keep(&self, experiment: &Experiment, comparison: &Comparison) -> Result<()> {
        let path = comparison.store(&self.out)?;
        if self.json {
            return Ok(());
        }
        let flags = self.flags(experiment, self.quick);
        let text = tables::text(experiment, comparison, &flags);
        output::print(&format!("{text}Result: {}\n\n", path.display()))
    }

    /// What is said of it here, for the command that runs it again.
    fn flags(&self, experiment: &Experiment, is_quick: bool) -> String {
        let quick = is_quick.then(|| " --quick".to_owned()).into_iter();
        let settings = self.settings.iter().map(|it| format!(" --set '{it}'"));
        let policies = self.policies.iter().map(|it| format!(" --policy {it}"));
        let has = |name: &&String| experiment.cases.iter().any(|case| case.name == **name);
        let cases = self.cases.iter().filter(has);
        let cases = cases.map(|name| format!(" --case '{name}'"));
        let runs = self.runs.map(|runs| format!(" --runs {runs}"));
        quick
            .chain(policies)
            .chain(cases)
            .chain(settings)
            .chain(runs)
            .collect()
    }

    fn sweep_assumptions(&self, experiments: &[Experiment], runner: &Runner<'_>) -> Result<()> {
        let mut all = Vec::new();
        for experiment in experiments.iter().filter(|it| !it.sweeps.is_empty()) {
            let mut influences = Vec::new();
            for sweep in &experiment.sweeps {
                let influence = runner
                    .influence(experiment, sweep)
                    .with_context(|| experiment.id.clone())?;
                if !self.json {
                    output::print(&tables::influence(&experiment.id, &influence))?;
                }
                influences.push(influence);
            }
            Influence::store(&influences, &self.out, &experiment.id)?;
            all.push(serde_json::json!({ "id": experiment.id, "assumptions": influences }));
        }
        match (all.is_empty(), self.json) {
            (true, _) => bail!("none of these experiments has a [[sweep]] (docs/reproduce.md)"),
            (false, true) => output::print_json(&all),
            (false, false) => Ok(()),
        }
    }

    fn print_stored(&self, experiments: &[Experiment], known: Option<&Known>) -> Result<()> {
        let mut comparisons = Vec::new();
        for experiment in experiments {
            let engine = self.plan(experiment).engine;
            if let Some(comparison) = Comparison::stored(&self.out, &experiment.id, engine)? {
                if !self.json {
                    let flags = self.flags(experiment, comparison.is_quick);
                    let text = tables::text(experiment, &comparison, &flags);
                    output::print(&format!("{text}\n"))?;
                }
                comparisons.push(comparison);
            }
        }
        if comparisons.is_empty() {
            bail!(
                "none of these was run yet with results in {}",
                self.out.display()
            );
        }
        self.print_end(&comparisons)?;
        self.check_values(&comparisons, known)?;
        self.write_pages(experiments)
    }

    fn print_end(&self, comparisons: &[Comparison]) -> Result<()> {
        match (self.json, tables::end(comparisons)) {
            (true, _) => output::print_json(&comparisons),
            (false, Some(text)) => output::print(&text),
            (false, None) => Ok(()),
        }
    }

    fn print_list(&self, experiments: &[Experiment]) -> Result<()> {
        if !self.json {
            return output::print(&tables::list(experiments, &self.out)?.to_string());
        }
        let mut list = Vec::new();
        for experiment in experiments {
            let mut last = serde_json::Map::new();
            for engine in &experiment.engines {
                let stored = Comparison::stored(&self.out, &experiment.id, *engine)?;
                last.insert(engine.name().into(), serde_json::to_value(stored)?);
            }
            list.push(serde_json::json!({
                "id": experiment.id,
                "title": experiment.title,
                "engines": experiment.engines,
                "last": last,
            }));
        }
        output::print_json(&list)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What a line of the examples says: its words, as a shell would take them.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                letter => words.last_mut().unwrap().push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn each_example_of_the_help_names_what_there_is() {
        let examples = AFTER_HELP.lines().filter_map(|line| {
            let line = line.strip_prefix("  ")?;
            let line = line.strip_prefix("sudo ").unwrap_or(line);
            // What it does stands behind two spaces, what reads it behind a pipe.
            line.split("  ").next()?.split(" | ").next()
        });
        let mut count = 0;
        for example in examples {
            let words = words(example);
            assert_eq!(words[..2], ["ebb", "reproduce"], "{example}");
            let parser = Reproduce::augment_args(clap::Command::new("reproduce"));
            let matches = parser.try_get_matches_from(&words[1..]).unwrap();
            let mut command =
                <Reproduce as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
            let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            command.experiments = Some(tree.join("experiments"));
            command.check_usage().unwrap();
            let chosen = command.chosen(&command.catalogue().unwrap());
            let chosen = chosen.unwrap_or_else(|error| panic!("{example}: {error:#}"));
            assert!(!chosen.is_empty(), "{example}");
            count += 1;
        }
        assert_eq!(count, 9);
    }
}
