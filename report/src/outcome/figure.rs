// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rates, windows, round trips and queues over time.
use ebb_scenario::{Outcome, Results, Scenario};

use super::rows::Rows;
use crate::figure::{Colour, Column, Figure, Legend, Sample, colours};
use crate::table::cut;
use crate::units;

/// The figure of one run; none if the run has no series.
pub fn figure(results: &Results, run: usize) -> Option<Figure> {
    let outcome = results.runs.get(run)?;
    let scenario = &results.scenario;
    let items = items(scenario, outcome);
    let duration_s = outcome.duration_s;
    let rows = Rows::new(scenario, outcome, &items).all();
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
        title: title(scenario),
        subtitle: vec![subtitle(scenario, outcome)],
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

pub(super) const TEXT: Colour = Colour(0x22, 0x22, 0x22);

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
pub(super) struct Item {
    pub name: String,
    pub colour: Colour,
    pub flows: Vec<usize>,
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

/// The file's title if there is room for it.
fn title(scenario: &Scenario) -> String {
    let letters = scenario.title.chars().count();
    match (1..=MAX_TITLE).contains(&letters) {
        true => scenario.title.clone(),
        false => scenario.name.clone(),
    }
}

const MAX_TITLE: usize = 72;

fn subtitle(scenario: &Scenario, outcome: &Outcome) -> String {
    let bin_ms = units::milliseconds(scenario.bin.as_millis_f64());
    let Outcome { engine, seed, .. } = outcome;
    format!(
        "{}: {engine}, seed {seed}; one value for each {bin_ms}",
        scenario.name
    )
}

/// So that six stand beside each other.
const LEGEND_WIDTH: usize = 15;

fn legend(colour: Colour, name: &str) -> Legend {
    Legend {
        sample: Sample::Patch(colour, 1.0),
        meaning: cut(name, LEGEND_WIDTH),
    }
}
