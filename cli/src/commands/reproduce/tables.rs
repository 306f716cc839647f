// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `ebb reproduce` prints.
use std::path::Path;

use anyhow::Result;
use ebb_experiments::{Comparison, Counts, Engine, Experiment, Influence};
use ebb_report::table::{Align, Table};

use crate::output;

/// A line for each experiment on each of its engines.
pub(super) fn list(experiments: &[Experiment], folder: &Path) -> Result<Table> {
    let mut table = Table::new("")
        .column("ID", Align::Left)
        .column("engine", Align::Left)
        .column("about", Align::Left)
        .column("last", Align::Left);
    for experiment in experiments {
        for (number, engine) in experiment.engines.iter().enumerate() {
            let last = match Comparison::stored(folder, &experiment.id, *engine)? {
                None => "not run".to_owned(),
                Some(last) => {
                    let quick = if last.is_quick { " (quick)" } else { "" };
                    short_counts(last.counts()) + quick
                }
            };
            let [id, title] = match number {
                0 => [cut(&experiment.id, 24), cut(&experiment.title, 25)],
                _ => [String::new(), String::new()],
            };
            table.row([id, engine.name().to_owned(), title, last]);
        }
    }
    table.note(format!(
        "last: green/yellow/red values of the last run, from {}",
        folder.display()
    ));
    Ok(table)
}

/// What the paper has, what we have, how close that is; 80 columns.
pub(super) fn table(experiment: &Experiment, comparison: &Comparison) -> Table {
    let is_lab = comparison.engine == Engine::Lab;
    let mut table = Table::new(format!("{}: {}", experiment.id, experiment.title))
        .column("what", Align::Left)
        .column("case", Align::Left)
        .column("paper", Align::Right)
        .column("ours", Align::Right)
        .column("±", Align::Right);
    if is_lab {
        table = table
            .column("sim", Align::Right)
            .column("apart", Align::Right);
    }
    table = table.column("verdict", Align::Left);
    let mut row = "";
    for cell in &comparison.cells {
        let name = match (cell.row == row, cell.unit.symbol()) {
            (true, _) => String::new(),
            (false, "") => cell.row.clone(),
            (false, symbol) => format!("{}, {symbol}", cell.row),
        };
        row = &cell.row;
        let number = |value: Option<f64>| value.map(|value| cell.number(value));
        let [name_width, case_width] = if is_lab { [15, 11] } else { [21, 18] };
        let mut line = vec![
            cut(&name, name_width),
            cut(&cell.case, case_width),
            format!("{}{}", cell.bound.sign(), cell.paper),
            number(cell.ours).unwrap_or("none".into()),
            number(cell.half_width_95).unwrap_or_default(),
        ];
        if is_lab {
            line.push(number(cell.simulated).unwrap_or("none".into()));
            line.push(
                cell.apart()
                    .map_or("".into(), |part| format!("{:+.1}%", part * 100.0)),
            );
        }
        line.push(cell.verdict.name().into());
        table.row(line);
    }
    for note in notes(comparison) {
        table.note(note);
    }
    table
}

/// How the values of a table move with an assumption.
pub(super) fn influence(id: &str, influence: &Influence) -> String {
    let mut table = Table::new(format!("{id}: {}", influence.assumption))
        .column("what", Align::Left)
        .column("case", Align::Left)
        .column("paper", Align::Right);
    for value in &influence.values {
        table = table.column(cut(value, 12), Align::Right);
    }
    for line in &influence.lines {
        let ours = line.ours.iter().map(|ours| match ours {
            Some(ours) => ebb_experiments::number(*ours, line.paper),
            None => "none".into(),
        });
        let name = match line.unit.symbol() {
            "" => line.row.clone(),
            symbol => format!("{}, {symbol}", line.row),
        };
        let head = [cut(&name, 21), cut(&line.case, 14), line.paper.to_string()];
        table.row(head.into_iter().chain(ours));
    }
    let plural = output::plural(u64::from(influence.runs));
    table.note(format!(
        "Columns are values of {}; mean of {} run{plural}.",
        influence.key, influence.runs
    ));
    format!("{table}\n")
}

/// What holds for all of several experiments together.
pub(super) fn end(comparisons: &[Comparison]) -> Option<String> {
    if comparisons.len() < 2 {
        return None;
    }
    let counts = comparisons.iter().map(Comparison::counts);
    let all = counts.fold(Counts::default(), |sum, one| Counts {
        green: sum.green + one.green,
        yellow: sum.yellow + one.yellow,
        red: sum.red + one.red,
    });
    let mut text = format!("{} experiments: {}\n", comparisons.len(), counts_text(all));
    let apart = comparisons.iter().filter_map(|it| it.goodput_apart);
    let apart: Vec<f64> = apart.collect();
    if !apart.is_empty() {
        let mean = apart.iter().sum::<f64>() / apart.len() as f64;
        text += &format!(
            "goodput in the lab is {:.1} % apart from the simulator, mean of {}\n",
            mean * 100.0,
            apart.len()
        );
    }
    Some(text)
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
    if let Some(apart) = comparison.goodput_apart {
        let chance = comparison
            .apart_by_chance
            .map_or_else(String::new, |chance| {
                format!(", {:.1} % by chance alone", chance * 100.0)
            });
        notes.push(format!(
            "sim: the simulator in the same scenario. Of all goodput {:.1} % is elsewhere{chance}.",
            apart * 100.0
        ));
    }
    if comparison.disturbed_runs > 0 {
        notes.push(format!(
            "{} runs were disturbed by the machine, also when repeated: do not believe them.",
            comparison.disturbed_runs
        ));
    }
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
