// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb reproduce`: what papers report, beside what we get.
mod layout;
mod tables;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use ebb_experiments::{
    Catalogue, Comparison, Engine, Experiment, Influence, KnownVerdicts, Plan, RunStore, Runner,
};
use ebb_report::pages::{self, Entry};

use super::progress::Progress;
use super::run::require_root;
use crate::output;

/// Run what papers report, and print their values beside ours
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Reproduce {
    /// Experiments, like vulture/table-1, or papers, like vulture; all if none is given
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// List experiments with their engines and what came out last
    #[arg(long)]
    list: bool,

    /// Fewer runs than the paper's statistic asks for
    #[arg(long, conflicts_with = "list")]
    quick: bool,

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
    #[arg(long, value_name = "NUMBER", default_value = "8")]
    parallel: NonZeroUsize,

    /// Write pages that show it all in a browser to this directory, without a network
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    html: Option<PathBuf>,

    /// Fail when a value is not green any more that is green in this file, and say which
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["list", "assumptions"])]
    check: Option<PathBuf>,

    /// Write the verdicts to this file, for --check
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["list", "assumptions"])]
    verdicts: Option<PathBuf>,

    /// Directory for results, ID.json, ID.csv and ID.parquet, and for finished runs
    #[arg(short, long, value_name = "DIR", default_value = "ebb-reproduced")]
    out: PathBuf,

    /// Directory of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,

    /// Runs in the simulator at the same time; one on each core if not given
    #[arg(long, value_name = "NUMBER")]
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
Run what papers report, and print their values beside ours.

Each experiment is a table or figure of a paper: scenarios, measures, and the paper's values, in \
experiments/PAPER/EXPERIMENT.toml; docs/reproduce.md describes the files. Ours is the mean over \
the runs, ± half its 95 % interval by Student's t. A value is green when the paper's lies in \
that interval or within the tolerance, yellow when at least the values of its row are in the \
paper's order, red otherwise. What the lab makes shorter with --quick is not the paper's scenario: \
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
  ebb reproduce --stored --html pages        what came out last, for a browser
  ebb reproduce --json | jq '.[].cells[]'

Exit status: 0 whatever the verdicts are; 1 when --check found one that is lost, an experiment is \
wrong or Ebb failed; 2 wrong usage.";

impl Reproduce {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        let catalogue = Catalogue::open(&self.experiments)?;
        let experiments = self.chosen(catalogue.read(&self.ids)?)?;
        if self.list {
            return self.print_list(&experiments);
        }
        if self.stored {
            self.print_stored(&experiments)?;
            return self.write_pages(&experiments);
        }
        let store = RunStore::open(&self.out, self.fresh)?;
        let progress = Progress::default();
        let runner = Runner {
            parallel: self.parallel,
            store: Some(&store),
            ..progress.runner(self.jobs)
        };
        if self.assumptions {
            self.sweep_assumptions(&experiments, &runner)?;
            return self.write_pages(&experiments);
        }
        let mut comparisons = Vec::new();
        for experiment in &experiments {
            let comparison = self.run(experiment, &runner)?;
            // What is complete stays when a later one is broken off.
            let path = comparison.store(&self.out)?;
            if !self.json {
                let table = tables::table(experiment, &comparison);
                output::print(&format!("{table}Result: {}\n\n", path.display()))?;
            }
            comparisons.push(comparison);
        }
        self.print_end(&comparisons)?;
        self.write_pages(&experiments)?;
        self.check_verdicts(&comparisons)
    }

    /// Whether nothing is lost of what was green.
    fn check_verdicts(&self, comparisons: &[Comparison]) -> Result<()> {
        if let Some(path) = &self.verdicts {
            KnownVerdicts::new(comparisons).write(path)?;
        }
        let Some(path) = &self.check else {
            return Ok(());
        };
        let known = KnownVerdicts::read(path).with_context(|| path.display().to_string())?;
        let lost = known.lost(comparisons);
        for line in &lost {
            output::complain(line);
        }
        match lost.len() {
            0 => Ok(()),
            count => bail!(
                "{count} value{} lost against {} (write it again with --verdicts if that is right)",
                output::plural(count as u64),
                path.display()
            ),
        }
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
            });
        }
        let index = pages::write(&entries, folder)?;
        match self.json {
            true => Ok(()),
            false => output::print(&format!("Pages: {}\n", index.display())),
        }
    }

    /// Those that the engine runs.
    fn chosen(&self, experiments: Vec<Experiment>) -> Result<Vec<Experiment>> {
        let Some(EngineChoice::Lab) = self.engine else {
            return self.without_root(experiments);
        };
        for experiment in &experiments {
            if self.ids.contains(&experiment.id) && !experiment.engines.contains(&Engine::Lab) {
                bail!("{} does not run in the lab, see --list", experiment.id);
            }
        }
        let in_lab: Vec<_> = experiments
            .into_iter()
            .filter(|experiment| experiment.engines.contains(&Engine::Lab))
            .collect();
        if in_lab.is_empty() {
            bail!("none of these experiments runs in the lab, see --list");
        }
        Ok(in_lab)
    }

    /// Leaves out what only the lab runs, where it is not asked for or cannot be.
    fn without_root(&self, experiments: Vec<Experiment>) -> Result<Vec<Experiment>> {
        if self.list || self.stored {
            return Ok(experiments);
        }
        let is_simulated = matches!(self.engine, Some(EngineChoice::Sim));
        let mut chosen = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            let is_named = self.ids.contains(&experiment.id);
            if experiment.engines != [Engine::Lab] || (!is_simulated && is_named) {
                chosen.push(experiment);
            } else if is_named {
                bail!("{} runs in the lab only: --engine lab", experiment.id);
            } else if !is_simulated && nix::unistd::geteuid().is_root() {
                chosen.push(experiment);
            } else if !is_simulated {
                let id = &experiment.id;
                output::complain(&format!("{id}: left out, it runs in the lab, as root"));
            }
        }
        Ok(chosen)
    }

    fn plan(&self, experiment: &Experiment) -> Plan {
        let engine = match (self.engine, experiment.engines.first()) {
            (Some(EngineChoice::Lab), _) => Engine::Lab,
            // A formula needs no simulator.
            (None, Some(first)) | (_, Some(first @ Engine::Analytic)) => *first,
            _ => Engine::Sim,
        };
        Plan {
            engine,
            is_quick: self.quick,
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

    fn print_stored(&self, experiments: &[Experiment]) -> Result<()> {
        let mut comparisons = Vec::new();
        for experiment in experiments {
            let engine = self.plan(experiment).engine;
            if let Some(comparison) = Comparison::stored(&self.out, &experiment.id, engine)? {
                if !self.json {
                    output::print(&format!("{}\n", tables::table(experiment, &comparison)))?;
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
        self.check_verdicts(&comparisons)
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
