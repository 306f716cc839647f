// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo's table and figure.
#[cfg(test)]
mod tests;

use ebb_lab::demo::{
    Numbers, ONE_WAY_DELAY, Outcome, PAGE_BYTES, PAGE_INTERVAL, PAGE_OBJECTS, Part, PartKind,
    QUEUE_PKTS, RATE, Share,
};
use ebb_report::figure::{Colour, Column, Figure, Legend, Mark, Panel, Row, Sample, colours};
use ebb_report::table::{Align, Table};
use ebb_report::units;

use super::words::Words;

/// The table of all parts; `notes` come below it.
pub(super) fn table(outcome: &Outcome, words: &Words, notes: &[String]) -> Table {
    let title = format!("{} on a link of {}", words.table, link());
    let mut table = Table::new(title).column("", Align::Left);
    for part in &outcome.parts {
        table = table.column(words.part(part.kind), Align::Right);
    }
    let parts: Vec<Numbers> = outcome.parts.iter().map(Numbers::of).collect();
    for (what, cell) in LINES {
        let cells = parts
            .iter()
            .map(|part| cell(part).unwrap_or_else(|| "-".into()));
        table.row([what.to_owned()].into_iter().chain(cells));
    }
    table.row([
        "download, nobody else".to_owned(),
        "-".to_owned(),
        units::rate(outcome.alone_plain_bits_per_s),
        units::rate(outcome.alone_ebb_bits_per_s),
    ]);
    table.note(format!("{}: by {}", words.by, outcome.method));
    for note in notes {
        table.note(note);
    }
    table
}

/// What a line of the table says of a part.
type Cell = fn(&Numbers) -> Option<String>;

const LINES: [(&str, Cell); 7] = [
    ("page load, median", |part| {
        part.page_median_s.map(units::seconds)
    }),
    ("page load, 95th percentile", |part| {
        part.page_p95_s.map(units::seconds)
    }),
    ("pages loaded", |part| Some(part.pages.to_string())),
    ("call delay, mean", |part| {
        part.call_mean_ms.map(units::milliseconds)
    }),
    ("call delay, 95th percentile", |part| {
        part.call_p95_ms.map(units::milliseconds)
    }),
    ("call loss", |part| part.call_loss.map(units::percent)),
    ("download beside the person", |part| {
        part.download_bits_per_s.map(units::rate)
    }),
];

/// The figure: rate, pages and call over time, the parts side by side.
pub(super) fn figure(outcome: &Outcome, words: &Words) -> Figure {
    let parts = &outcome.parts;
    let numbers: Vec<Numbers> = parts.iter().map(Numbers::of).collect();
    let columns = parts
        .iter()
        .zip(&numbers)
        .map(|(part, sum)| column(outcome, words, part, sum));
    Figure {
        title: title(words, &numbers),
        subtitle: vec![
            format!(
                "A person opens a page ({PAGE_OBJECTS} files, {}) every {} s {}",
                units::bytes(PAGE_BYTES),
                PAGE_INTERVAL.as_secs(),
                words.doing
            ),
            format!(
                "nginx, curl and Linux TCP (CUBIC), all real; emulated link: {}.",
                link()
            ),
            format!("{}: by {}.", words.by, outcome.method),
        ],
        columns: columns.collect(),
        rows: vec![
            rate_row(parts, &numbers),
            pages_row(parts, &numbers),
            call_row(parts, &numbers),
        ],
        x_label: "seconds".into(),
        legend: legend(words),
        width_px: 900,
    }
}

fn legend(words: &Words) -> Vec<Legend> {
    let (grey, plain, ebb) = (colours::GREY, colours::VERMILLION, colours::BLUE);
    let download = |kind| format!("download, {}", words.part(kind));
    let samples = [
        (
            Sample::Patch(grey, PERSON_OPACITY),
            "pages and call".to_owned(),
        ),
        (
            Sample::Patch(plain, DOWNLOAD_OPACITY),
            download(PartKind::Plain),
        ),
        (
            Sample::Patch(ebb, DOWNLOAD_OPACITY),
            download(PartKind::Ebb),
        ),
        (
            Sample::Level,
            "what the person has alone (median, mean)".to_owned(),
        ),
    ];
    samples
        .map(|(sample, meaning)| Legend { sample, meaning })
        .into()
}

const PERSON_OPACITY: f64 = 0.55;
const DOWNLOAD_OPACITY: f64 = 0.75;

fn link() -> String {
    format!(
        "{} Mbit/s, RTT {} ms, {QUEUE_PKTS} packets",
        RATE.bits_per_s() / 1_000_000,
        2.0 * ONE_WAY_DELAY.as_millis_f64()
    )
}

fn colour(kind: PartKind) -> Colour {
    match kind {
        PartKind::Quiet => colours::GREY,
        PartKind::Plain => colours::VERMILLION,
        PartKind::Ebb => colours::BLUE,
    }
}

/// Claims only what this run shows.
fn title(words: &Words, parts: &[Numbers]) -> String {
    let medians: Vec<f64> = parts.iter().filter_map(|part| part.page_median_s).collect();
    match medians[..] {
        [alone, plain, ebb] if plain > 1.3 * alone && ebb < 1.15 * alone => words.claim.into(),
        [alone, plain, ebb] => format!(
            "A page takes {alone:.2} s alone, {plain:.2} s beside {}, {ebb:.2} s beside {}",
            words.beside(PartKind::Plain),
            words.beside(PartKind::Ebb),
        ),
        _ => words.subject.into(),
    }
}

fn column(outcome: &Outcome, words: &Words, part: &Part, numbers: &Numbers) -> Column {
    let alone = match part.kind {
        PartKind::Quiet => None,
        PartKind::Plain => Some(outcome.alone_plain_bits_per_s),
        PartKind::Ebb => Some(outcome.alone_ebb_bits_per_s),
    };
    let subtitle = match (alone, numbers.download_bits_per_s) {
        (Some(alone), Some(_)) => format!("download with nobody else: {}", units::rate(alone)),
        _ => "only the person's own traffic".into(),
    };
    Column {
        title: words.part(part.kind).into(),
        subtitle,
        colour: colour(part.kind),
        x_max: part.duration_s,
    }
}

fn rate_row(parts: &[Part], numbers: &[Numbers]) -> Row {
    let panel = |(part, own): (&Part, &Numbers)| {
        let person = steps(part, |share| share.person_bits_per_s);
        let all = steps(part, |share| {
            share.person_bits_per_s + share.download_bits_per_s
        });
        let below = person.iter().map(|&(x, y)| (x, 0.0, y)).collect();
        let above = person
            .iter()
            .zip(&all)
            .map(|(&(x, low), &(_, high))| (x, low, high))
            .collect();
        let headline = match own.download_bits_per_s {
            Some(rate) => format!("download: {}", units::rate(rate)),
            None => "no download".into(),
        };
        let grey = colours::GREY;
        let marks = vec![
            Mark::Area {
                points: below,
                colour: grey,
                opacity: PERSON_OPACITY,
            },
            Mark::Area {
                points: above,
                colour: colour(part.kind),
                opacity: DOWNLOAD_OPACITY,
            },
        ];
        Panel { headline, marks }
    };
    Row {
        title: "Who uses the link".into(),
        unit: "Mbit/s".into(),
        y_max: RATE.bits_per_s() as f64 / 1e6 * 1.3,
        height_px: 150,
        panels: parts.iter().zip(numbers).map(panel).collect(),
    }
}

/// Mbit/s over time, as the two ends of each step.
fn steps(part: &Part, bits_per_s: impl Fn(&Share) -> f64) -> Vec<(f64, f64)> {
    let ends = |share: &Share| {
        let rate = bits_per_s(share) / 1e6;
        [(share.from_s.max(0.0), rate), (share.until_s, rate)]
    };
    part.shares.iter().flat_map(ends).collect()
}

fn pages_row(parts: &[Part], numbers: &[Numbers]) -> Row {
    let longest = parts
        .iter()
        .flat_map(|part| &part.pages)
        .map(|page| page.load_s);
    let panel = |(part, own): (&Part, &Numbers)| {
        let points = part
            .pages
            .iter()
            .map(|page| (page.start_s, page.load_s))
            .collect();
        let headline = match (own.page_median_s, own.page_p95_s) {
            (Some(median), Some(p95)) => format!("median {median:.2} s, p95 {p95:.2} s"),
            _ => "no page".into(),
        };
        let stems = Mark::Stems {
            points,
            colour: colour(part.kind),
        };
        let marks = alone(numbers[0].page_median_s).chain([stems]).collect();
        Panel { headline, marks }
    };
    Row {
        title: "Time until a page is there".into(),
        unit: "s".into(),
        y_max: longest.fold(0.5, f64::max) * 1.4,
        height_px: 130,
        panels: parts.iter().zip(numbers).map(panel).collect(),
    }
}

/// The height that the person alone has, to compare with.
fn alone(quiet: Option<f64>) -> impl Iterator<Item = Mark> {
    quiet.map(|y| Mark::Level { y }).into_iter()
}

fn call_row(parts: &[Part], numbers: &[Numbers]) -> Row {
    let delays = |part: &Part| -> Vec<(f64, f64)> {
        part.call
            .iter()
            .filter_map(|spoken| Some((spoken.sent_s, spoken.delay_ms?)))
            .collect()
    };
    let longest = parts.iter().flat_map(delays).map(|(_, delay_ms)| delay_ms);
    let panel = |(part, own): (&Part, &Numbers)| {
        let line = Mark::Line {
            points: delays(part),
            colour: colour(part.kind),
            width_px: 1.2,
        };
        let headline = match (own.call_mean_ms, own.call_loss) {
            (Some(mean), Some(0.0)) => format!("mean {mean:.0} ms, none lost"),
            (Some(mean), Some(loss)) => format!("mean {mean:.0} ms, {} lost", units::percent(loss)),
            _ => "no call".into(),
        };
        let marks = alone(numbers[0].call_mean_ms).chain([line]).collect();
        Panel { headline, marks }
    };
    Row {
        title: "Delay of the call, one way".into(),
        unit: "ms".into(),
        y_max: longest.fold(ONE_WAY_DELAY.as_millis_f64(), f64::max) * 1.35,
        height_px: 130,
        panels: parts.iter().zip(numbers).map(panel).collect(),
    }
}
