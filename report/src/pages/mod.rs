// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of what papers report beside what we get: files that need no network and no script.
mod axes;
mod bars;
mod chart;
mod experiment;
mod front;
mod marks;
mod results;
mod strips;

use std::path::{Path, PathBuf};

use ebb_experiments::{Comparison, Counts, Engine, Experiment, Influence, Verdict};
use maud::{DOCTYPE, Markup, PreEscaped, html};

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
    /// How it is run again.
    pub commands: Commands,
}

/// Commands for the reader, as they are typed.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// For the whole experiment, one after the other.
    pub whole: Vec<String>,
    /// Each case's name, and what runs it alone.
    pub cases: Vec<(String, String)>,
}

/// Writes `index.html` and a page for each experiment, `PAPER/EXPERIMENT.html`; answers the
/// first.
///
/// *Errors:* [`Error::File`]: a page cannot be written, or a scenario not read.
pub fn write(entries: &[Entry<'_>], folder: &Path) -> Result<PathBuf, Error> {
    for entry in entries {
        let path = folder.join(format!("{}.html", entry.experiment.id));
        put(&path, &experiment::page(entry)?.0)?;
    }
    let index = folder.join("index.html");
    put(&index, &front::page(entries).0)?;
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
fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

/// A verdict: a sign, a word, and a colour for those who see it.
fn verdict(verdict: Verdict) -> Markup {
    marked(verdict, verdict.name())
}

fn marked(verdict: Verdict, text: &str) -> Markup {
    let sign = match verdict {
        Verdict::Green => '●',
        Verdict::Yellow => '▲',
        Verdict::Red => '■',
        Verdict::Shortened => '○',
    };
    html! { span class={ "v " (verdict.name()) } { (sign) " " (text) } }
}

/// How many there are of each verdict, without those of which there are none.
fn counts(counts: Counts) -> Markup {
    let all = [
        (Verdict::Green, counts.green),
        (Verdict::Yellow, counts.yellow),
        (Verdict::Red, counts.red),
        (Verdict::Shortened, counts.shortened),
    ];
    let some = all.into_iter().filter(|(_, count)| *count > 0);
    let shown = (counts.shown > 0).then(|| format!(" and {} not counted", counts.shown));
    html! {
        @for (place, (verdict, count)) in some.enumerate() {
            @if place > 0 { " " }
            (marked(verdict, &format!("{count} {}", verdict.name())))
        }
        @if let Some(shown) = shown { span.faint { (shown) } }
    }
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
