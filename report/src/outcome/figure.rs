// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rates, windows, round trips and queues over time.
use ebb_scenario::{FlowSeries, LinkSeries, Outcome, Results, Scenario};

use crate::figure::{Colour, Column, Figure, Legend, Mark, Panel, Row, Sample, colours};

/// The figure of one run; none if the run has no series.
pub fn figure(results: &Results, run: usize) -> Option<Figure> {
    let outcome = results.runs.get(run)?;
    let scenario = &results.scenario;
    let items = items(scenario, outcome);
    let duration_s = outcome.duration_s;
    let rows: Vec<Row> = [
        rate_row(scenario, &items, outcome),
        window_row("Congestion window", scenario, &items, outcome, |series| {
            &series.cwnd_bytes
        }),
        window_row(
            "Advertised window, under a receiver policy",
            scenario,
            &governed(scenario, &items),
            outcome,
            |series| &series.rwnd_bytes,
        ),
        rtt_row(scenario, &items, outcome),
        queue_row(outcome),
    ]
    .into_iter()
    .flatten()
    .collect();
    if rows.is_empty() {
        return None;
    }
    let head = Column {
        title: String::new(),
        subtitle: String::new(),
        colour: TEXT,
        x_max: duration_s,
    };
    Some(Figure {
        title: scenario.name.clone(),
        subtitle: subtitle(scenario, outcome),
        columns: vec![head],
        rows,
        x_label: "seconds".into(),
        legend: items
            .iter()
            .map(|item| legend(item.colour, &item.name))
            .collect(),
        width_px: 900,
    })
}

const TEXT: Colour = Colour(0x22, 0x22, 0x22);

/// In the order in which they are given to flows.
const COLOURS: [Colour; 6] = [
    colours::BLUE,
    colours::VERMILLION,
    colours::GREEN,
    colours::ORANGE,
    colours::SKY,
    colours::GREY,
];

/// What is drawn in one colour: a flow, or the flows of a group.
struct Item {
    name: String,
    colour: Colour,
    flows: Vec<usize>,
}

/// Flows if there are colours for all, else groups; the last colour is for the rest.
fn items(scenario: &Scenario, outcome: &Outcome) -> Vec<Item> {
    if outcome.series.flows.is_empty() {
        return Vec::new();
    }
    let is_few = scenario.flows.len() <= COLOURS.len();
    let mut items: Vec<Item> = Vec::new();
    for (place, flow) in scenario.flows.iter().enumerate() {
        let name = if is_few { &flow.name } else { &flow.group };
        let count = items.len();
        if let Some(item) = items.iter_mut().find(|item| item.name == *name) {
            item.flows.push(place);
        } else if count < COLOURS.len() {
            items.push(Item {
                name: name.clone(),
                colour: COLOURS[count],
                flows: vec![place],
            });
        } else if let Some(rest) = items.last_mut() {
            rest.name = "others".into();
            rest.flows.push(place);
        }
    }
    for item in items.iter_mut().filter(|item| item.flows.len() > 1) {
        item.name = format!("{} ×{}", item.name, item.flows.len());
    }
    items
}

/// Items of flows whose advertised window is set by a policy.
fn governed(scenario: &Scenario, items: &[Item]) -> Vec<Item> {
    let governed = |item: &Item| Item {
        name: item.name.clone(),
        colour: item.colour,
        flows: item
            .flows
            .iter()
            .copied()
            .filter(|&flow| scenario.flows[flow].receiver.is_some())
            .collect(),
    };
    items
        .iter()
        .map(governed)
        .filter(|item| !item.flows.is_empty())
        .collect()
}

fn subtitle(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    if !scenario.title.is_empty() {
        lines.push(scenario.title.clone());
    }
    lines.push(format!(
        "{}, seed {}; one value for each {}.",
        outcome.engine, outcome.seed, scenario.bin
    ));
    lines
}

fn legend(colour: Colour, name: &str) -> Legend {
    Legend {
        sample: Sample::Patch(colour, 1.0),
        meaning: name.to_owned(),
    }
}

/// The sum over the flows of an item.
fn rate_row(scenario: &Scenario, items: &[Item], outcome: &Outcome) -> Option<Row> {
    let series = &outcome.series;
    let of_item = |item: &Item| -> Vec<Option<f64>> {
        let bins = scenario.bins();
        let sum = |bin: usize| {
            let rates = item
                .flows
                .iter()
                .map(|&flow| series.flows[flow].goodput_bits_per_s.get(bin));
            rates
                .map(|rate| rate.map(|rate| rate / 1e6))
                .sum::<Option<f64>>()
        };
        (0..bins).map(sum).collect()
    };
    let what = if scenario.flows.len() > items.len() {
        "Goodput, flows added up"
    } else {
        "Goodput"
    };
    row(what, "Mbit/s", 170, scenario, items, series.bin_s, of_item)
}

/// The mean over the flows of an item.
fn window_row(
    title: &str,
    scenario: &Scenario,
    items: &[Item],
    outcome: &Outcome,
    windows: impl Fn(&FlowSeries) -> &Vec<Option<u64>>,
) -> Option<Row> {
    let series = &outcome.series;
    let of_item = |item: &Item| {
        let window = |flow: usize, bin: usize| {
            let bytes = windows(&series.flows[flow]).get(bin).copied().flatten();
            bytes.map(|bytes| bytes as f64 / 1e3)
        };
        means(item, scenario.bins(), window)
    };
    row(title, "kB", 150, scenario, items, series.bin_s, of_item)
}

fn rtt_row(scenario: &Scenario, items: &[Item], outcome: &Outcome) -> Option<Row> {
    let series = &outcome.series;
    let of_item = |item: &Item| {
        let rtt = |flow: usize, bin: usize| series.flows[flow].rtt_ms.get(bin).copied().flatten();
        means(item, scenario.bins(), rtt)
    };
    row(
        "Round-trip time",
        "ms",
        130,
        scenario,
        items,
        series.bin_s,
        of_item,
    )
}

/// For each bin the mean over those flows of the item that have a value.
fn means(
    item: &Item,
    bins: usize,
    value: impl Fn(usize, usize) -> Option<f64>,
) -> Vec<Option<f64>> {
    let mean = |bin: usize| {
        let values: Vec<f64> = item
            .flows
            .iter()
            .filter_map(|&flow| value(flow, bin))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    (0..bins).map(mean).collect()
}

/// Lines of all items; none if there is nothing to draw.
fn row(
    title: &str,
    unit: &str,
    height_px: u32,
    scenario: &Scenario,
    items: &[Item],
    bin_s: f64,
    values: impl Fn(&Item) -> Vec<Option<f64>>,
) -> Option<Row> {
    let all: Vec<(&Item, Vec<Option<f64>>)> =
        items.iter().map(|item| (item, values(item))).collect();
    let greatest = greatest(all.iter().flat_map(|(_, values)| values))?;
    let y_max = greatest * 1.15;
    let mut marks = Vec::new();
    for (item, values) in &all {
        marks.extend(shades(scenario, item, y_max));
        marks.extend(lines(values, bin_s, item.colour));
    }
    Some(Row {
        title: title.into(),
        unit: unit.into(),
        y_max,
        height_px,
        panels: vec![Panel {
            headline: String::new(),
            marks,
        }],
    })
}

fn greatest<'v>(values: impl Iterator<Item = &'v Option<f64>>) -> Option<f64> {
    let greatest = values.copied().flatten().fold(0.0, f64::max);
    (greatest > 0.0).then_some(greatest)
}

/// When the item's flows are less than best effort, if they are not always.
fn shades(scenario: &Scenario, item: &Item, y_max: f64) -> Vec<Mark> {
    let flow = &scenario.flows[item.flows[0]];
    let shade = |during: &ebb_scenario::Interval| Mark::Area {
        points: vec![
            (during.from.as_secs_f64(), 0.0, y_max),
            (during.to.as_secs_f64(), 0.0, y_max),
        ],
        colour: item.colour,
        opacity: 0.09,
    };
    flow.during.iter().map(shade).collect()
}

/// Steps would hide lines behind each other: a point stands in the middle of its bin. The
/// line is broken where there is no value.
fn lines(values: &[Option<f64>], bin_s: f64, colour: Colour) -> Vec<Mark> {
    let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for (bin, value) in values.iter().enumerate() {
        match (value, pieces.last_mut()) {
            (Some(value), Some(piece)) => piece.push(((bin as f64 + 0.5) * bin_s, *value)),
            _ => pieces.push(Vec::new()),
        }
    }
    let line = |points: Vec<(f64, f64)>| Mark::Line {
        points,
        colour,
        width_px: 1.3,
    };
    pieces
        .into_iter()
        .filter(|piece| piece.len() > 1)
        .map(line)
        .collect()
}

/// Waiting in the queues of links that had one, forward links filled.
fn queue_row(outcome: &Outcome) -> Option<Row> {
    let series = &outcome.series;
    let has_queue = |link: &&LinkSeries| greatest(link.queue_delay_ms.iter()).is_some();
    let links: Vec<&LinkSeries> = series
        .links
        .iter()
        .filter(has_queue)
        .take(MAX_QUEUES)
        .collect();
    let y_max = greatest(links.iter().flat_map(|link| &link.queue_delay_ms))? * 1.15;
    let mut marks = Vec::new();
    let mut names = Vec::new();
    for (link, (colour, word)) in links.iter().zip(QUEUE_COLOURS) {
        names.push(format!("{} ({word})", link.name));
        marks.extend(lines(&link.queue_delay_ms, series.bin_s, colour));
    }
    Some(Row {
        title: format!("Waiting in the queue: {}", names.join(", ")),
        unit: "ms".into(),
        y_max,
        height_px: 130,
        panels: vec![Panel {
            headline: String::new(),
            marks,
        }],
    })
}

const MAX_QUEUES: usize = 3;
const QUEUE_COLOURS: [(Colour, &str); MAX_QUEUES] = [
    (TEXT, "black"),
    (colours::ORANGE, "orange"),
    (colours::SKY, "sky blue"),
];
