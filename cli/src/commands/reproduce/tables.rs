// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `ebb reproduce` prints.
use std::path::Path;

use anyhow::Result;
use ebb_experiments::{
    Cell, Chosen, Comparison, Counts, Engine, Experiment, Influence, InfluenceLine, tolerance,
};
use ebb_report::table::{Align, Table, cut, wrap};

use super::again;
use super::layout::{LEAST, Line, WIDTH, named};
use crate::output;

/// A line for each experiment on each of its engines.
pub(super) fn list(experiments: &[Experiment], folder: &Path) -> Result<Table> {
    let mut lines = Vec::new();
    for experiment in experiments {
        lines.extend(listed(experiment, folder)?);
    }
    let heads = ["ID", "engine", "about", "last"];
    let width = |column: usize| {
        let texts = lines.iter().map(|line| line[column].chars().count());
        2 + texts.fold(heads[column].len(), usize::max)
    };
    let room = WIDTH
        .saturating_sub(width(0) + width(1) + width(3))
        .max(LEAST);
    let columns = heads.into_iter();
    let mut table = columns.fold(Table::new(""), |table, head| {
        table.column(head, Align::Left)
    });
    for [id, engine, title, last] in lines {
        table.row([id, engine, cut(&title, room), last]);
    }
    table.note(format!(
        "last: green/yellow/red values of the last run, from {}",
        folder.display()
    ));
    Ok(table)
}

/// ID, engine, title and what came out last, engine by engine.
fn listed(experiment: &Experiment, folder: &Path) -> Result<Vec<[String; 4]>> {
    let mut lines = Vec::new();
    for (number, engine) in experiment.engines.iter().enumerate() {
        let last = match Comparison::stored(folder, &experiment.id, *engine)? {
            None => "not run".to_owned(),
            Some(last) => {
                let quick = if last.is_quick { " (quick)" } else { "" };
                short_counts(last.counts()) + quick
            }
        };
        let [id, title] = match number {
            0 => [&*experiment.id, &experiment.title],
            _ => ["", ""],
        };
        let engine = engine.name().to_owned();
        lines.push([id.to_owned(), engine, title.to_owned(), last]);
    }
    Ok(lines)
}

/// What the paper has, what we have, how close that is, and how it is run again: `flags` are what
/// was asked for beyond the experiment and its engine.
pub(super) fn text(experiment: &Experiment, comparison: &Comparison, flags: &str) -> String {
    let again = again::reproduce(experiment, comparison.engine);
    // A line for the shell: it must not be wrapped.
    format!("{}Again: {again}{flags}\n", table(experiment, comparison))
}

fn table(experiment: &Experiment, comparison: &Comparison) -> Table {
    let lines = comparison.cells.iter();
    let lines = lines.map(|cell| line(cell, comparison.engine));
    let title = format!("{}: {}", experiment.id, experiment.title);
    let did = experiment.did.split_whitespace().collect::<Vec<_>>();
    let did = did.join(" ");
    let did = did.split_once(". ").map_or(&*did, |(first, _)| first);
    let about = format!(
        "{}\n{}.",
        wrap(&title, WIDTH),
        wrap(did.trim_end_matches('.'), WIDTH - 1)
    );
    let mut table = named(about, heads(comparison), &lines.collect::<Vec<_>>());
    for note in notes(comparison) {
        table.note(note);
    }
    let files = experiment.files().into_iter();
    let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    table.note(format!("Files: {}", files.join(", ")));
    table
}

fn heads(comparison: &Comparison) -> Vec<(String, Align)> {
    let theirs = if comparison.is_own { "bound" } else { "paper" };
    let of_lab: &[&str] = match comparison.engine {
        Engine::Lab => &["min–max", "sim", "apart"],
        Engine::Sim | Engine::Analytic => &[],
    };
    let values = [theirs, "within", "ours", "±"];
    let values = values.iter().chain(of_lab);
    let values = values.map(|head| ((*head).to_owned(), Align::Right));
    let names = ["policy", "verdict"].map(|head| (head.to_owned(), Align::Left));
    let [policy, verdict] = names;
    [policy]
        .into_iter()
        .chain(values)
        .chain([verdict])
        .collect()
}

/// *Shape:* of its values: as [`heads`].
fn line(cell: &Cell, engine: Engine) -> Line {
    let number = |value: Option<f64>| value.map(|value| cell.number(value));
    let mut values = vec![
        cell.policy.clone().unwrap_or_default(),
        format!("{}{}", cell.bound.sign(), cell.paper),
        cell.within().map(tolerance).unwrap_or_default(),
        number(cell.ours).unwrap_or("none".into()),
        number(cell.half_width_95).unwrap_or_default(),
    ];
    if engine == Engine::Lab {
        let range = cell.range().map(|ends| ends.map(|end| cell.number(end)));
        values.push(range.map_or(String::new(), |[min, max]| format!("{min}–{max}")));
        values.push(number(cell.simulated).unwrap_or("none".into()));
        let apart = cell.apart().map(|part| format!("{:+.1}%", part * 100.0));
        values.push(apart.unwrap_or_default());
    }
    let mark = if cell.disturbed_runs.is_empty() {
        ""
    } else {
        " !"
    };
    let shown = cell.is_shown_as().map(|it| format!(" ({it})"));
    let shown = shown.unwrap_or_default();
    values.push(format!("{}{shown}{mark}", cell.verdict.name()));
    Line::new(&cell.row, cell.unit, &cell.case, values)
}

/// How the values of a table move with an assumption.
pub(super) fn influence(id: &str, influence: &Influence) -> String {
    let mut heads = vec![("paper".to_owned(), Align::Right)];
    let values = influence.values.iter();
    heads.extend(values.map(|value| (cut(value, 12), Align::Right)));
    let line = |line: &InfluenceLine| {
        let ours = line.ours.iter().map(|ours| match ours {
            Some(ours) => ebb_experiments::number(*ours, line.paper),
            None => "none".into(),
        });
        let paper = format!("{}{}", line.bound.sign(), line.paper);
        let values = [paper].into_iter().chain(ours).collect();
        Line::new(&line.row, line.unit, &line.case, values)
    };
    let lines: Vec<Line> = influence.lines.iter().map(line).collect();
    let title = format!("{id}: {}", influence.assumption);
    let mut table = named(wrap(&title, WIDTH), heads, &lines);
    let plural = output::plural(u64::from(influence.runs));
    table.note(format!(
        "Columns are values of {}; mean of {} run{plural}.",
        influence.key, influence.runs
    ));
    format!("{table}\n")
}

/// What holds for all of several experiments together, on each engine.
pub(super) fn end(comparisons: &[Comparison]) -> Option<String> {
    if comparisons.len() < 2 {
        return None;
    }
    let mut text = String::new();
    for (engine, count, counts) in Counts::by_engine(comparisons.iter()) {
        let (name, plural) = (engine.name(), output::plural(count as u64));
        let counts = counts_text(counts);
        text += &format!("{name}: {count} experiment{plural}, {counts}\n");
    }
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
    let runs = of_runs(comparison);
    let mut notes = vec![format!("{}; {runs}.", counts_text(comparison.counts()))];
    notes.extend(by_choice(comparison));
    if comparison.counts().shortened > 0 {
        notes.push(
            "shortened: not the paper's scenario; its values are not judged, and stand beside the \
             simulator's in the same."
                .into(),
        );
    }
    if let Some(apart) = comparison.goodput_apart {
        let chance = comparison.apart_by_chance;
        let chance = chance.map(|chance| format!(", {:.1} % by chance alone", chance * 100.0));
        notes.push(format!(
            "sim: the simulator in the same scenario. Of all goodput {:.1} % is elsewhere{}.",
            apart * 100.0,
            chance.unwrap_or_default()
        ));
    }
    if comparison.disturbed_runs > 0 {
        notes.push(format!(
            "{} runs were disturbed by the machine, also when repeated: do not believe them (!).",
            comparison.disturbed_runs
        ));
        notes.extend(disturbed(comparison));
    }
    notes.extend(comparison.cells.iter().filter_map(Cell::missing_runs));
    let reasons = comparison.reasons().into_iter();
    notes.extend(reasons.map(|(row, why)| format!("{row}: {why}")));
    notes
}

/// How many there are of each verdict by how set-ups were chosen, where that is not one for all.
fn by_choice(comparison: &Comparison) -> Option<String> {
    let of = |(name, chosen): (&str, Chosen)| {
        let counts = comparison.counts_of(chosen);
        (counts.judged() > 0).then(|| format!("{name} {}", short_counts(counts)))
    };
    let parts: Vec<String> = Chosen::ALL.into_iter().filter_map(of).collect();
    let is_all_stated = comparison
        .cells
        .iter()
        .all(|it| it.chosen == Chosen::Stated);
    (!is_all_stated).then(|| format!("Set-up: {}.", parts.join(", ")))
}

/// Of how many runs it is.
fn of_runs(comparison: &Comparison) -> String {
    if comparison.engine == Engine::Analytic {
        return "by a formula, without runs".to_owned();
    }
    let plural = output::plural(u64::from(comparison.runs));
    let quick = match comparison.is_quick {
        true => " (quick: fewer than it takes)",
        false => "",
    };
    format!(
        "{} run{plural} of each case{quick}, 95 % interval",
        comparison.runs
    )
}

/// Which runs were disturbed, a line for each case.
fn disturbed(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in &comparison.cells {
        let runs = cell.disturbed_runs.iter().map(|run| (run + 1).to_string());
        let runs: Vec<String> = runs.collect();
        let policy = cell.policy.iter().map(|policy| format!(" under {policy}"));
        let (runs, policy) = (runs.join(", "), policy.collect::<String>());
        let line = format!("! {}{policy}: {runs} of {}", cell.case, comparison.runs);
        if !cell.disturbed_runs.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn counts_text(counts: Counts) -> String {
    let Counts {
        green, yellow, red, ..
    } = counts;
    let judged = format!("{green} green, {yellow} yellow, {red} red");
    let mut parts = Vec::new();
    if counts.judged() > 0 || counts.shortened + counts.shown == 0 {
        parts.push(judged);
    }
    let others = [
        (counts.shortened, "shortened"),
        (counts.shown, "not counted"),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, name)| format!("{count} {name}")));
    parts.join(", ")
}

fn short_counts(counts: Counts) -> String {
    if counts.shortened > 0 && counts.judged() == 0 {
        return "shortened".into();
    }
    format!("{}/{}/{}", counts.green, counts.yellow, counts.red)
}
