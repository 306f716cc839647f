// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures in the paper's form, as files describe them: which curves on which axes.
use ebb_link::Nanos;
use serde::{Deserialize, Serialize};

use crate::{Measure, Unit};

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
    /// What stands out on it.
    pub marks: Vec<Mark>,
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
    /// Whether it hangs from the end of the vertical axis, as if that were zero.
    pub is_upside_down: bool,
    /// Which bars it stands on: lines of the same name stand above each other, the first lowest;
    /// none: it has bars of its own.
    pub stack: Option<String>,
}

/// Dashed lines on a picture: upright where an interval begins and ends, or level.
#[derive(Clone, Debug)]
pub struct Mark {
    /// What they say.
    pub label: String,
    /// How high a level line is; none: lines are upright.
    pub y: Option<f64>,
    /// Where it begins and ends; none: it goes all across. *Shape:* one if there is no `y`.
    pub extent: Option<Extent>,
}

/// An interval of a case's runs: where it is differs with what is run, the lab's runs may be
/// shorter.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The case, by place.
    pub case: usize,
    /// The interval, by name.
    pub interval: String,
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
