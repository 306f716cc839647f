// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures as inline SVG: colours are the page's, so that they follow dark and light; each
//! curve has a mark of its own, so that nothing hangs on colours alone.
use std::fmt::Write;

use ebb_experiments::{DashedLine, Form, Picture, Place, Point};

use super::bars::bars;
use super::escape;
use super::frame::{BOTTOM, Frame, HEIGHT, LEFT, name_of, open, values};
use crate::scale::{STEPS, Scale, label};

/// Of the page's colours for curves.
const COLOURS: usize = 6;

/// Whose values.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Whose {
    Ours,
    Paper,
}

/// A picture in the paper's form.
pub(super) fn picture(picture: &Picture) -> String {
    let title = match picture.title.as_str() {
        "" => format!("{} against {}", picture.y.label, picture.x.label),
        title => title.to_owned(),
    };
    let svg = match picture.form {
        Form::Bars => bars(picture),
        Form::Lines | Form::Time | Form::TimeBars => lines(picture),
    };
    let legend = legend(picture);
    let caption = escape(&title);
    format!(
        "<figure><figcaption>{caption}</figcaption>{svg}<ul class=\"legend\">{legend}</ul></figure>\n"
    )
}

fn lines(picture: &Picture) -> String {
    let number = |point: &Point| match &point.x {
        Place::Number(x) => vec![*x],
        Place::Label(_) => Vec::new(),
    };
    let (x, y) = (&picture.x, &picture.y);
    let at = values(&picture.curves, number);
    // A run ends where it ends.
    let end = at.iter().copied().fold(0.0, f64::max).ceil();
    let is_over_time = matches!(picture.form, Form::Time | Form::TimeBars);
    let to = x.to.or((is_over_time && end > 0.0).then_some(end));
    let across = Scale::new(&at, x.from, to, x.is_log);
    let frame = Frame::new(picture, HEIGHT - BOTTOM);
    let place = |value: f64| frame.x(&across, value);
    let mut svg = open(HEIGHT, &format!("{} against {}", name_of(y), name_of(x)));
    frame.draw(&mut svg);
    for tick in across.ticks(STEPS) {
        let _ = write!(
            svg,
            "<path class=\"g\" d=\"M{0:.1} {1:.1}v4\"/>\
             <text class=\"t\" x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>",
            place(tick),
            frame.bottom,
            frame.bottom + 16.0,
            label(tick)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        LEFT + frame.width() / 2.0,
        HEIGHT - 6.0,
        escape(&name_of(x))
    );
    for (number, curve) in picture.curves.iter().enumerate() {
        let points = |of: &[Point]| -> Vec<(f64, f64, f64, f64)> {
            let mut points: Vec<_> = of
                .iter()
                .filter_map(|point| match point.x {
                    Place::Number(x) => {
                        let half = point.half_width_95.unwrap_or(0.0);
                        Some((x, point.y, half))
                    }
                    Place::Label(_) => None,
                })
                .collect();
            points.sort_by(|left, right| left.0.total_cmp(&right.0));
            let up = |value| frame.y_of(curve, value);
            let placed = points
                .into_iter()
                .map(|(x, y, half)| (place(x), up(y), up(y - half), up(y + half)));
            placed.collect()
        };
        let has_marks = picture.form == Form::Lines;
        for (whose, of) in [(Whose::Paper, &curve.paper), (Whose::Ours, &curve.ours)] {
            match picture.form {
                Form::TimeBars => {
                    let zero = frame.y_of(curve, 0.0);
                    bars_of(&mut svg, number, whose, &points(of), zero);
                }
                _ => curve_of(&mut svg, number, whose, &points(of), has_marks),
            }
        }
    }
    frame.draw_marks(&mut svg, Some(&across));
    svg + "</svg>"
}

fn curve_of(
    svg: &mut String,
    number: usize,
    whose: Whose,
    points: &[(f64, f64, f64, f64)],
    has_marks: bool,
) {
    let class = class_of(number);
    let paper = if whose == Whose::Paper { " p" } else { "" };
    let _ = write!(svg, "<g class=\"{class}\">");
    if points.len() > 1 {
        let mut path = String::new();
        for (place, (x, y, ..)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if place == 0 { "M" } else { "L" });
        }
        let _ = write!(svg, "<path class=\"l{paper}\" d=\"{path}\"/>");
    }
    if has_marks || points.len() == 1 {
        for (x, y, low, high) in points {
            if (low - high).abs() > 1.0 {
                let _ = write!(
                    svg,
                    "<path class=\"e\" d=\"M{x:.1} {low:.1}V{high:.1}m-3 0h6M{:.1} {low:.1}h6\"/>",
                    x - 3.0
                );
            }
            svg.push_str(&mark(number, *x, *y, paper));
        }
    }
    svg.push_str("</g>");
}

/// A thin bar for each value, from zero.
fn bars_of(
    svg: &mut String,
    number: usize,
    whose: Whose,
    points: &[(f64, f64, f64, f64)],
    zero: f64,
) {
    let paper = if whose == Whose::Paper { " p" } else { "" };
    let bars: String = points
        .iter()
        .map(|(x, y, ..)| format!("M{x:.1} {zero:.1}V{y:.1}"))
        .collect();
    let class = class_of(number);
    let _ = write!(
        svg,
        "<g class=\"{class}\"><path class=\"l{paper}\" d=\"{bars}\"/></g>"
    );
}

pub(super) fn class_of(number: usize) -> String {
    format!("s{}", number % COLOURS)
}

/// Circle, square, triangle, diamond, cross, and again.
pub(super) fn mark(number: usize, x: f64, y: f64, paper: &str) -> String {
    let path = match number % 5 {
        0 => {
            return format!("<circle class=\"m{paper}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
        }
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        3 => format!("M{x:.1} {:.1}l6.5 6.5l-6.5 6.5l-6.5-6.5z", y - 6.5),
        _ => format!("M{:.1} {:.1}l8 8m0-8l-8 8", x - 4.0, y - 4.0),
    };
    format!("<path class=\"m{paper}\" d=\"{path}\"/>")
}

fn legend(picture: &Picture) -> String {
    let mut items = String::new();
    for (number, curve) in picture.curves.iter().enumerate() {
        for (whose, points) in [(Whose::Ours, &curve.ours), (Whose::Paper, &curve.paper)] {
            if points.is_empty() {
                continue;
            }
            let (paper, suffix) = match whose {
                Whose::Ours => ("", ""),
                Whose::Paper => (" p", " (paper)"),
            };
            let way = match curve.is_upside_down {
                true => ", upside down",
                false => "",
            };
            let line = format!("<path class=\"l{paper}\" d=\"M0 7H36\"/>");
            let sample = match picture.form {
                Form::Bars => {
                    format!("<rect class=\"r{paper}\" x=\"8\" y=\"2\" width=\"20\" height=\"10\"/>")
                }
                Form::Time | Form::TimeBars => line,
                Form::Lines => line + &mark(number, 18.0, 7.0, paper),
            };
            let _ = write!(
                items,
                "<li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\"><g class=\"{}\">{sample}</g>\
                 </svg>{}{way}{suffix}</li>",
                class_of(number),
                escape(&curve.name)
            );
        }
    }
    items + &legend_of_marks(&picture.marks)
}

/// Lines that say the same, each once.
fn legend_of_marks(marks: &[DashedLine]) -> String {
    let mut told = Vec::new();
    for mark in marks {
        let told_of = match mark {
            DashedLine::Upright { label, .. } => (label, "M18 0V14"),
            DashedLine::Level { label, .. } => (label, "M0 7H36"),
        };
        if !told.contains(&told_of) {
            told.push(told_of);
        }
    }
    let item = |(label, path): (&String, &str)| {
        format!(
            "<li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\"><path class=\"d\" d=\"{path}\"/>\
             </svg>{}</li>",
            escape(label)
        )
    };
    told.into_iter().map(item).collect()
}
