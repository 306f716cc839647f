// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The front page: a line for each experiment on each of its engines.
use ebb_experiments::{Comparison, Counts, Engine};
use ebb_scenario::stats::mean;
use maud::{Markup, html};

use super::{Entry, by, counts};

const TITLE: &str = "What the papers report, and what Ebb gets";

pub(super) fn page(entries: &[Entry<'_>]) -> Markup {
    let all = entries.iter().flat_map(|entry| &entry.comparisons);
    let ran = match all.clone().next() {
        Some(_) => "Of their values, on each engine:",
        None => "None was run yet.",
    };
    let papers = entries.chunk_by(|one, next| paper(one) == paper(next));
    let body = html! {
        h1 { (TITLE) }
        p { (entries.len()) " tables and figures. " (ran) }
        (verdicts(all.clone()))
        p.faint {
            "Green: our whole 95 % interval lies in what the paper says. Yellow: a part of it. Red: none \
             of it. Not counted: what was fitted to these very values, follows from others, tests the \
             set-up, or has a bound that no paper states. Shortened: not the paper’s scenario, so \
             beside the simulator only."
        }
        (apart(all))
        @for entries in papers {
            h2 { (paper(&entries[0])) }
            table.cells {
                thead { tr { th { "ID" } th { "engine" } th { "last verdicts" } th { "runs" } } }
                tbody { @for entry in entries { (lines(entry)) } }
            }
        }
    };
    super::page(TITLE, &body)
}

fn paper<'e>(entry: &Entry<'e>) -> &'e str {
    entry.experiment.id.split('/').next().unwrap_or("")
}

/// A line for each engine that ran something.
fn verdicts<'c>(all: impl Iterator<Item = &'c Comparison> + Clone) -> Markup {
    let engines = Counts::by_engine(all);
    html! {
        @if !engines.is_empty() {
            ul {
                @for (engine, count, of_engine) in engines {
                    li {
                        (by(engine)) ", " (count) " that "
                        (if count == 1 { "was run" } else { "were run" }) ": "
                        (counts(of_engine))
                    }
                }
            }
        }
    }
}

/// How far the lab is from the simulator, where both ran the same.
fn apart<'c>(all: impl Iterator<Item = &'c Comparison>) -> Markup {
    let apart: Vec<f64> = all.filter_map(|it| it.goodput_apart).collect();
    html! {
        @if let Some(mean) = mean(&apart) {
            p {
                "Kernel and simulator in the same scenarios: " (format!("{:.1}", mean * 100.0))
                " % of goodput is elsewhere, mean of " (apart.len()) " experiments."
            }
        }
    }
}

fn lines(entry: &Entry<'_>) -> Markup {
    let experiment = entry.experiment;
    html! {
        @for (number, engine) in experiment.engines.iter().enumerate() {
            @let last = entry.comparisons.iter().find(|it| it.engine == *engine);
            tr {
                td {
                    @if number == 0 {
                        a href={ (experiment.id) ".html" } { (experiment.id) }
                        br;
                        span.faint { (experiment.title) }
                    }
                }
                td data-l="engine" { (engine.name()) }
                td data-l="verdicts" {
                    span {
                        @match last {
                            Some(last) => (counts(last.counts())),
                            None => "not run",
                        }
                    }
                }
                td data-l="runs" { (last.map_or(String::new(), short_runs)) }
            }
        }
    }
}

fn short_runs(comparison: &Comparison) -> String {
    let quick = if comparison.is_quick { " (quick)" } else { "" };
    match comparison.engine {
        Engine::Analytic => String::new(),
        Engine::Sim | Engine::Lab => format!("{}{quick}", comparison.runs),
    }
}
