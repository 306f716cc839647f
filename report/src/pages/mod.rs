// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of what papers report beside what we get: files that need no network and no script.
mod bars;
mod chart;
mod experiment;
mod frame;
mod front;
mod strips;

use std::path::{Path, PathBuf};

use ebb_experiments::{Comparison, Counts, Engine, Experiment, Influence, Verdict};

use crate::Error;

const STYLE: &str = include_str!("style.css");

/// An experiment with what is known of it.
#[derive(Clone, Debug)]
pub struct Entry<'e> {
    /// The experiment.
    pub experiment: &'e Experiment,
    /// What came out last. *Shape:* at most one for each engine, in their order.
    pub comparisons: Vec<Comparison>,
    /// How assumptions matter.
    pub influences: Vec<Influence>,
}

/// Writes `index.html` and a page for each experiment, `PAPER/EXPERIMENT.html`; answers the
/// first.
///
/// *Errors:* [`Error::File`]: a page cannot be written, or a scenario not read.
pub fn write(entries: &[Entry<'_>], folder: &Path) -> Result<PathBuf, Error> {
    for entry in entries {
        let path = folder.join(format!("{}.html", entry.experiment.id));
        put(&path, &experiment::page(entry)?)?;
    }
    let index = folder.join("index.html");
    put(&index, &front::page(entries))?;
    Ok(index)
}

fn put(path: &Path, text: &str) -> Result<(), Error> {
    let parent = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
}

/// A whole page.
fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A verdict: a sign, a word, and a colour for those who see it.
fn verdict(verdict: Verdict) -> String {
    let name = verdict.name();
    format!("<span class=\"v {name}\">{} {name}</span>", sign(verdict))
}

fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Green => '●',
        Verdict::Yellow => '▲',
        Verdict::Red => '■',
        Verdict::Shortened => '○',
    }
}

/// How many there are of each verdict, without those of which there are none.
fn counts(counts: Counts) -> String {
    let all = [
        (Verdict::Green, counts.green),
        (Verdict::Yellow, counts.yellow),
        (Verdict::Red, counts.red),
        (Verdict::Shortened, counts.shortened),
    ];
    let part = |(verdict, count): (Verdict, usize)| {
        let name = verdict.name();
        format!(
            "<span class=\"v {name}\">{} {count} {name}</span>",
            sign(verdict)
        )
    };
    let parts: Vec<String> = all
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(part)
        .collect();
    parts.join(" ")
}

/// What ran it.
fn by(engine: Engine) -> &'static str {
    match engine {
        Engine::Sim => "In the simulator",
        Engine::Lab => "With real kernel TCP",
        Engine::Analytic => "By a formula",
    }
}

/// How often it was run.
fn runs(comparison: &Comparison) -> String {
    if comparison.engine == Engine::Analytic {
        return "a formula".into();
    }
    let plural = if comparison.runs == 1 { "" } else { "s" };
    let quick = if comparison.is_quick {
        ", quick: fewer than it takes"
    } else {
        ""
    };
    format!("{} run{plural}{quick}", comparison.runs)
}
