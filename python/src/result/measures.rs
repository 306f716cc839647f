// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows and links in the intervals of a scenario.

use ebb_link::Class;
use ebb_scenario::{
    ClassMeasure, Distribution, FlowMeasure, FlowOutcome, LinkMeasure, LinkOutcome, Outcome, Period,
};
use pyo3::PyResult;

use super::of_runs;
use crate::table::{Columns, Table};

/// A flow or a link in an interval of a run.
struct Row<'a, Whole, Measure> {
    run: &'a Outcome,
    interval: &'a Period,
    whole: &'a Whole,
    measure: &'a Measure,
}

type FlowRow<'a> = Row<'a, FlowOutcome, FlowMeasure>;
type LinkRow<'a> = Row<'a, LinkOutcome, LinkMeasure>;

/// A row for each run, interval and flow.
pub fn flows(runs: &[Outcome]) -> PyResult<Table> {
    let rows = rows(runs, |run| &run.flows, |flow| &flow.measures);
    let columns = begun(&rows)?
        .text("flow", |it| &it.whole.name)?
        .text("group", |it| &it.whole.group)?
        .text("class", |it| class_name(it.whole.class))?
        .text("sender", |it| &it.whole.sender)?
        .maybe_text("receiver", |it| it.whole.receiver.as_deref())?
        .number("start_s", |it| it.whole.start_s)?
        .maybe_number("completion_s", |it| it.whole.completion_s)?;
    flow_measures(columns)?.finish()
}

fn flow_measures<'r, 'a>(columns: Columns<'r, FlowRow<'a>>) -> PyResult<Columns<'r, FlowRow<'a>>> {
    let columns = columns
        .count("delivered_bytes", |it| it.measure.delivered_bytes)?
        .number("goodput_bits_per_s", |it| it.measure.goodput_bits_per_s)?
        .count("sent_bytes", |it| it.measure.sent_bytes)?
        .count("sent_pkts", |it| it.measure.sent_pkts)?
        .count("retransmitted_bytes", |it| it.measure.retransmitted_bytes)?
        .count("retransmitted_pkts", |it| it.measure.retransmitted_pkts)?
        .count("timeouts", |it| it.measure.timeouts)?
        .maybe_count("recoveries", |it| it.measure.recoveries)?
        .maybe_count("lost_pkts", |it| it.measure.lost_pkts)?;
    distribution(
        columns,
        [
            "rtt_count",
            "rtt_mean_ms",
            "rtt_min_ms",
            "rtt_median_ms",
            "rtt_p95_ms",
            "rtt_max_ms",
        ],
        |it| it.measure.rtt_ms,
    )
}

/// A row for each run, interval and link.
pub fn links(runs: &[Outcome]) -> PyResult<Table> {
    let rows = rows(runs, |run| &run.links, |link| &link.measures);
    let columns = begun(&rows)?
        .text("link", |it| &it.whole.name)?
        .maybe_number("rate_bits_per_s", |it| it.whole.rate_bits_per_s)?
        .maybe_number("utilisation", |it| it.measure.utilisation)?;
    let columns = distribution(
        columns,
        [
            "queue_delay_count",
            "queue_delay_mean_ms",
            "queue_delay_min_ms",
            "queue_delay_median_ms",
            "queue_delay_p95_ms",
            "queue_delay_max_ms",
        ],
        |it| it.measure.queue_delay_ms,
    )?
    .maybe_count("max_queue_pkts", |it| it.measure.max_queue_pkts)?
    .maybe_count("max_queue_bytes", |it| it.measure.max_queue_bytes)?;
    let columns = class(columns, "be", |it| it.measure.best_effort)?;
    class(columns, "lbe", |it| it.measure.less_than_best_effort)?.finish()
}

fn class<'r, 'a>(
    columns: Columns<'r, LinkRow<'a>>,
    name: &str,
    of: impl Fn(&LinkRow<'a>) -> ClassMeasure,
) -> PyResult<Columns<'r, LinkRow<'a>>> {
    let called = |what: &str| format!("{name}_{what}");
    columns
        .count(&called("offered_pkts"), |it| of(it).offered_pkts)?
        .count(&called("delivered_pkts"), |it| of(it).delivered_pkts)?
        .count(&called("delivered_bytes"), |it| of(it).delivered_bytes)?
        .count(&called("dropped_pkts"), |it| of(it).dropped_pkts)?
        .maybe_count(&called("lost_pkts"), |it| of(it).lost_pkts)?
        .maybe_count(&called("marked_pkts"), |it| of(it).marked_pkts)?
        .number(&called("mean_queue_delay_ms"), |it| {
            of(it).mean_queue_delay_ms
        })
}

fn rows<'a, Whole, Measure>(
    runs: &'a [Outcome],
    wholes: impl Fn(&'a Outcome) -> &'a Vec<Whole>,
    measures: impl Fn(&'a Whole) -> &'a Vec<Measure>,
) -> Vec<Row<'a, Whole, Measure>> {
    let mut rows = Vec::new();
    for run in runs {
        for (place, interval) in run.intervals.iter().enumerate() {
            for whole in wholes(run) {
                rows.push(Row {
                    run,
                    interval,
                    whole,
                    measure: &measures(whole)[place],
                });
            }
        }
    }
    rows
}

fn begun<'r, Whole, Measure>(
    rows: &'r [Row<'_, Whole, Measure>],
) -> PyResult<Columns<'r, Row<'r, Whole, Measure>>> {
    of_runs(rows, |it| it.run)?
        .text("interval", |it| &it.interval.name)?
        .number("from_s", |it| it.interval.from_s)?
        .number("to_s", |it| it.interval.to_s)
}

/// A count and five values; where nothing was counted there are no values.
fn distribution<'r, R>(
    columns: Columns<'r, R>,
    names: [&str; 6],
    of: impl Fn(&R) -> Distribution,
) -> PyResult<Columns<'r, R>> {
    let known = |row: &R| Some(of(row)).filter(|it| it.count > 0);
    let [count, mean, min, median, p95, max] = names;
    columns
        .count(count, |row| of(row).count)?
        .maybe_number(mean, |row| known(row).map(|it| it.mean))?
        .maybe_number(min, |row| known(row).map(|it| it.min))?
        .maybe_number(median, |row| known(row).map(|it| it.median))?
        .maybe_number(p95, |row| known(row).map(|it| it.p95))?
        .maybe_number(max, |row| known(row).map(|it| it.max))
}

/// As scenarios write it.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::BestEffort => "be",
        Class::LessThanBestEffort => "lbe",
    }
}
