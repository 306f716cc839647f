// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The front page: a line for each experiment on each of its engines.
use std::fmt::Write;

use ebb_experiments::{Comparison, Counts, Engine};

use super::{Entry, by, counts, escape};

pub(super) fn page(entries: &[Entry<'_>]) -> String {
    let all = entries.iter().flat_map(|entry| &entry.comparisons);
    let mut body = format!(
        "<h1>What the papers report, and what Ebb gets</h1>\n<p>{} tables and figures. {}</p>\n",
        entries.len(),
        match all.clone().next() {
            Some(_) => "Of their values, on each engine:",
            None => "None was run yet.",
        }
    );
    verdicts(&mut body, all.clone());
    body.push_str(
        "<p class=\"faint\">Green: the paper’s value lies in our 95 % interval or within the tolerance. \
         Yellow: the values of its row are at least in the paper’s order. Red: neither. Shortened: \
         not the paper’s scenario, so beside the simulator only.</p>\n",
    );
    let apart: Vec<f64> = all.filter_map(|it| it.goodput_apart).collect();
    if !apart.is_empty() {
        let _ = writeln!(
            body,
            "<p>Kernel and simulator in the same scenarios: {:.1} % of goodput is elsewhere, mean \
             of {} experiments.</p>",
            apart.iter().sum::<f64>() / apart.len() as f64 * 100.0,
            apart.len()
        );
    }
    let mut paper = "";
    for entry in entries {
        let own = entry.experiment.id.split('/').next().unwrap_or("");
        if own != paper {
            if !paper.is_empty() {
                body.push_str("</tbody></table>\n");
            }
            let _ = write!(
                body,
                "<h2>{}</h2>\n<table class=\"cells\"><thead><tr><th>ID</th><th>engine</th>\
                 <th>last verdicts</th><th>runs</th></tr></thead><tbody>\n",
                escape(own)
            );
            paper = own;
        }
        lines(&mut body, entry);
    }
    if !paper.is_empty() {
        body.push_str("</tbody></table>\n");
    }
    super::page("What the papers report, and what Ebb gets", &body)
}

/// A line for each engine that ran something.
fn verdicts<'c>(body: &mut String, all: impl Iterator<Item = &'c Comparison> + Clone) {
    let engines = Counts::by_engine(all);
    if engines.is_empty() {
        return;
    }
    body.push_str("<ul>\n");
    for (engine, count, of_engine) in engines {
        let _ = writeln!(
            body,
            "<li>{}, {count} that {}: {}</li>",
            by(engine),
            if count == 1 { "was run" } else { "were run" },
            counts(of_engine)
        );
    }
    body.push_str("</ul>\n");
}

fn lines(body: &mut String, entry: &Entry<'_>) {
    let experiment = entry.experiment;
    for (number, engine) in experiment.engines.iter().enumerate() {
        let last = entry.comparisons.iter().find(|it| it.engine == *engine);
        let id = match number {
            0 => format!(
                "<a href=\"{0}.html\">{0}</a><br><span class=\"faint\">{1}</span>",
                escape(&experiment.id),
                escape(&experiment.title)
            ),
            _ => String::new(),
        };
        let _ = writeln!(
            body,
            "<tr><td>{id}</td><td data-l=\"engine\">{}</td><td data-l=\"verdicts\"><span>{}</span>\
             </td><td data-l=\"runs\">{}</td></tr>",
            engine.name(),
            last.map_or("not run".into(), |last| counts(last.counts())),
            last.map_or(String::new(), short_runs)
        );
    }
}

fn short_runs(comparison: &Comparison) -> String {
    let quick = if comparison.is_quick { " (quick)" } else { "" };
    match comparison.engine {
        Engine::Analytic => String::new(),
        Engine::Sim | Engine::Lab => format!("{}{quick}", comparison.runs),
    }
}
