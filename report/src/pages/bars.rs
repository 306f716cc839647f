// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures with bars beside each other.
use std::fmt::Write;

use ebb_experiments::{Curve, Picture, Place, Point};

use super::chart::{Whose, class_of};
use super::escape;
use super::frame::{BOTTOM, Frame, HEIGHT, LEFT, RIGHT, WIDTH, name_of, open};

/// Groups of bars; in each, of each curve the paper's and ours.
pub(super) fn bars(picture: &Picture) -> String {
    let labels = labels(&picture.curves);
    let longest = labels
        .iter()
        .map(|it| it.chars().count())
        .max()
        .unwrap_or(0);
    let group = (WIDTH - LEFT - RIGHT) / labels.len().max(1) as f64;
    // About the width of a character; what does not fit is turned.
    let is_turned = longest as f64 * 6.5 > group;
    let below = if is_turned {
        24.0 + longest as f64 * 4.8
    } else {
        BOTTOM
    };
    let height = HEIGHT - BOTTOM + below;
    let frame = Frame::new(picture, height - below);
    let mut svg = open(height, &format!("bars of {}", name_of(&picture.y)));
    frame.draw(&mut svg);
    let drawn = columns(&picture.curves);
    let width = (group * 0.8 / drawn.len().max(1) as f64).min(28.0);
    for (place, text) in labels.iter().enumerate() {
        let middle = LEFT + group * (place as f64 + 0.5);
        let first = middle - width * drawn.len() as f64 / 2.0;
        for (order, column) in drawn.iter().enumerate() {
            let left = first + width * order as f64;
            column.draw(&mut svg, &frame, text, left, width - 1.0);
        }
        group_label(&mut svg, text, middle, frame.bottom, is_turned);
    }
    frame.draw_marks(&mut svg, None);
    svg + "</svg>"
}

/// Bars that stand on each other, one for each label.
struct Column<'c> {
    whose: Whose,
    /// Numbers of the curves and their values, the lowest first.
    parts: Vec<(usize, &'c [Point])>,
}

impl<'c> Column<'c> {
    fn draw(&self, svg: &mut String, frame: &Frame<'_>, label: &str, left: f64, width: f64) {
        let mut below = None;
        for (number, point) in self.at(label) {
            let class = (number, self.whose);
            bar(svg, frame, class, (left, width), below, point);
            below = Some(below.unwrap_or(0.0) + point.y);
        }
    }

    /// What stands above a label.
    fn at(&self, label: &str) -> impl Iterator<Item = (usize, &'c Point)> {
        let is_here = move |point: &&Point| matches!(&point.x, Place::Label(it) if it == label);
        let parts = self.parts.iter();
        parts.filter_map(move |(number, points)| Some((*number, points.iter().find(is_here)?)))
    }
}

/// The paper's and ours of each curve that has bars of its own, and of each stack.
fn columns(curves: &[Curve]) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    for (number, curve) in curves.iter().enumerate() {
        let stands_on = |other: &Curve| curve.stack.is_some() && other.stack == curve.stack;
        // A stack is drawn with its first curve.
        if curves[..number].iter().any(stands_on) {
            continue;
        }
        let own = (number..curves.len()).filter(|one| *one == number || stands_on(&curves[*one]));
        let own: Vec<usize> = own.collect();
        for whose in [Whose::Paper, Whose::Ours] {
            let points = |one: &usize| match whose {
                Whose::Paper => (*one, curves[*one].paper.as_slice()),
                Whose::Ours => (*one, curves[*one].ours.as_slice()),
            };
            let parts: Vec<_> = own.iter().map(points).collect();
            if parts.iter().any(|(_, points)| !points.is_empty()) {
                columns.push(Column { whose, parts });
            }
        }
    }
    columns
}

/// How high bars that stand on each other are, with their intervals.
pub(super) fn heights(curves: &[Curve]) -> Vec<f64> {
    let mut heights = Vec::new();
    for column in columns(curves) {
        for label in labels(curves) {
            let mut height = 0.0;
            for (_, point) in column.at(&label) {
                height += point.y;
                heights.push(height + point.half_width_95.unwrap_or(0.0));
            }
        }
    }
    heights
}

fn labels(curves: &[Curve]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for point in curves.iter().flat_map(|it| it.paper.iter().chain(&it.ours)) {
        if let Place::Label(label) = &point.x
            && !labels.contains(label)
        {
            labels.push(label.clone());
        }
    }
    labels
}

/// A bar from what stands below it, or from the axis.
fn bar(
    svg: &mut String,
    frame: &Frame<'_>,
    (number, whose): (usize, Whose),
    (left, width): (f64, f64),
    below: Option<f64>,
    point: &Point,
) {
    let paper = if whose == Whose::Paper { " p" } else { "" };
    let base = below.unwrap_or(0.0);
    let top = frame.y(base + point.y);
    // A line of background keeps what stands on something apart from it.
    let foot = below.map_or(frame.bottom, |below| frame.y(below) - 1.0);
    let _ = write!(
        svg,
        "<rect class=\"r{paper} {}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
         height=\"{:.1}\"/>",
        class_of(number),
        (foot - top).max(0.5)
    );
    if let Some(half) = point.half_width_95 {
        let (low, high) = (
            frame.y(base + point.y - half),
            frame.y(base + point.y + half),
        );
        if low - high > 1.0 {
            let middle = left + width / 2.0;
            let _ = write!(
                svg,
                "<path class=\"e\" d=\"M{middle:.1} {low:.1}V{high:.1}\"/>"
            );
        }
    }
}

fn group_label(svg: &mut String, text: &str, middle: f64, bottom: f64, is_turned: bool) {
    let text = escape(text);
    let _ = match is_turned {
        false => write!(
            svg,
            "<text class=\"t\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 16.0
        ),
        true => write!(
            svg,
            "<text class=\"t\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\" \
             transform=\"rotate(-40 {0:.1} {1:.1})\">{text}</text>",
            middle + 4.0,
            bottom + 12.0
        ),
    };
}

#[cfg(test)]
mod tests {
    use ebb_experiments::{Axis, Form};

    use super::*;

    fn curve(stack: Option<&str>, y: f64, half_width_95: Option<f64>) -> Curve {
        let point = Point {
            x: Place::Label("1 s".into()),
            y,
            half_width_95,
        };
        Curve {
            name: String::new(),
            ours: vec![point],
            paper: Vec::new(),
            is_upside_down: false,
            stack: stack.map(str::to_owned),
        }
    }

    fn picture(curves: Vec<Curve>) -> Picture {
        Picture {
            title: String::new(),
            form: Form::Bars,
            x: Axis::default(),
            y: Axis::default(),
            curves,
            marks: Vec::new(),
        }
    }

    #[test]
    fn curves_of_one_stack_stand_on_each_other_beside_the_others() {
        let all = vec![
            curve(None, 4.0, None),
            curve(Some("on"), 5.0, None),
            curve(Some("on"), 3.0, Some(1.0)),
        ];
        assert_eq!(heights(&all), [4.0, 5.0, 9.0]);
        // The axis ends at 10: 23 for each from 240 upwards, and one group around 215.
        let svg = bars(&picture(all));
        for part in [
            "s0\" x=\"187.0\" y=\"148.0\" width=\"27.0\" height=\"92.0\"",
            "s1\" x=\"215.0\" y=\"125.0\" width=\"27.0\" height=\"115.0\"",
            "s2\" x=\"215.0\" y=\"56.0\" width=\"27.0\" height=\"68.0\"",
            "M228.5 79.0V33.0",
        ] {
            assert!(svg.contains(part), "no `{part}` in {svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 3);
    }

    #[test]
    fn stacks_of_other_names_stand_beside_each_other() {
        let stacks = [Some("a"), Some("b"), None, Some("a"), None];
        let curves: Vec<Curve> = stacks.map(|stack| curve(stack, 1.0, None)).into();
        let columns = columns(&curves);
        let columns = columns.iter().map(|column| column.parts.iter());
        let numbers: Vec<Vec<usize>> = columns
            .map(|parts| parts.map(|(number, _)| *number).collect())
            .collect();
        assert_eq!(numbers, [vec![0, 3], vec![1], vec![2], vec![4]]);
    }
}
