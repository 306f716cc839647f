// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happened when, in order of time.

use ebb_scenario::{Outcome, Results, Scenario};
use pyo3::PyResult;

use super::of_runs;
use crate::table::Table;

struct Row<'a> {
    run: &'a Outcome,
    time_s: f64,
    event: &'static str,
    name: &'a str,
}

/// A row for each event of each run: who starts, stops or is complete, when a flow's `during`
/// and the intervals begin and end, when a group's wishes change.
pub fn table(results: &Results) -> PyResult<Table> {
    let mut rows = Vec::new();
    for run in &results.runs {
        let mut events = of_scenario(&results.scenario);
        for flow in &run.flows {
            events.push((flow.start_s, "starts", &flow.name));
            let end_s = flow.completion_s.map(|took_s| flow.start_s + took_s);
            events.extend(end_s.map(|end_s| (end_s, "is complete", flow.name.as_str())));
        }
        for interval in &run.intervals {
            events.push((interval.from_s, "interval begins", &interval.name));
            events.push((interval.to_s, "interval ends", &interval.name));
        }
        events.retain(|(time_s, ..)| *time_s <= run.duration_s);
        // Stable: what is at the same time stays in the scenario's order.
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        rows.extend(events.into_iter().map(|(time_s, event, name)| Row {
            run,
            time_s,
            event,
            name,
        }));
    }
    of_runs(&rows, |it| it.run)?
        .number("time_s", |it| it.time_s)?
        .text("event", |it| it.event)?
        .text("name", |it| it.name)?
        .finish()
}

/// What is at the same time in all runs.
fn of_scenario(scenario: &Scenario) -> Vec<(f64, &'static str, &str)> {
    let mut events = Vec::new();
    for flow in &scenario.flows {
        let name = flow.name.as_str();
        events.extend(flow.stop.map(|at| (at.as_secs_f64(), "stops", name)));
        for during in &flow.during {
            events.push((during.from.as_secs_f64(), "policy begins", name));
            events.push((during.to.as_secs_f64(), "policy ends", name));
        }
    }
    for group in &scenario.sharing {
        for change in &group.changes {
            events.push((
                change.at.as_secs_f64(),
                "wishes change",
                group.name.as_str(),
            ));
        }
    }
    events
}
