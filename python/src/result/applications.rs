// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What applications saw: kinds have measures of their own, so a row has one value.

use ebb_scenario::{ApplicationMeasure, Distribution, LateShare, Outcome, SizeClass};
use pyo3::PyResult;

use super::of_runs;
use crate::table::Table;

struct Row<'a> {
    run: &'a Outcome,
    interval: &'a str,
    flow: &'a str,
    kind: &'static str,
    measure: String,
    value: f64,
}

/// A row for each run, interval, flow and measure.
pub fn table(runs: &[Outcome]) -> PyResult<Table> {
    let mut rows = Vec::new();
    for run in runs {
        for (place, interval) in run.intervals.iter().enumerate() {
            for flow in &run.flows {
                let Some(seen) = &flow.measures[place].application else {
                    continue;
                };
                let (kind, values) = values(seen);
                rows.extend(values.into_iter().map(|(measure, value)| Row {
                    run,
                    interval: &interval.name,
                    flow: &flow.name,
                    kind,
                    measure,
                    value,
                }));
            }
        }
    }
    of_runs(&rows, |it| it.run)?
        .text("interval", |it| it.interval)?
        .text("flow", |it| it.flow)?
        .text("kind", |it| it.kind)?
        .text("measure", |it| &it.measure)?
        .number("value", |it| it.value)?
        .finish()
}

type Values = Vec<(String, f64)>;

fn values(seen: &ApplicationMeasure) -> (&'static str, Values) {
    match seen {
        ApplicationMeasure::Web {
            page_s,
            object_s,
            object_s_by_size,
        } => {
            let mut values = distribution("page_s", page_s);
            values.extend(distribution("object_s", object_s));
            values.extend(object_s_by_size.iter().flat_map(by_size));
            ("web", values)
        }
        ApplicationMeasure::Video { late } => ("video", late.iter().flat_map(late_share).collect()),
        ApplicationMeasure::Call {
            delay_ms,
            sent_pkts,
            lost_pkts,
            late_pkts,
        } => {
            let mut values = distribution("delay_ms", delay_ms);
            values.push(("sent_pkts".into(), *sent_pkts as f64));
            values.push(("lost_pkts".into(), *lost_pkts as f64));
            values.push(("late_pkts".into(), *late_pkts as f64));
            ("call", values)
        }
        ApplicationMeasure::Udp {
            delay_ms,
            lost_pkts,
        } => {
            let mut values = distribution("delay_ms", delay_ms);
            values.push(("lost_pkts".into(), *lost_pkts as f64));
            ("udp", values)
        }
    }
}

fn by_size(class: &SizeClass) -> [(String, f64); 2] {
    let name = format!("object_s.{}_to_{}_bytes", class.from_bytes, class.to_bytes);
    [
        (format!("{name}.count"), class.count as f64),
        (format!("{name}.mean"), class.mean_s),
    ]
}

fn late_share(share: &LateShare) -> [(String, f64); 2] {
    let name = format!("pre_buffer_{}_s", share.pre_buffer_s);
    [
        (format!("{name}.due_pkts"), share.due_pkts as f64),
        (format!("{name}.late_pkts"), share.late_pkts as f64),
    ]
}

fn distribution(name: &str, of: &Distribution) -> Values {
    let count = [("count", of.count as f64)];
    let values = [
        ("mean", of.mean),
        ("min", of.min),
        ("median", of.median),
        ("p95", of.p95),
        ("max", of.max),
    ];
    let known = values.into_iter().filter(|_| of.count > 0);
    let named = |(part, value): (&str, f64)| (format!("{name}.{part}"), value);
    count.into_iter().chain(known).map(named).collect()
}
