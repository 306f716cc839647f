// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scenario with each of several values: a line for each combination, and all of it as CSV.
use ebb_scenario::stats::{jain_index, mean};
use ebb_scenario::{FlowOutcome, LinkMeasure, Results};

use super::{NOTHING, WIDTH, interval_title, spread};
use crate::table::{Align, Table, cut};
use crate::units;

/// What a scenario gave with these values.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// Keys and values. *Shape:* the same keys in all points.
    pub settings: Vec<(String, String)>,
    /// What came out.
    pub results: Results,
}

/// One line for each point, in an interval that all scenarios have.
pub fn sweep_table(points: &[SweepPoint], interval: usize) -> Table {
    let Some(first) = points.first() else {
        return Table::new("nothing was run");
    };
    let scenario = &first.results.scenario;
    let columns = columns(points);
    let lines: Vec<Vec<String>> = points
        .iter()
        .map(|point| {
            columns
                .iter()
                .map(|column| column.cell(point, interval))
                .collect()
        })
        .collect();
    let shown = shown(&columns, &lines);
    let title = interval_title(&scenario.intervals[interval]);
    let title = format!("{}: {title}; goodput in Mbit/s", scenario.name);
    let mut table = Table::new(title);
    for column in &columns[..shown] {
        table = table.column(column.head(), column.align());
    }
    for line in &lines {
        table.row(line[..shown].iter().cloned());
    }
    if shown < columns.len() {
        let left_out: Vec<String> = columns[shown..].iter().map(Column::head).collect();
        table.note(format!(
            "Left out for lack of room: {}",
            left_out.join(", ")
        ));
    }
    table
}

/// How many columns stand beside each other in 80 characters.
fn shown(columns: &[Column], lines: &[Vec<String>]) -> usize {
    let mut used = 0;
    for (place, column) in columns.iter().enumerate() {
        let cells = lines.iter().map(|line| line[place].chars().count());
        let width = cells
            .chain([column.head().chars().count()])
            .max()
            .unwrap_or(0);
        if used + width > WIDTH {
            return place;
        }
        used += width + 2;
    }
    columns.len()
}

enum Column {
    /// A key that is swept.
    Setting(usize, String),
    /// Goodput of all flows of an entry.
    Goodput(String),
    /// How evenly the flows of an entry share.
    Jain(String),
    /// Use of the first link.
    Used,
    /// Mean waiting in its queue.
    Queue,
    /// 95 % of packets waited no longer.
    QueueP95,
}

fn columns(points: &[SweepPoint]) -> Vec<Column> {
    // The number of flows may be what is swept: the greatest counts.
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for (group, count) in points.iter().flat_map(groups_of) {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, most)) => *most = count.max(*most),
            None => groups.push((group, count)),
        }
    }
    let settings = points.first().map_or(&[][..], |point| &point.settings);
    let mut columns = Vec::new();
    for (place, (key, _)) in settings.iter().enumerate() {
        columns.push(Column::Setting(place, key.clone()));
    }
    for (group, _) in &groups {
        columns.push(Column::Goodput((*group).to_owned()));
    }
    for (group, _) in groups.iter().filter(|(_, count)| *count > 1) {
        columns.push(Column::Jain((*group).to_owned()));
    }
    let mut runs = points.iter().flat_map(|point| &point.results.runs);
    if runs.any(|run| !run.links.is_empty()) {
        columns.extend([Column::Used, Column::Queue, Column::QueueP95]);
    }
    columns
}

/// Names of the entries of flows, and how many flows each has.
fn groups_of(point: &SweepPoint) -> Vec<(&str, usize)> {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for flow in &point.results.scenario.flows {
        match groups.iter_mut().find(|(group, _)| *group == flow.group) {
            Some((_, count)) => *count += 1,
            None => groups.push((&flow.group, 1)),
        }
    }
    groups
}

impl Column {
    fn head(&self) -> String {
        match self {
            // The end of a key says most: `flow.mine.receiver`.
            Self::Setting(_, key) => {
                let parts: Vec<&str> = key.split('.').collect();
                cut(&parts[parts.len().saturating_sub(2)..].join("."), 18)
            }
            Self::Goodput(group) => cut(group, 14),
            Self::Jain(group) => format!("Jain {}", cut(group, 9)),
            Self::Used => "used".into(),
            Self::Queue => "queue".into(),
            Self::QueueP95 => "p95".into(),
        }
    }

    fn align(&self) -> Align {
        match self {
            Self::Setting(..) => Align::Left,
            _ => Align::Right,
        }
    }

    fn cell(&self, point: &SweepPoint, interval: usize) -> String {
        let link = |value: &dyn Fn(&LinkMeasure) -> Option<f64>| {
            let links = point
                .results
                .runs
                .iter()
                .filter_map(|run| run.links.first());
            let values: Vec<f64> = links
                .filter_map(|link| value(&link.measures[interval]))
                .collect();
            mean(&values)
        };
        let text = match self {
            Self::Setting(place, _) => Some(cut(&point.settings[*place].1, 24)),
            Self::Goodput(group) => Some(spread(&sums(point, group, interval), 1e6)),
            Self::Jain(group) => {
                mean(&indices(point, group, interval)).map(|index| format!("{index:.3}"))
            }
            Self::Used => link(&|measure| measure.utilisation).map(units::percent),
            Self::Queue => {
                link(&|measure| Some(measure.queue_delay_ms.mean)).map(units::milliseconds)
            }
            Self::QueueP95 => {
                link(&|measure| Some(measure.queue_delay_ms.p95)).map(units::milliseconds)
            }
        };
        text.unwrap_or(NOTHING.into())
    }
}

/// Goodputs of the flows of a group in each run.
fn goodputs<'p>(
    point: &'p SweepPoint,
    group: &'p str,
    interval: usize,
) -> impl Iterator<Item = Vec<f64>> + 'p {
    let of_run = move |flows: &[FlowOutcome]| -> Vec<f64> {
        let flows = flows.iter().filter(|flow| flow.group == group);
        flows
            .map(|flow| flow.measures[interval].goodput_bits_per_s)
            .collect()
    };
    point.results.runs.iter().map(move |run| of_run(&run.flows))
}

fn sums(point: &SweepPoint, group: &str, interval: usize) -> Vec<f64> {
    goodputs(point, group, interval)
        .map(|run| run.iter().sum())
        .collect()
}

fn indices(point: &SweepPoint, group: &str, interval: usize) -> Vec<f64> {
    goodputs(point, group, interval)
        .filter_map(|run| jain_index(&run))
        .collect()
}

/// All points as CSV: a line for each run, interval and flow or link, units in the heads.
///
/// *Errors:* the CSV library's, which writing to memory does not have.
pub fn sweep_csv(points: &[SweepPoint]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = points.first().map_or(&[][..], |point| &point.settings);
    let keys = keys.iter().map(|(key, _)| key.as_str());
    writer.write_record(keys.chain(CSV_HEAD))?;
    for point in points {
        for run in &point.results.runs {
            for (interval, period) in run.intervals.iter().enumerate() {
                let values = point.settings.iter().map(|(_, value)| value.clone());
                let start: Vec<String> = values
                    .chain([
                        run.run.to_string(),
                        run.seed.to_string(),
                        period.name.clone(),
                    ])
                    .collect();
                for flow in &run.flows {
                    writer.write_record(start.iter().chain(&flow_cells(flow, interval)))?;
                }
                for link in &run.links {
                    let cells = link_cells(&link.name, &link.measures[interval]);
                    writer.write_record(start.iter().chain(&cells))?;
                }
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const CSV_HEAD: [&str; 18] = [
    "run",
    "seed",
    "interval",
    "what",
    "name",
    "group",
    "goodput_bits_per_s",
    "sent_bytes",
    "retransmitted_bytes",
    "timeouts",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "completion_s",
    "utilisation",
    "queue_mean_ms",
    "queue_p95_ms",
    "queue_max_ms",
    "dropped_pkts",
];

fn flow_cells(flow: &FlowOutcome, interval: usize) -> [String; 15] {
    let measure = &flow.measures[interval];
    let rtt = |value: f64| match measure.rtt_ms.count {
        0 => String::new(),
        _ => value.to_string(),
    };
    let none = String::new;
    [
        "flow".into(),
        flow.name.clone(),
        flow.group.clone(),
        measure.goodput_bits_per_s.to_string(),
        measure.sent_bytes.to_string(),
        measure.retransmitted_bytes.to_string(),
        measure.timeouts.to_string(),
        rtt(measure.rtt_ms.mean),
        rtt(measure.rtt_ms.p95),
        flow.completion_s
            .map_or(none(), |time_s| time_s.to_string()),
        none(),
        none(),
        none(),
        none(),
        none(),
    ]
}

fn link_cells(name: &str, measure: &LinkMeasure) -> [String; 15] {
    let none = String::new;
    let dropped_pkts =
        measure.best_effort.dropped_pkts + measure.less_than_best_effort.dropped_pkts;
    [
        "link".into(),
        name.to_owned(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        measure
            .utilisation
            .map_or(none(), |share| share.to_string()),
        measure.queue_delay_ms.mean.to_string(),
        measure.queue_delay_ms.p95.to_string(),
        measure.queue_delay_ms.max.to_string(),
        dropped_pkts.to_string(),
    ]
}
