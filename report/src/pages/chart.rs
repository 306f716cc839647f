// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures as inline SVG: colours are the page's, so that they follow dark and light; each
//! curve has a mark of its own, so that nothing hangs on colours alone.
use ebb_experiments::{Axis, Curve, DashedLine, Form, Picture, Place, Point};
use maud::{Markup, html};

use super::axes::{Axes, BOTTOM, HEIGHT, LEFT, drawing, name_of, px, values};
use super::bars::bars;
use super::marks::{MIDDLE, Whose, colour, mark, sample};
use crate::scale::{STEPS, Scale, label};

/// A picture in the paper's form.
pub(super) fn picture(picture: &Picture) -> Markup {
    let title = match picture.title.as_str() {
        "" => format!("{} against {}", picture.y.label, picture.x.label),
        title => title.to_owned(),
    };
    html! {
        figure {
            figcaption { (title) }
            @match picture.form {
                Form::Bars => (bars(picture)),
                Form::Lines | Form::Time | Form::TimeBars => (lines(picture)),
            }
            ul.legend {
                (legend(picture))
                (legend_of_marks(&picture.marks))
            }
        }
    }
}

fn lines(picture: &Picture) -> Markup {
    let across = across(picture);
    let axes = Axes::new(picture, HEIGHT - BOTTOM);
    let title = format!("{} against {}", name_of(&picture.y), name_of(&picture.x));
    let drawn = html! {
        (axes.draw())
        (below(&axes, &across, &picture.x))
        @for (number, curve) in picture.curves.iter().enumerate() {
            @for (whose, of) in [(Whose::Paper, &curve.paper), (Whose::Ours, &curve.ours)] {
                @let points = placed(of, curve, &axes, &across);
                @match picture.form {
                    Form::TimeBars => {
                        (thin_bars(number, whose, &points, axes.y_of(curve, 0.0)))
                    }
                    form => (line(number, whose, &points, form == Form::Lines)),
                }
            }
        }
        (axes.marks(Some(&across)))
    };
    drawing(HEIGHT, &title, &drawn)
}

/// The horizontal axis; over time it ends where the runs end.
fn across(picture: &Picture) -> Scale {
    let number = |point: &Point| match &point.x {
        Place::Number(x) => vec![*x],
        Place::Label(_) => Vec::new(),
    };
    let at = values(&picture.curves, number);
    let end = at.iter().copied().fold(0.0, f64::max).ceil();
    let is_over_time = matches!(picture.form, Form::Time | Form::TimeBars);
    let x = &picture.x;
    let to = x.to.or((is_over_time && end > 0.0).then_some(end));
    Scale::new(&at, x.from, to, x.is_log)
}

/// What stands below the axes: values and a name.
fn below(axes: &Axes<'_>, across: &Scale, axis: &Axis) -> Markup {
    let bottom = axes.bottom;
    html! {
        @for tick in across.ticks(STEPS) {
            @let x = px(axes.x(across, tick));
            path.g d={ "M" (x) " " (px(bottom)) "v4" } {}
            text.t x=(x) y=(px(bottom + 16.0)) text-anchor="middle" { (label(tick)) }
        }
        text x=(px(LEFT + axes.width() / 2.0)) y=(px(HEIGHT - 6.0)) text-anchor="middle" {
            (name_of(axis))
        }
    }
}

/// A point in the picture, with the ends of its interval. *Units:* px.
struct Placed {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
}

/// Points from left to right.
fn placed(points: &[Point], curve: &Curve, axes: &Axes<'_>, across: &Scale) -> Vec<Placed> {
    let number = |point: &Point| match point.x {
        Place::Number(x) => Some((x, point.y, point.half_width_95.unwrap_or(0.0))),
        Place::Label(_) => None,
    };
    let mut points: Vec<_> = points.iter().filter_map(number).collect();
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    let up = |value| axes.y_of(curve, value);
    let placed = points.into_iter().map(|(x, y, half)| Placed {
        x: axes.x(across, x),
        y: up(y),
        low: up(y - half),
        high: up(y + half),
    });
    placed.collect()
}

fn line(number: usize, whose: Whose, points: &[Placed], has_marks: bool) -> Markup {
    html! {
        g class=(colour(number)) {
            @if points.len() > 1 { path.l.p[whose.is_paper()] d=(way(points)) {} }
            @if has_marks || points.len() == 1 {
                @for point in points {
                    (interval(point))
                    (mark(number, (point.x, point.y), whose))
                }
            }
        }
    }
}

fn way(points: &[Placed]) -> String {
    let step = |(number, point): (usize, &Placed)| {
        let letter = if number == 0 { "M" } else { "L" };
        format!("{letter}{:.1} {:.1}", point.x, point.y)
    };
    points.iter().enumerate().map(step).collect()
}

/// With a short line at each end; none if it would be within the mark.
fn interval(point: &Placed) -> Markup {
    let Placed { x, low, high, .. } = point;
    let path = format!(
        "M{x:.1} {low:.1}V{high:.1}m-3 0h6M{:.1} {low:.1}h6",
        x - 3.0
    );
    html! {
        @if (low - high).abs() > 1.0 { path.e d=(path) {} }
    }
}

/// A thin bar for each value, from zero.
fn thin_bars(number: usize, whose: Whose, points: &[Placed], zero: f64) -> Markup {
    let bar = |point: &Placed| format!("M{:.1} {zero:.1}V{:.1}", point.x, point.y);
    let bars: String = points.iter().map(bar).collect();
    html! {
        g class=(colour(number)) { path.l.p[whose.is_paper()] d=(bars) {} }
    }
}

fn legend(picture: &Picture) -> Markup {
    html! {
        @for (number, curve) in picture.curves.iter().enumerate() {
            @for (whose, points) in [(Whose::Ours, &curve.ours), (Whose::Paper, &curve.paper)] {
                @if !points.is_empty() {
                    @let drawn = html! {
                        g class=(colour(number)) { (shape(picture.form, number, whose)) }
                    };
                    li {
                        (sample(&drawn)) (curve.name)
                        @if curve.is_upside_down { ", upside down" }
                        @if whose.is_paper() { " (paper)" }
                    }
                }
            }
        }
    }
}

/// How values are drawn, once.
fn shape(form: Form, number: usize, whose: Whose) -> Markup {
    let is_paper = whose.is_paper();
    html! {
        @if form == Form::Bars {
            rect.r.p[is_paper] x="8" y="2" width="20" height="10" {}
        } @else {
            path.l.p[is_paper] d="M0 7H36" {}
        }
        @if form == Form::Lines { (mark(number, MIDDLE, whose)) }
    }
}

/// Lines that say the same, each once.
fn legend_of_marks(marks: &[DashedLine]) -> Markup {
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
    html! {
        @for (label, path) in told { li { (sample(&html! { path.d d=(path) {} })) (label) } }
    }
}
