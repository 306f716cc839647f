// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be taken from a run: a small closed set.
use ebb_link::{Class, Nanos};

use crate::Dimension;

/// What is taken of a run, and of which part of which run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// What.
    pub kind: MeasureKind,
    /// The interval of the scenario, by name; none: its first.
    pub interval: Option<String>,
    /// The case that it is taken from, by place; none: that of the cell.
    pub case: Option<usize>,
}

/// What is measured. `flows` is the name of a flow or of an entry with several.
#[derive(Clone, Debug, PartialEq)]
pub enum MeasureKind {
    /// Goodput of flows together.
    Goodput {
        /// Whose.
        flows: String,
        /// As a share of this. *Units:* bit/s.
        of: Option<f64>,
        /// Only at these times of each period.
        phase: Option<Phase>,
        /// Only while others send, or while they do not.
        beside: Option<Beside>,
    },
    /// Goodput of flows as a share of theirs and that of others.
    Share {
        /// Whose.
        flows: String,
        /// Who else.
        others: String,
        /// Only while others send, or while they do not.
        beside: Option<Beside>,
    },
    /// Goodput of flows as a share of what others leave of a rate.
    SpareShare {
        /// Whose.
        flows: String,
        /// Whose goodput is taken off.
        others: String,
        /// Goodput that the link can carry. *Units:* bit/s.
        rate: f64,
    },
    /// A rate that is stated, such as the most that a link carries.
    Rate {
        /// *Units:* bit/s.
        rate: f64,
    },
    /// Use of a link's rate.
    Utilisation {
        /// Which.
        link: String,
    },
    /// Mean waiting in a link's queue.
    QueueMean {
        /// Which.
        link: String,
        /// Of whose packets; none: of all.
        class: Option<Class>,
    },
    /// Waiting that 95 % of packets do not exceed.
    QueueP95 {
        /// Which.
        link: String,
    },
    /// Packets that a link's queue dropped.
    Drops {
        /// Which.
        link: String,
    },
    /// The same as a part of all that came.
    DropShare {
        /// Which.
        link: String,
    },
    /// Packets of flows that were lost on the way, as a part of those that they sent.
    LossShare {
        /// Whose.
        flows: String,
    },
    /// How often the retransmission timers of flows' senders went off.
    Timeouts {
        /// Whose.
        flows: String,
        /// By the web objects that came, a connection each, in place of all together.
        per_object: bool,
    },
    /// Mean of the RTTs that a flow's sender measured.
    RttMean {
        /// Whose.
        flows: String,
    },
    /// Jain's index over goodputs.
    Jain {
        /// Of whom; empty: all.
        flows: String,
    },
    /// From a flow's start to its last byte, the mean over flows.
    Completion {
        /// Whose.
        flows: String,
    },
    /// From the wish for a web object to its last byte.
    ObjectTime {
        /// Whose.
        flows: String,
        /// Only of objects of about this size. *Units:* bytes.
        size_bytes: Option<f64>,
    },
    /// From the opening of a web page to its last byte.
    PageTime {
        /// Whose.
        flows: String,
    },
    /// The least pre-buffering time of those that the scenario lists with which no packet of
    /// a video is late.
    PreBuffer {
        /// Whose.
        flows: String,
    },
    /// Packets of a video that came after their turn, as a part of all whose turn it was.
    LateShare {
        /// Whose.
        flows: String,
        /// One of the pre-buffering times that the scenario lists.
        pre_buffer: Nanos,
    },
    /// From an instant until flows have had a goodput for the first time.
    TimeTo {
        /// Whose.
        flows: String,
        /// Which goodput together. *Units:* bit/s.
        rate: f64,
        /// From when on, since the start of the run.
        from: Nanos,
        /// They must have had less than this before; none: from the beginning on. *Units:* bit/s.
        after_below: Option<f64>,
        /// If they have not had it by then, it counts as if they had; none: it has no value.
        until: Option<Nanos>,
        /// Over how long it is measured.
        bin: Nanos,
    },
    /// A window of a flow over time.
    Window {
        /// Whose.
        flows: String,
        /// Which.
        window: Window,
        /// What of it.
        part: Part,
        /// How often it is looked at.
        bin: Nanos,
    },
    /// The packet interval variations of Vulture, by round trips, at flows that it watches.
    Variations {
        /// Whose.
        flows: String,
        /// What of them.
        part: VariationPart,
    },
    /// One less another.
    Difference {
        /// The one.
        of: Box<Measure>,
        /// The other.
        less: Box<Measure>,
    },
    /// One by another.
    Ratio {
        /// The one.
        over: Box<Measure>,
        /// The other.
        under: Box<Measure>,
    },
    /// TCP-LP's model: up to how many times the round trip of a TCP flow its own may be for
    /// it to infer congestion before TCP loses a packet, `sqrt(5 C) (1 - sqrt δ)`.
    InferenceBound {
        /// *Units:* packets per second.
        pkts_per_s: f64,
        /// δ.
        threshold: f64,
    },
}

/// Which of the windows that bound a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The congestion window.
    Congestion,
    /// What the receiver has advertised.
    Advertised,
    /// What the receiver law takes the congestion window for.
    Estimate,
}

/// What of a window over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its mean.
    Mean,
    /// Its greatest value.
    Max,
    /// Its least value.
    Min,
    /// The first value of the interval.
    First,
    /// The last value of the interval.
    Last,
}

/// What of the packet interval variations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariationPart {
    /// The greatest share of positive ones in a round trip.
    MaxPositiveShare,
    /// The greatest sum of a round trip's. *Units:* the law's jiffies.
    MaxSum,
}

/// Times that somebody's sending tells apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Whose.
    pub flows: String,
    /// Which of them.
    pub times: Times,
    /// How finely it is looked at.
    pub bin: Nanos,
}

/// Which times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Bins in which something of theirs arrives.
    Active,
    /// Bins in which nothing does.
    Silent,
    /// Each burst of an on-off flow, from its first byte to its last as they arrive; the mean is
    /// over the bursts.
    InBursts,
    /// From the last byte of each burst to the first of the next, or to the end.
    BetweenBursts,
}

/// Times of a period, counted from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Length of a period.
    pub period: Nanos,
    /// First instant in the period.
    pub from: Nanos,
    /// End in the period.
    pub to: Nanos,
}

impl Phase {
    /// Bins that begin and end where the phase does.
    pub fn bin(self) -> Nanos {
        let divisor = self
            .period
            .common_divisor(self.from)
            .common_divisor(self.to);
        divisor.max(Nanos(1))
    }
}

impl Measure {
    /// What kind of value it gives.
    pub fn dimension(&self) -> Dimension {
        match &self.kind {
            MeasureKind::Goodput { of: None, .. } | MeasureKind::Rate { .. } => Dimension::Rate,
            MeasureKind::Goodput { .. }
            | MeasureKind::SpareShare { .. }
            | MeasureKind::Share { .. }
            | MeasureKind::Variations {
                part: VariationPart::MaxPositiveShare,
                ..
            }
            | MeasureKind::Utilisation { .. }
            | MeasureKind::Jain { .. } => Dimension::Share,
            MeasureKind::DropShare { .. }
            | MeasureKind::LossShare { .. }
            | MeasureKind::LateShare { .. } => Dimension::Loss,
            MeasureKind::Drops { .. }
            | MeasureKind::Timeouts { .. }
            | MeasureKind::Variations { .. }
            | MeasureKind::Window { .. }
            | MeasureKind::InferenceBound { .. } => Dimension::Count,
            MeasureKind::Difference { of, .. } => of.dimension(),
            MeasureKind::Ratio { .. } => Dimension::Ratio,
            _ => Dimension::Time,
        }
    }

    /// Bins that it needs, if it needs any.
    pub fn bin(&self) -> Option<Nanos> {
        match &self.kind {
            MeasureKind::Goodput { phase, beside, .. } => phase
                .map(Phase::bin)
                .or(beside.as_ref().map(|beside| beside.bin)),
            MeasureKind::Share { beside, .. } => beside.as_ref().map(|beside| beside.bin),
            MeasureKind::TimeTo { bin, .. } | MeasureKind::Window { bin, .. } => Some(*bin),
            _ => None,
        }
    }

    /// This one and those that it is made of.
    pub fn parts(&self) -> Vec<&Self> {
        match &self.kind {
            MeasureKind::Ratio { over, under } => [over.parts(), under.parts()].concat(),
            MeasureKind::Difference { of, less } => [of.parts(), less.parts()].concat(),
            _ => vec![self],
        }
    }
}
