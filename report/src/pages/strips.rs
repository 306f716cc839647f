// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cells on one axis, for experiments without a picture of their own.
use std::fmt::Write;

use ebb_experiments::{Cell, Unit};

use super::chart::mark;
use super::escape;
use super::frame::{TOP, WIDTH, open};
use crate::scale::{STEPS, Scale, label};

/// Height of a cell's label and strip.
const STRIP: f64 = 34.0;

/// All cells of a unit on one axis: the paper's value, ours, the interval.
pub(super) fn cells(all: &[Cell], unit: Unit) -> String {
    let cells: Vec<&Cell> = all.iter().filter(|cell| cell.unit == unit).collect();
    let values: Vec<f64> = cells
        .iter()
        .flat_map(|cell| {
            let half = cell.half_width_95.unwrap_or(0.0);
            let ours = cell
                .ours
                .map_or([cell.paper; 2], |ours| [ours - half, ours + half]);
            [cell.paper, ours[0], ours[1]]
        })
        .collect();
    let positive = values.iter().copied().filter(|value| *value > 0.0);
    let (least, most) = positive.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let is_log = most > 100.0 * least && values.iter().all(|value| *value > 0.0);
    let scale = Scale::new(&values, None, None, is_log);
    let height = TOP + STRIP * cells.len() as f64 + 20.0;
    let place = |value: f64| 16.0 + scale.place(value) * (WIDTH - 32.0);
    let mut svg = open(height, "the paper's values and ours on one axis");
    for tick in scale.ticks(STEPS) {
        let _ = write!(
            svg,
            "<path class=\"g\" d=\"M{0:.1} {TOP}V{1:.1}\"/>\
             <text class=\"t\" x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>",
            place(tick),
            height - 18.0,
            height - 4.0,
            label(tick)
        );
    }
    for (number, cell) in cells.iter().enumerate() {
        let y = TOP + STRIP * number as f64;
        strip(&mut svg, cell, y, &place);
    }
    let name = match unit.symbol() {
        "" => "Values".to_owned(),
        symbol => format!("Values in {symbol}"),
    };
    format!(
        "<figure><figcaption>{name}</figcaption>{svg}</svg><ul class=\"legend\"><li><svg \
         viewBox=\"0 0 36 14\" aria-hidden=\"true\"><g class=\"s0\">{}</g></svg>ours, with its 95 % \
         interval</li><li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\"><g class=\"s1\">{}</g>\
         </svg>the paper's</li></ul></figure>\n",
        mark(0, 18.0, 7.0, ""),
        mark(3, 18.0, 7.0, " p"),
    )
}

fn strip(svg: &mut String, cell: &Cell, y: f64, place: &impl Fn(f64) -> f64) {
    let name = match (cell.row.as_str(), cell.case.as_str()) {
        (row, "") => row.to_owned(),
        (row, case) => format!("{row}, {case}"),
    };
    // What is longer than the picture would be cut off by its edge.
    let name = match name.chars().count() > 58 {
        true => name.chars().take(57).chain(['…']).collect(),
        false => name,
    };
    let line = y + 24.0;
    let _ = write!(
        svg,
        "<text x=\"10\" y=\"{:.1}\">{}</text><path class=\"g\" d=\"M10 {line:.1}H{:.1}\"/>",
        y + 12.0,
        escape(&name),
        WIDTH - 10.0
    );
    let _ = write!(
        svg,
        "<g class=\"s1\">{}</g>",
        mark(3, place(cell.paper), line, " p")
    );
    let Some(ours) = cell.ours else { return };
    let half = cell.half_width_95.unwrap_or(0.0);
    let _ = write!(
        svg,
        "<path class=\"e\" d=\"M{:.1} {line:.1}H{:.1}\"/><g class=\"s0\">{}</g>",
        place(ours - half),
        place(ours + half),
        mark(0, place(ours), line, "")
    );
}
