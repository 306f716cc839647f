// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb reproduce`: what papers report, beside what we get.
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use ebb_experiments::{Catalogue, Cell, Comparison, Counts, Engine, Experiment, RunStore};
use ebb_report::table::{Align, Table};

use super::sim::run_all;
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

    /// What runs them
    #[arg(long, value_name = "ENGINE", default_value = "sim")]
    engine: EngineChoice,

    /// Directory for results, ID.json, ID.csv and ID.parquet, and for finished runs
    #[arg(short, long, value_name = "DIR", default_value = "ebb-reproduced")]
    out: PathBuf,

    /// Directory of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,

    /// Runs at the same time; one on each core if not given
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
}

const LONG_ABOUT: &str = "\
Run what papers report, and print their values beside ours.

Each experiment is a table or figure of a paper: scenarios, measures, and the paper's values, in \
experiments/PAPER/EXPERIMENT.toml; docs/reproduce.md describes the files. Ours is the mean over \
the runs, ± half its 95 % interval by Student's t. A value is green when the paper's lies in \
that interval or within the tolerance, yellow when at least the values of its row are in the \
paper's order, red otherwise.

Finished runs are kept: what is broken off goes on where it stopped, and a run that this program \
has done before is not done again, unless --fresh.";

const AFTER_HELP: &str = "\
Examples:
  ebb reproduce --list                       what there is, and what came out last
  ebb reproduce cubic-plus/table-2           one table
  ebb reproduce vulture --quick              a paper, with fewer runs
  ebb reproduce --json | jq '.[].cells[]'

Exit status: 0 whatever the verdicts are; 1 when an experiment is wrong or Ebb failed; 2 wrong \
usage.";

impl Reproduce {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        let catalogue = Catalogue::open(&self.experiments)?;
        let experiments = catalogue.read(&self.ids)?;
        if self.list {
            return self.print_list(&experiments);
        }
        let EngineChoice::Sim = self.engine;
        let store = RunStore::open(&self.out, self.fresh)?;
        let mut comparisons = Vec::new();
        for experiment in &experiments {
            let comparison = self.run(experiment, &store)?;
            // What is complete stays when a later one is broken off.
            let path = comparison.store(&self.out)?;
            if !self.json {
                let separator = if comparisons.is_empty() { "" } else { "\n" };
                let table = table(experiment, &comparison);
                output::print(&format!("{separator}{table}Result: {}\n", path.display()))?;
            }
            comparisons.push(comparison);
        }
        if self.json {
            return output::print_json(&comparisons);
        }
        if comparisons.len() > 1 {
            let all = total(comparisons.iter().map(Comparison::counts));
            output::print(&format!(
                "\n{} experiments: {}\n",
                comparisons.len(),
                counts_text(all)
            ))?;
        }
        Ok(())
    }

    fn run(&self, experiment: &Experiment, store: &RunStore) -> Result<Comparison> {
        let scenarios = experiment.scenarios(self.quick);
        let results = match scenarios.is_empty() {
            true => Vec::new(),
            false => run_all(&scenarios, self.jobs, None, Some(store))
                .with_context(|| experiment.id.clone())?,
        };
        Ok(experiment.compare(&results, self.quick))
    }

    fn print_list(&self, experiments: &[Experiment]) -> Result<()> {
        if self.json {
            let mut list = Vec::new();
            for experiment in experiments {
                list.push(serde_json::json!({
                    "id": experiment.id,
                    "title": experiment.title,
                    "engines": [experiment.engine.name()],
                    "last": Comparison::stored(&self.out, &experiment.id)?,
                }));
            }
            return output::print_json(&list);
        }
        output::print(&list(experiments, &self.out)?.to_string())
    }
}

fn list(experiments: &[Experiment], folder: &Path) -> Result<Table> {
    let mut table = Table::new("")
        .column("ID", Align::Left)
        .column("engine", Align::Left)
        .column("about", Align::Left)
        .column("last", Align::Left);
    for experiment in experiments {
        let last = match Comparison::stored(folder, &experiment.id)? {
            None => "not run".to_owned(),
            Some(last) => {
                let quick = if last.is_quick { " (quick)" } else { "" };
                short_counts(last.counts()) + quick
            }
        };
        table.row([
            cut(&experiment.id, 22),
            experiment.engine.name().to_owned(),
            cut(&experiment.title, 26),
            last,
        ]);
    }
    table.note(format!(
        "last: green/yellow/red values of the last run, from {}",
        folder.display()
    ));
    Ok(table)
}

/// What the paper has, what we have, how close that is; 80 columns.
fn table(experiment: &Experiment, comparison: &Comparison) -> Table {
    let mut table = Table::new(format!("{}: {}", experiment.id, experiment.title))
        .column("what", Align::Left)
        .column("case", Align::Left)
        .column("paper", Align::Right)
        .column("ours", Align::Right)
        .column("±", Align::Right)
        .column("verdict", Align::Left);
    let mut row = "";
    for cell in &comparison.cells {
        let name = match (cell.row == row, cell.unit.symbol()) {
            (true, _) => String::new(),
            (false, "") => cell.row.clone(),
            (false, symbol) => format!("{}, {symbol}", cell.row),
        };
        row = &cell.row;
        let ours = cell.ours.map_or("none".into(), |ours| number(ours, cell));
        let spread = cell
            .half_width_95
            .map_or(String::new(), |half| number(half, cell));
        table.row([
            cut(&name, 21),
            cut(&cell.case, 18),
            format!("{}{}", cell.bound.sign(), cell.paper),
            ours,
            spread,
            cell.verdict.name().into(),
        ]);
    }
    for note in notes(comparison) {
        table.note(note);
    }
    table
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let runs = match comparison.engine {
        Engine::Analytic => "by a formula, without runs".to_owned(),
        Engine::Sim | Engine::Lab => {
            let plural = output::plural(u64::from(comparison.runs));
            let quick = if comparison.is_quick {
                " (quick: fewer than it takes)"
            } else {
                ""
            };
            format!(
                "{} run{plural} of each case{quick}, 95 % interval",
                comparison.runs
            )
        }
    };
    let mut notes = vec![format!("{}; {runs}.", counts_text(comparison.counts()))];
    let mut explained: Vec<&str> = Vec::new();
    for cell in &comparison.cells {
        let is_red = cell.verdict == ebb_experiments::Verdict::Red;
        if explained.contains(&cell.row.as_str()) || (cell.why.is_none() && !is_red) {
            continue;
        }
        if cell.verdict != ebb_experiments::Verdict::Green {
            let why = cell.why.as_deref().unwrap_or("not looked for yet");
            notes.push(format!("{}: {why}", cell.row));
            explained.push(&cell.row);
        }
    }
    notes
}

/// As many digits as the paper has, and three that count.
fn number(value: f64, cell: &Cell) -> String {
    let paper = cell.paper.to_string();
    let decimals = paper
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let significant = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let scale = cell.paper.abs().max(cell.ours.unwrap_or(0.0).abs());
    match value != 0.0 && value.abs() < 1e-3 * scale.min(1.0) {
        // What is not nothing does not look like it.
        true => format!("{value:.0e}"),
        false if value == 0.0 => format!("{value:.decimals$}"),
        false => format!("{value:.0$}", decimals.max(significant).min(5)),
    }
}

fn total(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold(Counts::default(), |sum, one| Counts {
        green: sum.green + one.green,
        yellow: sum.yellow + one.yellow,
        red: sum.red + one.red,
    })
}

fn counts_text(counts: Counts) -> String {
    let Counts { green, yellow, red } = counts;
    format!("{green} green, {yellow} yellow, {red} red")
}

fn short_counts(counts: Counts) -> String {
    format!("{}/{}/{}", counts.green, counts.yellow, counts.red)
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
