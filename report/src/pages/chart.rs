// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures as inline SVG: colours are the page's, so that they follow dark and light; each
//! curve has a mark of its own, so that nothing hangs on colours alone.
use std::fmt::Write;

use ebb_experiments::{Axis, Curve, Form, Picture, Place, Point};

use super::escape;
use super::scale::{Scale, label};

pub(super) const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 16.0;
pub(super) const TOP: f64 = 10.0;
/// Below the frame: values and the name of the axis.
const BOTTOM: f64 = 40.0;
/// Of the page's colours for curves.
const COLOURS: usize = 6;

/// Whose values.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
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
    let legend = legend(&picture.curves, picture.form);
    let caption = escape(&title);
    format!("<figure><figcaption>{caption}</figcaption>{svg}{legend}</figure>\n")
}

pub(super) fn open(height: f64, title: &str) -> String {
    let title = escape(title);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\
         <title>{title}</title>"
    )
}

fn name_of(axis: &Axis) -> String {
    match (axis.label.as_str(), axis.unit.as_str()) {
        (label, "") => label.to_owned(),
        (label, unit) => format!("{label}, {unit}"),
    }
}

/// The frame of a picture with its vertical axis.
struct Frame {
    y: Scale,
    bottom: f64,
}

impl Frame {
    fn y(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - TOP)
    }

    fn draw(&self, svg: &mut String, axis: &Axis) {
        let right = WIDTH - RIGHT;
        for tick in self.y.ticks() {
            let y = self.y(tick);
            let _ = write!(
                svg,
                "<path class=\"g\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text class=\"t\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                y + 4.0,
                label(tick)
            );
        }
        let _ = write!(
            svg,
            "<path class=\"b\" d=\"M{LEFT} {TOP}V{0:.1}H{right}\"/>\
             <text x=\"11\" y=\"{1:.1}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 11 {1:.1})\">{2}</text>",
            self.bottom,
            (TOP + self.bottom) / 2.0,
            escape(&name_of(axis))
        );
    }
}

fn values(curves: &[Curve], value: impl Fn(&Point) -> Vec<f64>) -> Vec<f64> {
    let points = curves.iter().flat_map(|it| it.ours.iter().chain(&it.paper));
    points.flat_map(value).collect()
}

fn with_interval(point: &Point) -> Vec<f64> {
    let half = point.half_width_95.unwrap_or(0.0);
    vec![point.y - half, point.y + half]
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
    let up = values(&picture.curves, with_interval);
    let frame = Frame {
        y: Scale::new(&up, y.from, y.to, y.is_log),
        bottom: HEIGHT - BOTTOM,
    };
    let place = |value: f64| LEFT + across.place(value) * (WIDTH - LEFT - RIGHT);
    let mut svg = open(HEIGHT, &format!("{} against {}", name_of(y), name_of(x)));
    frame.draw(&mut svg, y);
    for tick in across.ticks() {
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
        (LEFT + WIDTH - RIGHT) / 2.0,
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
            let placed = points
                .into_iter()
                .map(|(x, y, half)| (place(x), frame.y(y), frame.y(y - half), frame.y(y + half)));
            placed.collect()
        };
        let has_marks = picture.form == Form::Lines;
        for (whose, of) in [(Whose::Paper, &curve.paper), (Whose::Ours, &curve.ours)] {
            match picture.form {
                Form::TimeBars => bars_of(&mut svg, number, whose, &points(of), frame.y(0.0)),
                _ => curve_of(&mut svg, number, whose, &points(of), has_marks),
            }
        }
    }
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

fn class_of(number: usize) -> String {
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

/// Groups of bars; in each, of each curve the paper's and ours.
fn bars(picture: &Picture) -> String {
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
    let y = &picture.y;
    let mut up = values(&picture.curves, with_interval);
    up.push(if y.is_log {
        up.iter().copied().fold(1.0, f64::min)
    } else {
        0.0
    });
    let frame = Frame {
        y: Scale::new(&up, y.from, y.to, y.is_log),
        bottom: height - below,
    };
    let mut svg = open(height, &format!("bars of {}", name_of(y)));
    frame.draw(&mut svg, y);
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
    frame: &Frame,
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

fn legend(curves: &[Curve], form: Form) -> String {
    let mut items = String::new();
    for (number, curve) in curves.iter().enumerate() {
        for (whose, points) in [(Whose::Ours, &curve.ours), (Whose::Paper, &curve.paper)] {
            if points.is_empty() {
                continue;
            }
            let (paper, suffix) = match whose {
                Whose::Ours => ("", ""),
                Whose::Paper => (" p", " (paper)"),
            };
            let line = format!("<path class=\"l{paper}\" d=\"M0 7H36\"/>");
            let sample = match form {
                Form::Bars => {
                    format!("<rect class=\"r{paper}\" x=\"8\" y=\"2\" width=\"20\" height=\"10\"/>")
                }
                Form::Time | Form::TimeBars => line,
                Form::Lines => line + &mark(number, 18.0, 7.0, paper),
            };
            let _ = write!(
                items,
                "<li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\"><g class=\"{}\">{sample}</g>\
                 </svg>{}{suffix}</li>",
                class_of(number),
                escape(&curve.name)
            );
        }
    }
    format!("<ul class=\"legend\">{items}</ul>")
}
