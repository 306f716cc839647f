// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far laws are from strict priority: tables, and the picture of the trade-off.
use ebb_experiments::score::{Distances, Score, ScoreScenario, summaries};

use crate::figure::{Anchor, Colour, Column, Figure, Legend, Mark, Panel, Row, Sample, colours};
use crate::table::{Align, Table, cut};

/// Columns of all tables, and how a value is written.
const HEADS: [&str; 7] = [
    "taken", "+mean ms", "+p95 ms", "used", "yield s", "reap s", "Jain",
];
const NOTHING: &str = "-";
/// Longer names of laws are cut.
const NAME_WIDTH: usize = 22;

/// The mean of each law over all scenarios, the nearest to strict priority first.
pub fn summary(scores: &[Score]) -> Table {
    let scenarios = scores.iter().filter(|one| one.law == scores[0].law).count();
    let title = format!("laws, mean over {scenarios} scenarios, nearest to strict priority first");
    let mut table = table(&title, "law");
    for (law, distances) in summaries(scores) {
        table.row(line(&law, &distances));
    }
    with_notes(table, scores)
}

/// One law, a line for each scenario.
pub fn of_law(scores: &[Score]) -> Table {
    let law = scores.first().map_or("", |score| score.law.as_str());
    let mut table = table(law, "scenario");
    for score in scores {
        table.row(line(&score.scenario, &score.distances));
    }
    for (_, mean) in summaries(scores) {
        table.row(line("mean", &mean));
    }
    with_notes(table, scores)
}

/// One scenario, a line for each law.
pub fn of_scenario(scores: &[Score], scenario: &ScoreScenario) -> Table {
    let title = format!("{}: {}", scenario.name, scenario.title);
    let mut table = table(&title, "law");
    for score in scores {
        table.row(line(&score.law, &score.distances));
    }
    with_notes(table, scores)
}

/// One law in one scenario.
pub fn cell(score: &Score, scenario: &ScoreScenario) -> Table {
    let title = format!("{} in {}: {}", score.law, scenario.name, scenario.title);
    let mut table = table(&title, "law");
    table.row(line(&score.law, &score.distances));
    with_notes(table, std::slice::from_ref(score))
}

/// What there is to be run.
pub fn list(scenarios: &[&ScoreScenario]) -> Table {
    let mut table = Table::new("")
        .column("scenario", Align::Left)
        .column("quick", Align::Left)
        .column("what happens", Align::Left);
    for scenario in scenarios {
        let quick = if scenario.is_quick { "yes" } else { "" };
        table.row([scenario.name.as_str(), quick, &scenario.title]);
    }
    table
}

fn table(title: &str, first: &str) -> Table {
    let table = Table::new(title).column(first, Align::Left);
    HEADS
        .into_iter()
        .fold(table, |table, head| table.column(head, Align::Right))
}

fn line(name: &str, distances: &Distances) -> Vec<String> {
    let with =
        |value: Option<f64>, write: fn(f64) -> String| value.map_or(NOTHING.to_owned(), write);
    vec![
        cut(name, NAME_WIDTH),
        with(distances.goodput_taken, percent),
        with(distances.delay_added_mean_ms, ms),
        with(distances.delay_added_p95_ms, ms),
        with(distances.spare_used, percent),
        with(distances.time_to_yield_s, |value| format!("{value:.2}")),
        with(distances.time_to_reap_s, |value| format!("{value:.2}")),
        with(distances.jain, |value| format!("{value:.3}")),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn ms(value: f64) -> String {
    format!("{value:.1}")
}

fn with_notes(mut table: Table, scores: &[Score]) -> Table {
    let runs = scores.first().map_or(0, |score| score.runs);
    table.note(format!(
        "taken: part of the others' goodput; +mean, +p95: delay added to theirs; used: part of \
         what they leave; yield, reap: beyond what strict priority takes; {runs} run{} of each.",
        if runs == 1 { "" } else { "s" }
    ));
    table
}

const WIDTH_PX: u32 = 1120;
const HEIGHT_PX: u32 = 460;
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
        ("goodput taken from others, %", &goodput),
        ("delay added to others (95th percentile), ms", &delay),
    ];
    Some(Figure {
        title: "What a law costs others, and what it makes of what they leave".into(),
        subtitle: vec![format!(
            "mean over {} scenarios; strict priority is the upper left corner",
            scores.iter().filter(|one| one.law == scores[0].law).count()
        )],
        columns: columns
            .map(|(title, points)| Column {
                title: title.into(),
                subtitle: String::new(),
                colour: colours::GREY,
                x_max: x_max(points),
            })
            .into(),
        rows: vec![Row {
            title: "spare used".into(),
            unit: "%".into(),
            y_max: 105.0,
            height_px: HEIGHT_PX,
            panels: panels.into(),
        }],
        x_label: "harm, as the heads of the columns say: less is better".into(),
        legend: vec![
            Legend {
                sample: Sample::Patch(RECEIVER, 1.0),
                meaning: "law of the receiver".into(),
            },
            Legend {
                sample: Sample::Patch(SENDER, 1.0),
                meaning: "law of the sender".into(),
            },
        ],
        width_px: WIDTH_PX,
    })
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
    let scale = Scale {
        x: PANEL_WIDTH_PX / x_max(points),
        y: f64::from(HEIGHT_PX) / 105.0,
    };
    let mut taken: Vec<Box4> = points.iter().map(|point| scale.dot(point)).collect();
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
        let (at, anchor, place) = scale.label(point, name, &taken);
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

/// Left, low, right, high. *Units:* px.
type Box4 = [f64; 4];

struct Scale {
    x: f64,
    y: f64,
}

impl Scale {
    fn dot(&self, point: &Point<'_>) -> Box4 {
        let (x, y) = (point.x * self.x, point.y * self.y);
        [x - 5.0, y - 5.0, x + 5.0, y + 5.0]
    }

    /// Where a name is next to its dot without covering what is there already.
    fn label(&self, point: &Point<'_>, name: &str, taken: &[Box4]) -> ((f64, f64), Anchor, Box4) {
        let (x, y) = (point.x * self.x, point.y * self.y);
        let width = name.chars().count() as f64 * LETTER_PX;
        let right = (0..14).flat_map(|step| {
            let shift = f64::from(step) * LINE_PX / 2.0;
            [
                (Anchor::Left, 8.0, shift),
                (Anchor::Left, 8.0, -shift),
                (Anchor::Right, -8.0, shift),
                (Anchor::Right, -8.0, -shift),
            ]
        });
        let place = |(anchor, dx, dy): (Anchor, f64, f64)| {
            let left = if anchor == Anchor::Left {
                x + dx
            } else {
                x + dx - width
            };
            [
                left,
                y + dy - LINE_PX / 2.0,
                left + width,
                y + dy + LINE_PX / 2.0,
            ]
        };
        let is_free = |place: &Box4| {
            let overlaps = |other: &Box4| {
                place[0] < other[2]
                    && other[0] < place[2]
                    && place[1] < other[3]
                    && other[1] < place[3]
            };
            place[0] > 2.0
                && place[1] > 0.0
                && place[3] < f64::from(HEIGHT_PX)
                && !taken.iter().any(overlaps)
        };
        let mut candidates = right.map(|one| (one, place(one)));
        let best = candidates.find(|(_, place)| is_free(place));
        let first = (Anchor::Left, 8.0, 0.0);
        let ((anchor, dx, dy), place) = best.unwrap_or((first, place(first)));
        (((x + dx) / self.x, (y + dy) / self.y), anchor, place)
    }
}
