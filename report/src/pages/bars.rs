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
    let drawn: Vec<(usize, Whose, &Vec<Point>)> = picture
        .curves
        .iter()
        .enumerate()
        .flat_map(|(number, curve)| {
            [
                (number, Whose::Paper, &curve.paper),
                (number, Whose::Ours, &curve.ours),
            ]
        })
        .filter(|(_, _, points)| !points.is_empty())
        .collect();
    let width = (group * 0.8 / drawn.len().max(1) as f64).min(28.0);
    for (place, text) in labels.iter().enumerate() {
        let middle = LEFT + group * (place as f64 + 0.5);
        let first = middle - width * drawn.len() as f64 / 2.0;
        for (order, (number, whose, points)) in drawn.iter().enumerate() {
            let is_here = |point: &&Point| point.x == Place::Label((*text).clone());
            if let Some(point) = points.iter().find(is_here) {
                let left = first + width * order as f64;
                bar(
                    &mut svg,
                    &frame,
                    (*number, *whose),
                    left,
                    width - 1.0,
                    point,
                );
            }
        }
        group_label(&mut svg, text, middle, frame.bottom, is_turned);
    }
    frame.draw_marks(&mut svg, None);
    svg + "</svg>"
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

fn bar(
    svg: &mut String,
    frame: &Frame<'_>,
    (number, whose): (usize, Whose),
    left: f64,
    width: f64,
    point: &Point,
) {
    let paper = if whose == Whose::Paper { " p" } else { "" };
    let top = frame.y(point.y);
    let _ = write!(
        svg,
        "<rect class=\"r{paper} {}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
         height=\"{:.1}\"/>",
        class_of(number),
        (frame.bottom - top).max(0.5)
    );
    if let Some(half) = point.half_width_95 {
        let (low, high) = (frame.y(point.y - half), frame.y(point.y + half));
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
