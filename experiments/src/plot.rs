// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures in the paper's form: which curves on which axes, and these with our values.
use ebb_lab::stats::Summary;
use ebb_link::Nanos;
use ebb_scenario::{FlowSeries, LinkSeries, Outcome, Results, VariationRound};
use serde::{Deserialize, Serialize};

use crate::{Cell, Experiment, Measure, Unit};

/// A picture as a file describes it.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What stands above it, if anything.
    pub title: String,
    /// How it is drawn.
    pub form: Form,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Length of a bin of curves over time.
    pub bin: Nanos,
    /// What is on it. *Shape:* at least one.
    pub lines: Vec<Line>,
}

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Points that are joined.
    Lines,
    /// Bars beside each other, a group for each label.
    Bars,
    /// One run over time.
    Time,
    /// One run over time, a thin bar for each value.
    TimeBars,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it is of.
    pub label: String,
    /// What it is written in, if in anything.
    pub unit: String,
    /// Where it begins; none: where the values do.
    pub from: Option<f64>,
    /// Where it ends; none: where the values do.
    pub to: Option<f64>,
    /// Whether equal steps are equal ratios.
    pub is_log: bool,
}

/// A curve, or the bars of one kind.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Where our values are from; none: only the paper has some.
    pub source: Option<Source>,
    /// What was read off the paper's picture.
    pub paper: Vec<(f64, f64)>,
}

/// Where the values of a curve are from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Cells of the table, with the paper's values.
    Cells {
        /// Rows and cases, by place.
        cells: Vec<(usize, usize)>,
        /// Where they stand. *Shape:* one for each.
        at: Vec<Place>,
    },
    /// A measure that the paper gives no numbers of.
    Measured {
        /// What, of which case by place.
        values: Vec<(Measure, usize)>,
        /// What they are written in.
        unit: Unit,
        /// Where they stand. *Shape:* one for each.
        at: Vec<Place>,
    },
    /// The first run of a case, over time.
    Series {
        /// The case, by place.
        case: usize,
        /// What.
        quantity: Quantity,
        /// Of which flow or link.
        of: String,
        /// How much of its own unit (bit/s, bytes, ms, packets) one on the axis is.
        size: f64,
    },
}

/// Where a value stands on the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Place {
    /// At a number.
    Number(f64),
    /// Above a label.
    Label(String),
}

/// What a run has over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Goodput of a flow.
    Goodput,
    /// Its congestion window.
    Cwnd,
    /// The window that its sender was told.
    Rwnd,
    /// What Vulture takes its congestion window for.
    Estimate,
    /// Its RTTs.
    Rtt,
    /// Waiting in the queue of a link.
    QueueDelay,
    /// Packets in the queue of a link.
    Queue,
    /// The share of positive packet interval variations of each round trip that is watched.
    PositiveShare,
    /// The sum of these variations. *Units:* the law's jiffies.
    VariationSum,
}

/// A picture with its values: what a result file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// What stands above it, if anything.
    pub title: String,
    /// How it is drawn.
    pub form: Form,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is on it.
    pub curves: Vec<Curve>,
}

/// A curve with its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What it is called.
    pub name: String,
    /// Ours.
    pub ours: Vec<Point>,
    /// The paper's.
    pub paper: Vec<Point>,
}

/// A value on a picture. *Units:* those of the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Where it stands.
    pub x: Place,
    /// How high.
    pub y: f64,
    /// Half of its 95 % interval, if it has one.
    pub half_width_95: Option<f64>,
}

impl Point {
    fn new(x: Place, y: f64) -> Self {
        Self {
            x,
            y,
            half_width_95: None,
        }
    }
}

impl Experiment {
    /// The pictures with their values.
    pub(crate) fn pictures(&self, cells: &[Cell], results: &[Results]) -> Vec<Picture> {
        let picture = |plot: &Plot| Picture {
            title: plot.title.clone(),
            form: plot.form,
            x: plot.x.clone(),
            y: plot.y.clone(),
            curves: plot
                .lines
                .iter()
                .map(|line| self.curve(line, cells, results))
                .collect(),
        };
        self.plots.iter().map(picture).collect()
    }

    fn curve(&self, line: &Line, cells: &[Cell], results: &[Results]) -> Curve {
        let read_off = line.paper.iter();
        let mut paper: Vec<Point> = read_off
            .map(|&(x, y)| Point::new(Place::Number(x), y))
            .collect();
        let mut ours = Vec::new();
        match &line.source {
            None => {}
            Some(Source::Cells { cells: places, at }) => {
                for ((row, case), at) in places.iter().zip(at) {
                    let (row, case) = (&self.rows[*row].name, &self.cases[*case].name);
                    let cell = cells
                        .iter()
                        .find(|cell| cell.row == *row && cell.case == *case);
                    let Some(cell) = cell else { continue };
                    paper.push(Point::new(at.clone(), cell.paper));
                    ours.extend(cell.ours.map(|y| Point {
                        x: at.clone(),
                        y,
                        half_width_95: cell.half_width_95,
                    }));
                }
            }
            Some(Source::Measured { values, unit, at }) => {
                for ((measure, case), at) in values.iter().zip(at) {
                    ours.extend(measured(measure, *unit, *case, at, results));
                }
            }
            Some(Source::Series {
                case,
                quantity,
                of,
                size,
            }) => {
                let run = results.get(*case).and_then(|results| results.runs.first());
                ours = run.map_or_else(Vec::new, |run| over_time(run, *quantity, of, *size));
            }
        }
        Curve {
            name: line.name.clone(),
            ours,
            paper,
        }
    }
}

/// The mean over the runs of a case, or what a formula has; none if it is not known of each run.
fn measured(
    measure: &Measure,
    unit: Unit,
    case: usize,
    at: &Place,
    results: &[Results],
) -> Option<Point> {
    if measure.is_analytic() {
        let value = measure.take(&[], case)? / unit.size();
        return Some(Point::new(at.clone(), value));
    }
    let runs = results.get(case)?.runs.len();
    let value = |run| {
        let outcomes: Vec<_> = results.iter().map(|one| one.runs.get(run)).collect();
        let value = measure.take(&outcomes, case)?;
        Some(value / unit.size()).filter(|value| value.is_finite())
    };
    let values: Option<Vec<f64>> = (0..runs).map(value).collect();
    let summary = Summary::of(&values?)?;
    Some(Point {
        x: at.clone(),
        y: summary.mean,
        half_width_95: summary.half_width_95,
    })
}

fn over_time(run: &Outcome, quantity: Quantity, of: &str, size: f64) -> Vec<Point> {
    let flow = run.series.flows.iter().find(|series| series.name == of);
    let link = run.series.links.iter().find(|series| series.name == of);
    let of_flow = |value: fn(&FlowSeries) -> Vec<Option<f64>>| flow.map(value);
    if let Some(rounds) = by_rounds(flow, quantity, size) {
        return rounds;
    }
    let of_link = |value: fn(&LinkSeries) -> Vec<Option<f64>>| link.map(value);
    let values = match quantity {
        Quantity::Goodput => of_flow(|it| known(&it.goodput_bits_per_s)),
        Quantity::Cwnd => of_flow(|it| whole(&it.cwnd_bytes)),
        Quantity::Rwnd => of_flow(|it| whole(&it.rwnd_bytes)),
        Quantity::Estimate => of_flow(|it| whole(&it.estimate_bytes)),
        Quantity::Rtt => of_flow(|it| it.rtt_ms.clone()),
        Quantity::QueueDelay => of_link(|it| it.queue_delay_ms.clone()),
        Quantity::Queue => of_link(|it| {
            it.queue_pkts
                .iter()
                .map(|pkts| Some(*pkts as f64))
                .collect()
        }),
        Quantity::PositiveShare | Quantity::VariationSum => None,
    };
    let bin_s = run.series.bin_s;
    // A bin's value stands in its middle.
    let point = |(bin, value): (usize, Option<f64>)| {
        let x = Place::Number((bin as f64 + 0.5) * bin_s);
        value.map(|value| Point::new(x, value / size))
    };
    let values = values.unwrap_or_default().into_iter().enumerate();
    values.filter_map(point).collect()
}

/// What is known of round trips and not of bins; none for other quantities.
fn by_rounds(flow: Option<&FlowSeries>, quantity: Quantity, size: f64) -> Option<Vec<Point>> {
    let value: fn(&VariationRound) -> f64 = match quantity {
        Quantity::PositiveShare => |round| f64::from(round.positive) / f64::from(round.all),
        Quantity::VariationSum => |round| round.sum_jiffies as f64,
        _ => return None,
    };
    let rounds = flow.map_or(&[][..], |flow| &flow.variation_rounds);
    let point = |round: &VariationRound| Point::new(Place::Number(round.at_s), value(round) / size);
    Some(rounds.iter().map(point).collect())
}

fn known(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

fn whole(values: &[Option<u64>]) -> Vec<Option<f64>> {
    let number = |value: &Option<u64>| value.map(|value| value as f64);
    values.iter().map(number).collect()
}
