// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The front page: a line for each experiment on each of its engines.
use std::fmt::Write;

use ebb_experiments::{Comparison, Counts, Engine};

use super::{Entry, counts, escape};

pub(super) fn page(entries: &[Entry<'_>]) -> String {
    let all = entries.iter().flat_map(|entry| &entry.comparisons);
    let total = sum(all.clone().map(Comparison::counts));
    let mut body = format!(
        "<h1>What the papers report, and what Ebb gets</h1>\n\
         <p>{} tables and figures; of their values, on all engines that were run: {}.</p>\n\
         <p class=\"faint\">Green: the paper’s value lies in our 95 % interval or within the tolerance. \
         Yellow: the values of its row are at least in the paper’s order. Red: neither.</p>\n",
        entries.len(),
        match total {
            Counts {
                green: 0,
                yellow: 0,
                red: 0,
            } => "nothing yet".into(),
            total => counts(total),
        }
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

fn sum(all: impl Iterator<Item = Counts>) -> Counts {
    all.fold(Counts::default(), |sum, one| Counts {
        green: sum.green + one.green,
        yellow: sum.yellow + one.yellow,
        red: sum.red + one.red,
    })
}

fn short_runs(comparison: &Comparison) -> String {
    let quick = if comparison.is_quick { " (quick)" } else { "" };
    match comparison.engine {
        Engine::Analytic => String::new(),
        Engine::Sim | Engine::Lab => format!("{}{quick}", comparison.runs),
    }
}
