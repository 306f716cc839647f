// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far laws are from strict priority: tables, and the picture of the trade-off.
mod figure;

use ebb_experiments::score::{Distances, Score, ScoreScenario, summaries};

pub use self::figure::figure;
use crate::table::{Align, Table, cut};

/// Columns of all tables, and how a value is written.
const HEADS: [&str; 7] = [
    "taken", "+mean ms", "+p95 ms", "used", "yield s", "reap s", "Jain",
];
const NOTHING: &str = "-";
/// Longer names of laws are cut.
const NAME_WIDTH: usize = 22;

/// The mean of each law over all scenarios, the nearest to strict priority first.
pub fn summary(scores: &[Score]) -> Table {
    let scenarios = scores.iter().filter(|one| one.law == scores[0].law).count();
    let title = format!("laws, mean over {scenarios} scenarios, nearest to strict priority first");
    let mut table = table(&title, "law");
    for (law, distances) in summaries(scores) {
        table.row(line(&law, &distances));
    }
    with_notes(table, scores)
}

/// One law, a line for each scenario.
pub fn of_law(scores: &[Score]) -> Table {
    let law = scores.first().map_or("", |score| score.law.as_str());
    let mut table = table(law, "scenario");
    for score in scores {
        table.row(line(&score.scenario, &score.distances));
    }
    for (_, mean) in summaries(scores) {
        table.row(line("mean", &mean));
    }
    with_notes(table, scores)
}

/// One scenario, a line for each law.
pub fn of_scenario(scores: &[Score], scenario: &ScoreScenario) -> Table {
    let title = format!("{}: {}", scenario.name, scenario.title);
    let mut table = table(&title, "law");
    for score in scores {
        table.row(line(&score.law, &score.distances));
    }
    with_notes(table, scores)
}

/// One law in one scenario.
pub fn cell(score: &Score, scenario: &ScoreScenario) -> Table {
    let title = format!("{} in {}: {}", score.law, scenario.name, scenario.title);
    let mut table = table(&title, "law");
    table.row(line(&score.law, &score.distances));
    with_notes(table, std::slice::from_ref(score))
}

/// What there is to be run.
pub fn list(scenarios: &[&ScoreScenario]) -> Table {
    let mut table = Table::new("")
        .column("scenario", Align::Left)
        .column("quick", Align::Left)
        .column("what happens", Align::Left);
    for scenario in scenarios {
        let quick = if scenario.is_quick { "yes" } else { "" };
        table.row([scenario.name.as_str(), quick, &scenario.title]);
    }
    table
}

fn table(title: &str, first: &str) -> Table {
    let table = Table::new(title).column(first, Align::Left);
    HEADS
        .into_iter()
        .fold(table, |table, head| table.column(head, Align::Right))
}

fn line(name: &str, distances: &Distances) -> Vec<String> {
    let with =
        |value: Option<f64>, write: fn(f64) -> String| value.map_or(NOTHING.to_owned(), write);
    vec![
        cut(name, NAME_WIDTH),
        with(distances.goodput_taken, percent),
        with(distances.delay_added_mean_ms, ms),
        with(distances.delay_added_p95_ms, ms),
        with(distances.spare_used, percent),
        with(distances.time_to_yield_s, |value| format!("{value:.2}")),
        with(distances.time_to_reap_s, |value| format!("{value:.2}")),
        with(distances.jain, |value| format!("{value:.3}")),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn ms(value: f64) -> String {
    format!("{value:.1}")
}

fn with_notes(mut table: Table, scores: &[Score]) -> Table {
    let runs = scores.first().map_or(0, |score| score.runs);
    table.note(format!(
        "taken: part of the others' goodput; +mean, +p95: delay added to theirs; used: part of \
         what they leave; yield, reap: beyond what strict priority takes; {runs} run{} of each.",
        if runs == 1 { "" } else { "s" }
    ));
    table
}
