// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of the figure: series of flows and links as lines.
use ebb_scenario::stats::{mean, percentile};
use ebb_scenario::{FlowSeries, LinkSeries, Outcome, Scenario};

use super::figure::{Item, TEXT};
use crate::figure::{Colour, Mark, Panel, Row, colours};

/// A value for each bin, where there is one.
type Values = Vec<Option<f64>>;

/// What rows are made from.
pub(super) struct Rows<'a> {
    scenario: &'a Scenario,
    outcome: &'a Outcome,
    items: &'a [Item],
    bin_s: f64,
}

/// How a row is to look.
struct Look {
    title: String,
    unit: &'static str,
    height_px: u32,
    y_max: f64,
}

impl<'a> Rows<'a> {
    pub fn new(scenario: &'a Scenario, outcome: &'a Outcome, items: &'a [Item]) -> Self {
        let bin_s = outcome.series.bin_s;
        Self {
            scenario,
            outcome,
            items,
            bin_s,
        }
    }

    /// All rows that have something to show.
    pub fn all(&self) -> Vec<Row> {
        [
            self.goodput(),
            self.cwnd(),
            self.rwnd(),
            self.rtt(),
            self.queue(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Of several flows the sum.
    fn goodput(&self) -> Option<Row> {
        let sum = |item: &Item, bin: usize| {
            let flows = item
                .flows
                .iter()
                .map(|&flow| &self.outcome.series.flows[flow]);
            let rates = flows.map(|flow| flow.goodput_bits_per_s.get(bin).map(|rate| rate / 1e6));
            rates.sum::<Option<f64>>()
        };
        let lines = self.lines(self.items, sum);
        let title = match self.has_groups() {
            true => "Goodput, flows added up",
            false => "Goodput",
        };
        // What waited for a lost packet reaches the application at once with it: the few
        // bins in which that happens must not flatten the rest.
        let y_max = 1.2 * usual(&lines)?;
        self.row(
            lines,
            Look {
                title: title.into(),
                unit: "Mbit/s",
                height_px: 170,
                y_max,
            },
        )
    }

    /// Of several flows the mean.
    fn cwnd(&self) -> Option<Row> {
        let lines = self.windows(self.items, |series| &series.cwnd_bytes);
        let y_max = 1.15 * greatest(&lines)?;
        let title = self.mean_title("Congestion window");
        self.row(
            lines,
            Look {
                title,
                unit: "kB",
                height_px: 150,
                y_max,
            },
        )
    }

    /// Of flows that a receiver policy governs.
    fn rwnd(&self) -> Option<Row> {
        let governed: Vec<Item> = self
            .items
            .iter()
            .filter_map(|item| self.governed(item))
            .collect();
        let lines = self.windows(&governed, |series| &series.rwnd_bytes);
        let sent = self.windows(&governed, |series| &series.cwnd_bytes);
        // Far above the congestion window it makes no difference.
        let y_max = match greatest(&sent) {
            Some(cwnd) => greatest(&lines)?.min(2.0 * cwnd),
            None => greatest(&lines)?,
        };
        let title = self.mean_title("Advertised window under a receiver policy");
        self.row(
            lines,
            Look {
                title,
                unit: "kB",
                height_px: 150,
                y_max: 1.15 * y_max,
            },
        )
    }

    /// Of several flows the mean.
    fn rtt(&self) -> Option<Row> {
        let rtt = |flow: usize, bin: usize| {
            self.outcome.series.flows[flow]
                .rtt_ms
                .get(bin)
                .copied()
                .flatten()
        };
        let lines = self.lines(self.items, |item, bin| mean_of(item, |flow| rtt(flow, bin)));
        let y_max = 1.15 * greatest(&lines)?;
        let title = self.mean_title("Round-trip time");
        self.row(
            lines,
            Look {
                title,
                unit: "ms",
                height_px: 130,
                y_max,
            },
        )
    }

    /// Waiting in the queues of the links where it was longest.
    fn queue(&self) -> Option<Row> {
        let peak = |link: &&LinkSeries| {
            link.queue_delay_ms
                .iter()
                .copied()
                .flatten()
                .fold(0.0, f64::max)
        };
        let mut links: Vec<&LinkSeries> = self.outcome.series.links.iter().collect();
        let longest = links.iter().map(peak).fold(0.0, f64::max);
        links.retain(|link| peak(link) > longest * NEGLIGIBLE);
        links.truncate(QUEUE_COLOURS.len());
        let mut marks = Vec::new();
        let mut names = Vec::new();
        for (link, (colour, word)) in links.iter().zip(QUEUE_COLOURS) {
            names.push(format!("{} ({word})", link.name));
            marks.extend(curve(&link.queue_delay_ms, self.bin_s, colour));
        }
        (longest > 0.0).then(|| Row {
            title: format!("Waiting in the queue: {}", names.join(", ")),
            unit: "ms".into(),
            y_max: 1.15 * longest,
            height_px: 130,
            panels: vec![Panel {
                headline: String::new(),
                marks,
            }],
        })
    }

    /// Whether lines are for several flows each.
    fn has_groups(&self) -> bool {
        self.scenario.flows.len() > self.items.len()
    }

    fn mean_title(&self, what: &str) -> String {
        match self.has_groups() {
            true => format!("{what}, mean of flows"),
            false => what.to_owned(),
        }
    }

    /// Those flows of an item that have a receiver policy.
    fn governed(&self, item: &Item) -> Option<Item> {
        let is_governed = |flow: &usize| self.scenario.flows[*flow].receiver.is_some();
        let flows: Vec<usize> = item.flows.iter().copied().filter(is_governed).collect();
        (!flows.is_empty()).then(|| Item {
            name: item.name.clone(),
            colour: item.colour,
            flows,
        })
    }

    fn windows<'i>(
        &self,
        items: &'i [Item],
        windows: impl Fn(&FlowSeries) -> &Vec<Option<u64>>,
    ) -> Vec<(&'i Item, Values)> {
        let window = |flow: usize, bin: usize| {
            let bytes = windows(&self.outcome.series.flows[flow])
                .get(bin)
                .copied()
                .flatten();
            bytes.map(|bytes| bytes as f64 / 1e3)
        };
        self.lines(items, |item, bin| mean_of(item, |flow| window(flow, bin)))
    }

    fn lines<'i>(
        &self,
        items: &'i [Item],
        value: impl Fn(&Item, usize) -> Option<f64>,
    ) -> Vec<(&'i Item, Values)> {
        let bins = self.scenario.bins();
        items
            .iter()
            .map(|item| (item, (0..bins).map(|bin| value(item, bin)).collect()))
            .collect()
    }

    fn row(&self, lines: Vec<(&Item, Values)>, look: Look) -> Option<Row> {
        let Look {
            title,
            unit,
            height_px,
            y_max,
        } = look;
        let shades = lines.iter().flat_map(|(item, _)| self.shades(item, y_max));
        let curves = lines
            .iter()
            .flat_map(|(item, values)| curve(values, self.bin_s, item.colour));
        (y_max > 0.0).then(|| Row {
            title,
            unit: unit.into(),
            y_max,
            height_px,
            panels: vec![Panel {
                headline: String::new(),
                marks: shades.chain(curves).collect(),
            }],
        })
    }

    /// When the item's flows are less than best effort, if they are not always.
    fn shades(&self, item: &Item, y_max: f64) -> Vec<Mark> {
        let flow = &self.scenario.flows[item.flows[0]];
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
}

const QUEUE_COLOURS: [(Colour, &str); 3] = [
    (TEXT, "black"),
    (colours::ORANGE, "orange"),
    (colours::SKY, "sky blue"),
];

/// Queues with less than this share of the longest waiting are not drawn.
const NEGLIGIBLE: f64 = 0.05;
/// Gaps of at most so many bins are bridged: a slow flow has no sample in each.
const MAX_GAP_BINS: usize = 25;

/// The mean over those flows of an item that have a value.
fn mean_of(item: &Item, value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = item.flows.iter().filter_map(|&flow| value(flow)).collect();
    mean(&values)
}

fn greatest(lines: &[(&Item, Values)]) -> Option<f64> {
    let values = lines
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .flatten();
    values.reduce(f64::max).filter(|greatest| *greatest > 0.0)
}

/// What the values of each line rarely exceed, of the line with the most.
fn usual(lines: &[(&Item, Values)]) -> Option<f64> {
    let usual = |values: &Values| {
        let values: Vec<f64> = values
            .iter()
            .copied()
            .flatten()
            .filter(|value| *value > 0.0)
            .collect();
        percentile(&values, 97.0)
    };
    lines
        .iter()
        .filter_map(|(_, values)| usual(values))
        .reduce(f64::max)
}

/// A line through the middles of the bins, broken by long gaps.
fn curve(values: &[Option<f64>], bin_s: f64, colour: Colour) -> Vec<Mark> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut last = None;
    for (bin, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let point = ((bin as f64 + 0.5) * bin_s, *value);
        match pieces.last_mut() {
            Some(piece) if last.is_some_and(|last| bin - last <= MAX_GAP_BINS) => piece.push(point),
            _ => pieces.push(vec![point]),
        }
        last = Some(bin);
    }
    let line = |mut points: Vec<(f64, f64)>| {
        if let [(x, y)] = points[..] {
            points = vec![(x - bin_s / 2.0, y), (x + bin_s / 2.0, y)];
        }
        Mark::Line {
            points,
            colour,
            width_px: 1.3,
        }
    };
    pieces.into_iter().map(line).collect()
}
