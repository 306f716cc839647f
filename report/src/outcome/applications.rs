// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of applications: what people would have noticed.
use ebb_scenario::stats::mean;
use ebb_scenario::{ApplicationMeasure, Distribution, Results};

use super::NOTHING;
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
        Some(ApplicationMeasure::Web { .. }) => web(measures),
        Some(ApplicationMeasure::Video { late }) => (0..late.len())
            .map(|place| late_packets(measures, place))
            .collect(),
        Some(ApplicationMeasure::Call { .. }) => call(measures),
        Some(ApplicationMeasure::Udp { .. }) => udp(measures),
    }
}

fn web(measures: &[&ApplicationMeasure]) -> Vec<Vec<String>> {
    let page_s = |measure: &ApplicationMeasure| match measure {
        ApplicationMeasure::Web { page_s, .. } => Some(*page_s),
        _ => None,
    };
    let object_s = |measure: &ApplicationMeasure| match measure {
        ApplicationMeasure::Web { object_s, .. } => Some(*object_s),
        _ => None,
    };
    vec![
        times("page", measures, units::seconds, page_s),
        times("object", measures, units::seconds, object_s),
    ]
}

fn call(measures: &[&ApplicationMeasure]) -> Vec<Vec<String>> {
    let counts = |measure: &ApplicationMeasure| match *measure {
        ApplicationMeasure::Call {
            sent_pkts,
            lost_pkts,
            late_pkts,
            ..
        } => Some((sent_pkts, lost_pkts, late_pkts)),
        _ => None,
    };
    let lost = |measure: &ApplicationMeasure| counts(measure).map(|(sent, lost, _)| (lost, sent));
    let late = |measure: &ApplicationMeasure| counts(measure).map(|(sent, _, late)| (late, sent));
    vec![
        delays(measures),
        share("lost", measures, lost),
        share("late", measures, late),
    ]
}

fn udp(measures: &[&ApplicationMeasure]) -> Vec<Vec<String>> {
    let lost = |measure: &ApplicationMeasure| match measure {
        ApplicationMeasure::Udp {
            delay_ms,
            lost_pkts,
        } => Some((*lost_pkts, *lost_pkts + delay_ms.count)),
        _ => None,
    };
    vec![delays(measures), share("lost", measures, lost)]
}

fn delays(measures: &[&ApplicationMeasure]) -> Vec<String> {
    let delay_ms = |measure: &ApplicationMeasure| match measure {
        ApplicationMeasure::Call { delay_ms, .. } | ApplicationMeasure::Udp { delay_ms, .. } => {
            Some(*delay_ms)
        }
        _ => None,
    };
    times("delay", measures, units::milliseconds, delay_ms)
}

fn times(
    what: &str,
    measures: &[&ApplicationMeasure],
    print: impl Fn(f64) -> String,
    times: impl Fn(&ApplicationMeasure) -> Option<Distribution>,
) -> Vec<String> {
    let all: Vec<Distribution> = measures
        .iter()
        .filter_map(|measure| times(measure))
        .filter(|times| times.count > 0)
        .collect();
    let cell = |value: fn(&Distribution) -> f64| {
        let values: Vec<f64> = all.iter().map(value).collect();
        mean(&values).map_or(NOTHING.into(), &print)
    };
    let count: u64 = all.iter().map(|times| times.count).sum();
    vec![
        what.into(),
        count.to_string(),
        String::new(),
        cell(|times| times.mean),
        cell(|times| times.p95),
        cell(|times| times.max),
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
