// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cells on one axis, for experiments without a picture of their own.
use ebb_experiments::{Cell, Unit};
use maud::{Markup, html};

use super::axes::{TOP, WIDTH, drawing, px};
use super::marks::{MIDDLE, Whose, mark, sample};
use crate::scale::{STEPS, Scale, label};
use crate::table::cut;

/// Height of a cell's label and strip.
const STRIP: f64 = 34.0;
/// What is longer than the picture would be cut off by its edge. *Units:* characters.
const NAME_WIDTH: usize = 58;

/// All cells of a unit on one axis: the paper's value, ours, the interval.
pub(super) fn cells(all: &[Cell], unit: Unit) -> Markup {
    let cells: Vec<&Cell> = all.iter().filter(|cell| cell.unit == unit).collect();
    let name = match unit.symbol() {
        "" => "Values".to_owned(),
        symbol => format!("Values in {symbol}"),
    };
    html! {
        figure {
            figcaption { (name) }
            (strips(&cells))
            ul.legend {
                li { (sample(&ours(MIDDLE))) "ours, with its 95 % interval" }
                li { (sample(&papers(MIDDLE))) "the paper's" }
            }
        }
    }
}

fn ours(at: (f64, f64)) -> Markup {
    html! { g.s0 { (mark(0, at, Whose::Ours)) } }
}

fn papers(at: (f64, f64)) -> Markup {
    html! { g.s1 { (mark(3, at, Whose::Paper)) } }
}

fn strips(cells: &[&Cell]) -> Markup {
    let scale = scale(cells);
    let height = TOP + STRIP * cells.len() as f64 + 20.0;
    let place = |value: f64| 16.0 + scale.place(value) * (WIDTH - 32.0);
    let drawn = html! {
        @for tick in scale.ticks(STEPS) {
            @let x = px(place(tick));
            path.g d={ "M" (x) " " (TOP) "V" (px(height - 18.0)) } {}
            text.t x=(x) y=(px(height - 4.0)) text-anchor="middle" { (label(tick)) }
        }
        @for (number, cell) in cells.iter().enumerate() {
            (strip(cell, TOP + STRIP * number as f64, &place))
        }
    };
    drawing(height, "the paper's values and ours on one axis", &drawn)
}

/// Logarithmic where values are far apart.
fn scale(cells: &[&Cell]) -> Scale {
    let values = |cell: &&Cell| {
        let half = cell.half_width_95.unwrap_or(0.0);
        let ours = cell.ours.map(|ours| [ours - half, ours + half]);
        let [low, high] = ours.unwrap_or([cell.paper; 2]);
        [cell.paper, low, high]
    };
    let values: Vec<f64> = cells.iter().flat_map(values).collect();
    let positive = values.iter().copied().filter(|value| *value > 0.0);
    let (least, most) = positive.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let is_log = most > 100.0 * least && values.iter().all(|value| *value > 0.0);
    Scale::new(&values, None, None, is_log)
}

fn strip(cell: &Cell, y: f64, place: &impl Fn(f64) -> f64) -> Markup {
    let name = match (cell.row.as_str(), cell.case.as_str()) {
        (row, "") => row.to_owned(),
        (row, case) => format!("{row}, {case}"),
    };
    let line = y + 24.0;
    let half = cell.half_width_95.unwrap_or(0.0);
    html! {
        text x="10" y=(px(y + 12.0)) { (cut(&name, NAME_WIDTH)) }
        path.g d={ "M10 " (px(line)) "H" (px(WIDTH - 10.0)) } {}
        (papers((place(cell.paper), line)))
        @if let Some(value) = cell.ours {
            @let (low, high) = (px(place(value - half)), px(place(value + half)));
            path.e d={ "M" (low) " " (px(line)) "H" (high) } {}
            (ours((place(value), line)))
        }
    }
}
