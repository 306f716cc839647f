// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The picture of the trade-off: harm against use.
use ebb_experiments::score::{Distances, Score, summaries};

use crate::figure::{Anchor, Colour, Column, Figure, Legend, Mark, Panel, Row, Sample, colours};

const WIDTH_PX: u32 = 1120;
const HEIGHT_PX: u32 = 460;
/// The end of the vertical axis: all of the spare, and room for a dot.
const SPARE_PERCENT: f64 = 105.0;
/// Room for the name of the right-most law.
const BEYOND: f64 = 1.18;

/// Harm against use: what each law takes from others and adds to their delay, against the
/// part of the spare that it uses; none with fewer than two laws or without others.
pub fn figure(scores: &[Score]) -> Option<Figure> {
    let means = summaries(scores);
    let goodput = points(&means, |one| one.goodput_taken.map(|share| 100.0 * share));
    let delay = points(&means, |one| one.delay_added_p95_ms);
    if goodput.len() < 2 || delay.len() < 2 {
        return None;
    }
    let receivers: Vec<&str> = scores
        .iter()
        .filter(|score| score.side == "receiver")
        .map(|score| score.law.as_str())
        .collect();
    let panels = [&goodput, &delay].map(|points| panel(points, &receivers));
    let columns = [
        column("goodput taken from others, %", &goodput),
        column("delay added to others (95th percentile), ms", &delay),
    ];
    let scenarios = scores.iter().filter(|one| one.law == scores[0].law).count();
    Some(Figure {
        title: "What a law costs others, and what it makes of what they leave".into(),
        subtitle: vec![format!(
            "mean over {scenarios} scenarios; strict priority is the upper left corner"
        )],
        columns: columns.into(),
        rows: vec![Row {
            title: "spare used".into(),
            unit: "%".into(),
            y_max: SPARE_PERCENT,
            height_px: HEIGHT_PX,
            panels: panels.into(),
        }],
        x_label: "harm, as the heads of the columns say: less is better".into(),
        legend: vec![
            legend(RECEIVER, "law of the receiver"),
            legend(SENDER, "law of the sender"),
        ],
        width_px: WIDTH_PX,
    })
}

fn column(title: &str, points: &[Point<'_>]) -> Column {
    Column {
        title: title.into(),
        subtitle: String::new(),
        colour: colours::GREY,
        x_max: x_max(points),
    }
}

fn legend(colour: Colour, meaning: &str) -> Legend {
    Legend {
        sample: Sample::Patch(colour, 1.0),
        meaning: meaning.into(),
    }
}

const RECEIVER: Colour = colours::BLUE;
const SENDER: Colour = colours::VERMILLION;

/// A law at its place. *Units:* harm, and percent of the spare.
struct Point<'l> {
    law: &'l str,
    x: f64,
    y: f64,
}

fn points(means: &[(String, Distances)], harm: fn(&Distances) -> Option<f64>) -> Vec<Point<'_>> {
    let point = |(_, distances): &(String, Distances)| {
        Some((harm(distances)?.max(0.0), 100.0 * distances.spare_used?))
    };
    means
        .iter()
        .filter_map(|mean| point(mean).map(|(x, y)| Point { law: &mean.0, x, y }))
        .collect()
}

fn x_max(points: &[Point<'_>]) -> f64 {
    let most = points.iter().map(|point| point.x).fold(1.0, f64::max);
    most * BEYOND
}

fn panel(points: &[Point<'_>], receivers: &[&str]) -> Panel {
    let pixels = Pixels {
        per_x: PANEL_WIDTH_PX / x_max(points),
        per_y: f64::from(HEIGHT_PX) / SPARE_PERCENT,
    };
    let mut taken: Vec<Area> = points.iter().map(|point| pixels.dot(point)).collect();
    let mut marks = Vec::new();
    for point in points {
        let colour = if receivers.contains(&point.law) {
            RECEIVER
        } else {
            SENDER
        };
        marks.push(Mark::Dot {
            at: (point.x, point.y),
            colour,
        });
        let name = point
            .law
            .split_once(':')
            .map_or(point.law, |(name, _)| name);
        let (at, anchor, place) = pixels.label(point, name, &taken);
        taken.push(place);
        marks.push(Mark::Label {
            at,
            anchor,
            text: name.into(),
            colour,
        });
    }
    Panel {
        headline: String::new(),
        marks,
    }
}

/// About what a panel has of the figure.
const PANEL_WIDTH_PX: f64 = 500.0;
const LETTER_PX: f64 = 7.2;
const LINE_PX: f64 = 14.0;
/// Between the middle of a dot and a name beside it.
const BESIDE_PX: f64 = 8.0;

/// What a dot or a name covers. *Units:* px, from the lower left corner of the panel.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    low: f64,
    right: f64,
    high: f64,
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.low < other.high
            && other.low < self.high
    }

    /// A name to the right may stand beyond the panel: there is room.
    fn is_in_panel(&self) -> bool {
        self.left > 2.0 && self.low > 0.0 && self.high < f64::from(HEIGHT_PX)
    }
}

/// A place for a name: how far it is from its dot. *Units:* px.
#[derive(Clone, Copy)]
struct Beside {
    anchor: Anchor,
    right: f64,
    up: f64,
}

impl Beside {
    /// At the height of the dot, on its right.
    const FIRST: Self = Self {
        anchor: Anchor::Left,
        right: BESIDE_PX,
        up: 0.0,
    };

    /// All, the best first.
    fn all() -> impl Iterator<Item = Self> {
        let at = |anchor, right, up| Self { anchor, right, up };
        (0..14).flat_map(move |step| {
            let shift = f64::from(step) * LINE_PX / 2.0;
            [
                at(Anchor::Left, BESIDE_PX, shift),
                at(Anchor::Left, BESIDE_PX, -shift),
                at(Anchor::Right, -BESIDE_PX, shift),
                at(Anchor::Right, -BESIDE_PX, -shift),
            ]
        })
    }

    /// What a name of this width covers, beside a dot at this place.
    fn area(self, (x, y): (f64, f64), width: f64) -> Area {
        let left = match self.anchor {
            Anchor::Left => x + self.right,
            _ => x + self.right - width,
        };
        Area {
            left,
            low: y + self.up - LINE_PX / 2.0,
            right: left + width,
            high: y + self.up + LINE_PX / 2.0,
        }
    }
}

/// From the units of the axes to pixels.
struct Pixels {
    per_x: f64,
    per_y: f64,
}

impl Pixels {
    fn at(&self, point: &Point<'_>) -> (f64, f64) {
        (point.x * self.per_x, point.y * self.per_y)
    }

    fn dot(&self, point: &Point<'_>) -> Area {
        let (x, y) = self.at(point);
        Area {
            left: x - 5.0,
            low: y - 5.0,
            right: x + 5.0,
            high: y + 5.0,
        }
    }

    /// Where a name is next to its dot without covering what is there already.
    fn label(&self, point: &Point<'_>, name: &str, taken: &[Area]) -> ((f64, f64), Anchor, Area) {
        let (x, y) = self.at(point);
        let width = name.chars().count() as f64 * LETTER_PX;
        let is_free = |beside: &Beside| {
            let area = beside.area((x, y), width);
            area.is_in_panel() && !taken.iter().any(|other| area.overlaps(other))
        };
        let beside = Beside::all().find(is_free).unwrap_or(Beside::FIRST);
        let at = (
            (x + beside.right) / self.per_x,
            (y + beside.up) / self.per_y,
        );
        (at, beside.anchor, beside.area((x, y), width))
    }
}
