// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of an experiment: values, pictures, assumptions, and how to run it.
use ebb_experiments::{Experiment, Influence, InfluenceLine, number};
use maud::{Markup, html};

use super::results::results;
use super::{Commands, Entry};
use crate::Error;

pub(super) fn page(entry: &Entry<'_>) -> Result<Markup, Error> {
    let experiment = entry.experiment;
    let title = format!("{}: {}", experiment.id, experiment.title);
    let body = html! {
        p { a href="../index.html" { "All experiments" } }
        h1 { (title) }
        p { (experiment.did.trim()) }
        @if entry.comparisons.is_empty() { p { strong { "Not run yet." } } }
        @for comparison in &entry.comparisons { (results(comparison)) }
        (list("How the paper's words were taken", &experiment.taken))
        (list("What was assumed", &experiment.assumed))
        @for one in &entry.influences { (influence(one)) }
        (commands(&entry.commands))
        h2 { "Files" }
        (files(experiment)?)
    };
    Ok(super::page(&title, &body))
}

fn list(heading: &str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            h2 { (heading) }
            ul { @for item in items { li { (item) } } }
        }
    }
}

/// How an assumption matters: a column for each value of it.
fn influence(influence: &Influence) -> Markup {
    html! {
        h3 { "How it matters: " (influence.assumption) }
        p.faint {
            "Columns are values of " code { (influence.key) } "; mean of " (influence.runs) " runs."
        }
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th { "what" } th { "case" } th.n { "paper" }
                        @for value in &influence.values { th.n { (value) } }
                    }
                }
                tbody { @for line in &influence.lines { (influence_line(line)) } }
            }
        }
    }
}

fn influence_line(line: &InfluenceLine) -> Markup {
    let name = match line.unit.symbol() {
        "" => line.row.clone(),
        symbol => format!("{}, {symbol}", line.row),
    };
    html! {
        tr {
            td { (name) }
            td { (line.case) }
            td.n { (line.bound.sign()) (line.paper) }
            @for ours in &line.ours {
                td.n { (ours.map_or("none".into(), |ours| number(ours, line.paper))) }
            }
        }
    }
}

fn commands(commands: &Commands) -> Markup {
    html! {
        @if !commands.whole.is_empty() {
            h2 { "How to run it" }
            pre tabindex="0" { @for command in &commands.whole { (command) "\n" } }
        }
        @if !commands.cases.is_empty() {
            details {
                summary { "One case alone" }
                pre tabindex="0" {
                    @for (case, command) in &commands.cases { "# " (case) "\n" (command) "\n" }
                }
            }
        }
    }
}

/// The experiment's file and the scenarios that it names.
fn files(experiment: &Experiment) -> Result<Markup, Error> {
    let mut files = Vec::new();
    for path in experiment.files() {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })?;
        files.push((path, text));
    }
    Ok(html! {
        @for (path, text) in files {
            details {
                summary { (path.display()) }
                pre tabindex="0" { (text) }
            }
        }
    })
}
