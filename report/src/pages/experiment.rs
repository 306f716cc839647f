// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of an experiment: values, pictures, assumptions, and how to run it.
use std::fmt::Write;

use ebb_experiments::{Cell, Comparison, Engine, Experiment, Influence, Unit, number, tolerance};

use super::{Entry, by, chart, counts, escape, runs, strips, verdict};
use crate::{Error, command};

pub(super) fn page(entry: &Entry<'_>) -> Result<String, Error> {
    let experiment = entry.experiment;
    let mut body = format!(
        "<p><a href=\"../index.html\">All experiments</a></p>\n<h1>{}: {}</h1>\n<p>{}</p>\n",
        escape(&experiment.id),
        escape(&experiment.title),
        escape(experiment.did.trim())
    );
    if entry.comparisons.is_empty() {
        body.push_str("<p><strong>Not run yet.</strong></p>\n");
    }
    for comparison in &entry.comparisons {
        results(&mut body, comparison);
    }
    list(
        &mut body,
        "How the paper's words were taken",
        &experiment.taken,
    );
    assumptions(&mut body, experiment, &entry.influences);
    commands(&mut body, experiment);
    files(&mut body, experiment)?;
    let title = format!("{}: {}", experiment.id, experiment.title);
    Ok(super::page(&title, &body))
}

fn results(body: &mut String, comparison: &Comparison) {
    let engine = by(comparison.engine);
    let _ = write!(
        body,
        "<h2>{engine}</h2>\n<p>{} <span class=\"faint\">({}; Ebb {})</span></p>\n",
        counts(comparison.counts()),
        runs(comparison),
        escape(&comparison.version)
    );
    if comparison.counts().shortened > 0 {
        body.push_str(
            "<p><strong>Shortened: not the paper’s scenario.</strong> Its values are not judged, and \
             stand beside the simulator’s in the same.</p>\n",
        );
    }
    if let Some(apart) = comparison.goodput_apart {
        let chance = comparison
            .apart_by_chance
            .map_or_else(String::new, |chance| {
                format!(
                    "; two of the simulator would be {:.1} % apart by chance",
                    chance * 100.0
                )
            });
        let _ = writeln!(
            body,
            "<p>Of all goodput {:.1} % is elsewhere than in the simulator in the same scenario{chance}.</p>",
            apart * 100.0
        );
    }
    if comparison.disturbed_runs > 0 {
        let _ = writeln!(
            body,
            "<p><strong>{} runs were disturbed by the machine, also when repeated: do not believe \
             them.</strong></p>",
            comparison.disturbed_runs
        );
    }
    for picture in &comparison.pictures {
        body.push_str(&chart::picture(picture));
    }
    if comparison.pictures.is_empty() {
        for unit in units(&comparison.cells) {
            body.push_str(&strips::cells(&comparison.cells, unit));
        }
    }
    table(body, comparison);
    reasons(body, comparison);
}

fn units(cells: &[Cell]) -> Vec<Unit> {
    let mut units = Vec::new();
    for cell in cells {
        if !units.contains(&cell.unit) {
            units.push(cell.unit);
        }
    }
    units
}

fn table(body: &mut String, comparison: &Comparison) {
    let is_lab = comparison.engine == Engine::Lab;
    let lab_heads = match is_lab {
        true => "<th class=\"n\">simulator</th><th class=\"n\">apart</th>",
        false => "",
    };
    let _ = writeln!(
        body,
        "<table class=\"cells\"><thead><tr><th>what</th><th>case</th><th class=\"n\">paper</th>\
         <th class=\"n\">within</th><th class=\"n\">ours</th><th class=\"n\">± (95 %)</th>{lab_heads}<th>verdict</th></tr>\
         </thead><tbody>"
    );
    for cell in &comparison.cells {
        let with_unit = |text: String| match cell.unit.symbol() {
            "" => text,
            symbol => format!("{text} {symbol}"),
        };
        let ours = cell.ours.map(|ours| with_unit(cell.number(ours)));
        let half = cell.half_width_95.map(|half| cell.number(half));
        let _ = write!(
            body,
            "<tr><td>{}</td><td data-l=\"case\">{}</td><td class=\"n\" data-l=\"paper\">{}</td>\
             <td class=\"n\" data-l=\"within\">{}</td><td class=\"n\" data-l=\"ours\">{}</td><td class=\"n\" data-l=\"± (95 %)\">{}</td>",
            escape(&cell.row),
            escape(&cell.case),
            escape(&with_unit(format!("{}{}", cell.bound.sign(), cell.paper))),
            cell.within().map(tolerance).unwrap_or_default(),
            escape(&ours.unwrap_or("none".into())),
            escape(&half.unwrap_or_default()),
        );
        if is_lab {
            let simulated = cell.simulated.map(|value| with_unit(cell.number(value)));
            let apart = cell.apart().map(|part| format!("{:+.1} %", part * 100.0));
            let _ = write!(
                body,
                "<td class=\"n\" data-l=\"simulator\">{}</td><td class=\"n\" data-l=\"apart\">{}</td>",
                escape(&simulated.unwrap_or("none".into())),
                apart.unwrap_or_default()
            );
        }
        let _ = writeln!(
            body,
            "<td data-l=\"verdict\">{}</td></tr>",
            verdict(cell.verdict)
        );
    }
    body.push_str("</tbody></table>\n");
    for missing in comparison.cells.iter().filter_map(Cell::missing_runs) {
        let _ = writeln!(body, "<p>{}.</p>", escape(&missing));
    }
}

fn reasons(body: &mut String, comparison: &Comparison) {
    let reasons = comparison.reasons();
    if reasons.is_empty() {
        return;
    }
    body.push_str("<h3>Why ours differs</h3>\n<ul>\n");
    for (row, why) in reasons {
        let (row, why) = (escape(row), escape(why));
        let _ = writeln!(body, "<li><strong>{row}</strong>: {why}</li>");
    }
    body.push_str("</ul>\n");
}

fn list(body: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(body, "<h2>{heading}</h2>\n<ul>");
    for item in items {
        let _ = writeln!(body, "<li>{}</li>", escape(item));
    }
    body.push_str("</ul>\n");
}

fn assumptions(body: &mut String, experiment: &Experiment, influences: &[Influence]) {
    list(body, "What was assumed", &experiment.assumed);
    for influence in influences {
        let mut heads = String::new();
        for value in &influence.values {
            let _ = write!(heads, "<th class=\"n\">{}</th>", escape(value));
        }
        let _ = write!(
            body,
            "<h3>How it matters: {}</h3>\n<p class=\"faint\">Columns are values of <code>{}</code>; \
             mean of {} runs.</p>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>\
             <th>what</th><th>case</th><th class=\"n\">paper</th>{heads}</tr></thead><tbody>\n",
            escape(&influence.assumption),
            escape(&influence.key),
            influence.runs
        );
        for line in &influence.lines {
            let name = match line.unit.symbol() {
                "" => line.row.clone(),
                symbol => format!("{}, {symbol}", line.row),
            };
            let _ = write!(
                body,
                "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td>",
                escape(&name),
                escape(&line.case),
                escape(&format!("{}{}", line.bound.sign(), line.paper))
            );
            for ours in &line.ours {
                let ours = ours.map_or("none".into(), |ours| number(ours, line.paper));
                let _ = write!(body, "<td class=\"n\">{ours}</td>");
            }
            body.push_str("</tr>\n");
        }
        body.push_str("</tbody></table></div>\n");
    }
}

fn commands(body: &mut String, experiment: &Experiment) {
    body.push_str("<h2>How to run it</h2>\n<pre tabindex=\"0\">");
    for engine in &experiment.engines {
        let _ = writeln!(body, "{}", escape(&command::reproduce(experiment, *engine)));
    }
    if !experiment.sweeps.is_empty() {
        let id = escape(&experiment.id);
        let _ = writeln!(body, "ebb reproduce {id} --assumptions");
    }
    body.push_str("</pre>\n");
    if experiment.cases.is_empty() {
        return;
    }
    body.push_str("<details><summary>One case alone</summary>\n<pre tabindex=\"0\">");
    for case in &experiment.cases {
        let command = command::run(experiment, case);
        let _ = writeln!(body, "# {}\n{}", escape(&case.name), escape(&command));
    }
    body.push_str("</pre></details>\n");
}

/// The experiment's file and the scenarios that it names.
fn files(body: &mut String, experiment: &Experiment) -> Result<(), Error> {
    body.push_str("<h2>Files</h2>\n");
    for path in experiment.files() {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })?;
        let _ = write!(
            body,
            "<details><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre></details>\n",
            escape(&path.display().to_string()),
            escape(&text)
        );
    }
    Ok(())
}
