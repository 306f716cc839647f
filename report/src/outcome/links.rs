// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of links: how full they were, and how long packets waited.
use ebb_scenario::stats::mean;
use ebb_scenario::{ClassMeasure, Distribution, LinkMeasure, Results};

use super::NOTHING;
use crate::table::{Align, Table, cut};
use crate::units;

const NAME_WIDTH: usize = 18;

/// One line for each link that is reported; none if there is no such link.
pub(super) fn table(results: &Results, interval: usize) -> Option<Table> {
    let links = &results.runs.first()?.links;
    if links.is_empty() {
        return None;
    }
    let mut table = Table::new("")
        .column("link", Align::Left)
        .column("used", Align::Right)
        .column("queue", Align::Right)
        .column("p95", Align::Right)
        .column("max", Align::Right)
        .column("packets", Align::Right)
        .column("dropped", Align::Right)
        .column("marked", Align::Right);
    for (place, link) in links.iter().enumerate() {
        let of_runs = results.runs.iter();
        let measures = of_runs.map(|run| &run.links[place].measures[interval]);
        table.row(cells(&link.name, &measures.collect::<Vec<_>>()));
    }
    Some(table)
}

/// Of a link, over its runs.
fn cells(name: &str, measures: &[&LinkMeasure]) -> [String; 8] {
    let waiting = |value: fn(&Distribution) -> f64| {
        let values: Vec<f64> = measures
            .iter()
            .map(|measure| value(&measure.queue_delay_ms))
            .collect();
        units::milliseconds(mean(&values).unwrap_or(0.0))
    };
    let used: Vec<f64> = measures
        .iter()
        .filter_map(|measure| measure.utilisation)
        .collect();
    [
        cut(name, NAME_WIDTH),
        mean(&used).map_or(NOTHING.into(), units::percent),
        waiting(|delay_ms| delay_ms.mean),
        waiting(|delay_ms| delay_ms.p95),
        waiting(|delay_ms| delay_ms.max),
        count(measures, |class| Some(class.delivered_pkts)),
        count(measures, |class| {
            Some(class.dropped_pkts + class.lost_pkts.unwrap_or(0))
        }),
        count(measures, |class| class.marked_pkts),
    ]
}

/// Packets of both classes, the mean over runs; nothing if one of them does not know.
fn count(measures: &[&LinkMeasure], value: fn(&ClassMeasure) -> Option<u64>) -> String {
    let of_run = |measure: &&LinkMeasure| {
        let classes = [&measure.best_effort, &measure.less_than_best_effort];
        let pkts = classes.into_iter().map(value).sum::<Option<u64>>();
        pkts.map(|pkts| pkts as f64)
    };
    let counts: Option<Vec<f64>> = measures.iter().map(of_run).collect();
    mean(&counts.unwrap_or_default()).map_or(NOTHING.into(), |mean| format!("{mean:.0}"))
}
