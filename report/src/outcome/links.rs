// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of links: how full they were, and how long packets waited.
use ebb_scenario::{ClassMeasure, LinkMeasure, Results};

use super::{NOTHING, mean};
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
        let measures: Vec<&LinkMeasure> = results
            .runs
            .iter()
            .map(|run| &run.links[place].measures[interval])
            .collect();
        let mean_of = |value: &dyn Fn(&LinkMeasure) -> f64| {
            let values: Vec<f64> = measures.iter().map(|measure| value(measure)).collect();
            mean(&values).unwrap_or(0.0)
        };
        let used: Vec<f64> = measures
            .iter()
            .filter_map(|measure| measure.utilisation)
            .collect();
        let count = |value: &dyn Fn(&ClassMeasure) -> Option<u64>| {
            let of = |measure: &&LinkMeasure| {
                let classes = [&measure.best_effort, &measure.less_than_best_effort];
                classes.into_iter().map(value).sum::<Option<u64>>()
            };
            let counts: Option<Vec<u64>> = measures.iter().map(of).collect();
            let counts: Vec<f64> = counts
                .unwrap_or_default()
                .iter()
                .map(|&n| n as f64)
                .collect();
            mean(&counts).map_or(NOTHING.into(), |mean| format!("{mean:.0}"))
        };
        table.row([
            cut(&link.name, NAME_WIDTH),
            mean(&used).map_or(NOTHING.into(), units::percent),
            units::milliseconds(mean_of(&|measure| measure.queue_delay_ms.mean)),
            units::milliseconds(mean_of(&|measure| measure.queue_delay_ms.p95)),
            units::milliseconds(mean_of(&|measure| measure.queue_delay_ms.max)),
            count(&|class| Some(class.delivered_pkts)),
            count(&|class| Some(class.dropped_pkts + class.lost_pkts.unwrap_or(0))),
            count(&|class| class.marked_pkts),
        ]);
    }
    Some(table)
}
