// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of applications: what people would have noticed.
use ebb_scenario::{ApplicationMeasure, Distribution, Results};

use super::{NOTHING, mean};
use crate::table::{Align, Table, cut};
use crate::units;

const NAME_WIDTH: usize = 16;

/// One line for each quantity of each application; none if there is none.
pub(super) fn table(results: &Results, interval: usize) -> Option<Table> {
    let mut table = Table::new("")
        .column("application", Align::Left)
        .column("what", Align::Left)
        .column("count", Align::Right)
        .column("share", Align::Right)
        .column("mean", Align::Right)
        .column("p95", Align::Right)
        .column("max", Align::Right);
    let mut has_lines = false;
    for (place, flow) in results.scenario.flows.iter().enumerate() {
        let measures: Vec<&ApplicationMeasure> = results
            .runs
            .iter()
            .filter_map(|run| run.flows[place].measures[interval].application.as_ref())
            .collect();
        for cells in lines(&measures) {
            has_lines = true;
            table.row([cut(&flow.name, NAME_WIDTH)].into_iter().chain(cells));
        }
    }
    has_lines.then_some(table)
}

/// Everything but the name, for one flow over all runs.
fn lines(measures: &[&ApplicationMeasure]) -> Vec<Vec<String>> {
    match measures.first() {
        None => Vec::new(),
        Some(ApplicationMeasure::Web { .. }) => vec![
            times("page", measures, units::seconds, |measure| match measure {
                ApplicationMeasure::Web { page_s, .. } => Some(page_s),
                _ => None,
            }),
            times(
                "object",
                measures,
                units::seconds,
                |measure| match measure {
                    ApplicationMeasure::Web { object_s, .. } => Some(object_s),
                    _ => None,
                },
            ),
        ],
        Some(ApplicationMeasure::Video { late }) => (0..late.len())
            .map(|place| late_packets(measures, place))
            .collect(),
        Some(ApplicationMeasure::Call { .. }) => vec![
            delays(measures),
            share("lost", measures, |measure| match measure {
                ApplicationMeasure::Call {
                    sent_pkts,
                    lost_pkts,
                    ..
                } => Some((*lost_pkts, *sent_pkts)),
                _ => None,
            }),
            share("late", measures, |measure| match measure {
                ApplicationMeasure::Call {
                    sent_pkts,
                    late_pkts,
                    ..
                } => Some((*late_pkts, *sent_pkts)),
                _ => None,
            }),
        ],
        Some(ApplicationMeasure::Udp { .. }) => vec![
            delays(measures),
            share("lost", measures, |measure| match measure {
                ApplicationMeasure::Udp {
                    delay_ms,
                    lost_pkts,
                } => Some((*lost_pkts, *lost_pkts + delay_ms.count)),
                _ => None,
            }),
        ],
    }
}

fn delays(measures: &[&ApplicationMeasure]) -> Vec<String> {
    times(
        "delay",
        measures,
        units::milliseconds,
        |measure| match measure {
            ApplicationMeasure::Call { delay_ms, .. }
            | ApplicationMeasure::Udp { delay_ms, .. } => Some(delay_ms),
            _ => None,
        },
    )
}

fn times(
    what: &str,
    measures: &[&ApplicationMeasure],
    print: impl Fn(f64) -> String,
    times: impl Fn(&ApplicationMeasure) -> Option<&Distribution>,
) -> Vec<String> {
    let all: Vec<&Distribution> = measures
        .iter()
        .filter_map(|measure| times(measure))
        .filter(|times| times.count > 0)
        .collect();
    let cell = |value: &dyn Fn(&Distribution) -> f64| {
        let values: Vec<f64> = all.iter().map(|times| value(times)).collect();
        mean(&values).map_or(NOTHING.into(), &print)
    };
    let count: u64 = all.iter().map(|times| times.count).sum();
    vec![
        what.into(),
        count.to_string(),
        String::new(),
        cell(&|times| times.mean),
        cell(&|times| times.p95),
        cell(&|times| times.max),
    ]
}

/// Packets of all runs to which something happened, as a share of all.
fn share(
    what: &str,
    measures: &[&ApplicationMeasure],
    counts: impl Fn(&ApplicationMeasure) -> Option<(u64, u64)>,
) -> Vec<String> {
    let counts = measures.iter().filter_map(|measure| counts(measure));
    let (some, all) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let share = match all {
        0 => NOTHING.into(),
        _ => units::percent(some as f64 / all as f64),
    };
    let mut cells = vec![what.to_owned(), some.to_string(), share];
    cells.extend([""; 3].map(str::to_owned));
    cells
}

fn late_packets(measures: &[&ApplicationMeasure], place: usize) -> Vec<String> {
    let of = |measure: &ApplicationMeasure| match measure {
        ApplicationMeasure::Video { late } => late.get(place).copied(),
        _ => None,
    };
    let pre_buffer_s = measures
        .iter()
        .find_map(|measure| of(measure))
        .unwrap_or_default()
        .pre_buffer_s;
    share(&format!("late, {pre_buffer_s} s"), measures, |measure| {
        of(measure).map(|late| (late.late_pkts, late.due_pkts))
    })
}
