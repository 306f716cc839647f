// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures with the paper's values and ours.
use ebb_link::Nanos;
use ebb_scenario::stats::{Spread, mean};
use ebb_scenario::{FlowSeries, LinkSeries, Outcome, Results, VariationRound};
use serde::{Deserialize, Serialize};

use crate::over_time::per_look;
use crate::plot::{Axis, Extent, Form, Line, Mark, Place, Plot, Quantity, Source};
use crate::{Cell, Experiment, Measure, Unit};

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
    /// What stands out on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<DashedLine>,
}

/// A dashed line of a mark. *Units:* those of the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum DashedLine {
    /// From the bottom to the top.
    Upright {
        /// What it says.
        label: String,
        /// Where it stands.
        x: f64,
    },
    /// From left to right.
    Level {
        /// What it says.
        label: String,
        /// How high it is.
        y: f64,
        /// Where it begins and ends; none: it goes all across.
        from_to: Option<[f64; 2]>,
    },
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
    /// Whether it hangs from the end of the vertical axis, as if that were zero.
    #[serde(default, skip_serializing_if = "crate::comparison::is_false")]
    pub is_upside_down: bool,
    /// Which bars it stands on: curves of the same name stand above each other, the first lowest;
    /// none: it has bars of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
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
                .map(|line| self.curve(line, plot.bin, cells, results))
                .collect(),
            marks: plot
                .marks
                .iter()
                .flat_map(|mark| mark.lines(results))
                .collect(),
        };
        self.plots.iter().map(picture).collect()
    }

    fn curve(&self, line: &Line, bin: Nanos, cells: &[Cell], results: &[Results]) -> Curve {
        let read_off = line.paper.iter();
        let mut paper: Vec<Point> = read_off
            .map(|&(x, y)| Point::new(Place::Number(x), y))
            .collect();
        let ours = match &line.source {
            None => Vec::new(),
            Some(Source::Cells { cells: places, at }) => {
                let (ours, papers) = self.points_of(places, at, cells);
                paper.extend(papers);
                ours
            }
            Some(Source::Measured { values, unit, at }) => {
                let values = values.iter().zip(at);
                let point = |((measure, case), at): (&(Measure, usize), &Place)| {
                    measured(measure, *unit, *case, at, results)
                };
                values.filter_map(point).collect()
            }
            Some(Source::Series {
                case,
                quantity,
                of,
                size,
            }) => {
                let run = results.get(*case).and_then(|results| results.runs.first());
                run.map_or_else(Vec::new, |run| over_time(run, bin, *quantity, of, *size))
            }
        };
        Curve {
            name: line.name.clone(),
            ours,
            paper,
            is_upside_down: line.is_upside_down,
            stack: line.stack.clone(),
        }
    }

    /// Ours and the paper's of these cells: row and case.
    fn points_of(
        &self,
        places: &[(usize, usize)],
        at: &[Place],
        cells: &[Cell],
    ) -> (Vec<Point>, Vec<Point>) {
        let (mut ours, mut paper) = (Vec::new(), Vec::new());
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
        (ours, paper)
    }
}

impl Mark {
    /// None if its interval is not known: nothing was run.
    fn lines(&self, results: &[Results]) -> Vec<DashedLine> {
        let from_to = self
            .extent
            .as_ref()
            .and_then(|extent| extent.ends_s(results));
        let label = || self.label.clone();
        match (self.y, from_to) {
            (Some(_), None) if self.extent.is_some() => Vec::new(),
            (Some(y), from_to) => vec![DashedLine::Level {
                label: label(),
                y,
                from_to,
            }],
            (None, from_to) => from_to
                .into_iter()
                .flatten()
                .map(|x| DashedLine::Upright { label: label(), x })
                .collect(),
        }
    }
}

impl Extent {
    fn ends_s(&self, results: &[Results]) -> Option<[f64; 2]> {
        let run = results.get(self.case)?.runs.first()?;
        let interval = run.intervals.iter().find(|it| it.name == self.interval)?;
        Some([interval.from_s, interval.to_s])
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
        let value = measure.take(&[], case, 0)? / unit.size();
        return Some(Point::new(at.clone(), value));
    }
    let runs = results.get(case)?.runs.len();
    let value = |run| {
        let value = measure.take(results, case, run)?;
        Some(value / unit.size()).filter(|value| value.is_finite())
    };
    let values: Option<Vec<f64>> = (0..runs).map(value).collect();
    let spread = Spread::of(&values?)?;
    Some(Point {
        x: at.clone(),
        y: spread.mean,
        half_width_95: spread.half_width_95,
    })
}

fn over_time(run: &Outcome, bin: Nanos, quantity: Quantity, of: &str, size: f64) -> Vec<Point> {
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
    // Those of the run are shorter where a measure needs it.
    let per_point = per_look(bin, bin_s);
    // A bin's value stands in its middle.
    let point = |(place, values): (usize, &[Option<f64>])| {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let middle = (place * per_point) as f64 + values.len() as f64 / 2.0;
        let x = Place::Number(middle * bin_s);
        mean(&known).map(|value| Point::new(x, value / size))
    };
    let values = values.unwrap_or_default();
    let points = values.chunks(per_point).enumerate();
    points.filter_map(point).collect()
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
