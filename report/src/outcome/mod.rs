// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario gave: a table for the terminal, a figure over time.
mod applications;
mod figure;
mod flows;
mod links;
mod rows;
mod sweep;

pub use figure::figure;
pub use sweep::{SweepPoint, sweep_csv, sweep_table};

use ebb_scenario::stats::Spread;
use ebb_scenario::{Interval, Results};

use crate::table::wrap;
use crate::units;

/// All tables of all intervals, in at most 80 columns.
pub fn text(results: &Results) -> String {
    let mut text = head(results);
    for place in 0..results.scenario.intervals.len() {
        text.push('\n');
        text += &flows::table(results, place).to_string();
        if let Some(links) = links::table(results, place) {
            text.push('\n');
            text += &links.to_string();
        }
        if let Some(applications) = applications::table(results, place) {
            text.push('\n');
            text += &applications.to_string();
        }
    }
    text
}

/// Name, title, what was run.
fn head(results: &Results) -> String {
    let scenario = &results.scenario;
    let mut text = match scenario.title.as_str() {
        "" => scenario.name.clone(),
        title => format!("{}: {title}", scenario.name),
    };
    text = wrap(&text, WIDTH);
    let runs = results.runs.len();
    let seeds = match (results.runs.first(), results.runs.last()) {
        (Some(first), Some(last)) if runs > 1 => {
            format!("{runs} runs, seeds {} to {}", first.seed, last.seed)
        }
        (Some(only), _) => format!("seed {}", only.seed),
        _ => "no run".into(),
    };
    let flows = scenario.flows.len();
    let ending = if flows == 1 { "" } else { "s" };
    text + &format!("\n{flows} flow{ending}, {}, {seeds}\n", scenario.duration)
}

const WIDTH: usize = 80;

/// What stands over the tables of an interval.
fn interval_title(interval: &Interval) -> String {
    let (from, to) = (interval.from.as_secs_f64(), interval.to.as_secs_f64());
    format!("{}, {from} to {to} s", interval.name)
}

/// The mean over runs, with the 95 % interval where there are several: `5.97 ±0.02`.
fn spread(values: &[f64], scale: f64) -> String {
    let Some(spread) = Spread::of(values) else {
        return NOTHING.into();
    };
    let mean = units::significant(spread.mean / scale);
    match spread.half_width_95 {
        Some(half) => format!("{mean} ±{}", units::significant(half / scale)),
        None => mean,
    }
}

const NOTHING: &str = "-";
