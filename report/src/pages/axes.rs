// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The axes of a picture, and the dashed lines of its marks.
use ebb_experiments::{Axis, Curve, DashedLine, Form, Picture, Point};
use maud::{Markup, html};

use super::bars::heights;
use crate::scale::{STEPS, Scale, label};

pub(super) const WIDTH: f64 = 400.0;
pub(super) const HEIGHT: f64 = 280.0;
pub(super) const LEFT: f64 = 46.0;
pub(super) const TOP: f64 = 10.0;
/// Below the axes: values and the name of the axis.
pub(super) const BOTTOM: f64 = 40.0;
/// Beside the axes: room for half of the last value below.
pub(super) const RIGHT: f64 = 16.0;

/// A picture of the usual width, with a title for those who do not see it.
pub(super) fn drawing(height: f64, title: &str, content: &Markup) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
            title { (title) }
            (content)
        }
    }
}

/// A coordinate: a tenth of a pixel is fine enough.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

pub(super) fn name_of(axis: &Axis) -> String {
    match (axis.label.as_str(), axis.unit.as_str()) {
        (label, "") => label.to_owned(),
        (label, unit) => format!("{label}, {unit}"),
    }
}

/// All that the curves of a picture have of something.
pub(super) fn values(curves: &[Curve], value: impl Fn(&Point) -> Vec<f64>) -> Vec<f64> {
    let points = curves.iter().flat_map(|it| it.ours.iter().chain(&it.paper));
    points.flat_map(value).collect()
}

/// The room between the axes of a picture, with its vertical axis.
pub(super) struct Axes<'p> {
    picture: &'p Picture,
    y: Scale,
    /// Where it ends below.
    pub bottom: f64,
    /// Where it ends to the right.
    right: f64,
}

impl<'p> Axes<'p> {
    /// With room for all that the picture has.
    pub fn new(picture: &'p Picture, bottom: f64) -> Self {
        let with_interval = |point: &Point| {
            let half = point.half_width_95.unwrap_or(0.0);
            vec![point.y - half, point.y + half]
        };
        let mut up = values(&picture.curves, with_interval);
        if picture.form == Form::Bars {
            up.extend(heights(&picture.curves));
            up.push(match picture.y.is_log {
                true => up.iter().copied().fold(1.0, f64::min),
                false => 0.0,
            });
        }
        up.extend(picture.marks.iter().filter_map(|mark| match mark {
            DashedLine::Level { y, .. } => Some(*y),
            DashedLine::Upright { .. } => None,
        }));
        let axis = &picture.y;
        let beside = match has_upside_down(picture) {
            true => LEFT,
            false => RIGHT,
        };
        Self {
            picture,
            y: Scale::new(&up, axis.from, axis.to, axis.is_log),
            bottom,
            right: WIDTH - beside,
        }
    }

    pub fn width(&self) -> f64 {
        self.right - LEFT
    }

    pub fn x(&self, across: &Scale, value: f64) -> f64 {
        LEFT + across.place(value) * self.width()
    }

    pub fn y(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - TOP)
    }

    /// As the curve has it: what is upside down hangs from the top.
    pub fn y_of(&self, curve: &Curve, value: f64) -> f64 {
        match curve.is_upside_down {
            true => self.down(value),
            false => self.y(value),
        }
    }

    fn down(&self, value: f64) -> f64 {
        TOP + self.y.place(value) * (self.bottom - TOP)
    }

    /// The vertical axis, and the lines at its values.
    pub fn draw(&self) -> Markup {
        let (right, bottom) = (self.right, px(self.bottom));
        let middle = px((TOP + self.bottom) / 2.0);
        html! {
            @for tick in self.y.ticks(STEPS) {
                @let y = self.y(tick);
                path.g d={ "M" (LEFT) " " (px(y)) "H" (right) } {}
                text.t x=(px(LEFT - 5.0)) y=(px(y + 4.0)) text-anchor="end" { (label(tick)) }
            }
            path.b d={ "M" (LEFT) " " (TOP) "V" (bottom) "H" (right) } {}
            text x="11" y=(middle) text-anchor="middle" transform={ "rotate(-90 11 " (middle) ")" } {
                (name_of(&self.picture.y))
            }
            @if has_upside_down(self.picture) { (self.upside_down(&middle)) }
        }
    }

    /// A second axis at the right, whose values grow downwards.
    fn upside_down(&self, middle: &str) -> Markup {
        let x = px(WIDTH - 11.0);
        html! {
            @for tick in self.y.ticks(STEPS) {
                text.t x=(px(self.right + 5.0)) y=(px(self.down(tick) + 4.0)) { (label(tick)) }
            }
            path.b d={ "M" (px(self.right)) " " (TOP) "V" (px(self.bottom)) } {}
            text x=(x) y=(middle) text-anchor="middle"
                transform={ "rotate(90 " (x) " " (middle) ")" } {
                "upside down: " (name_of(&self.picture.y))
            }
        }
    }

    /// The marks, as far as they are within the axes; without an axis `across`, as below bars,
    /// level lines only.
    pub fn marks(&self, across: Option<&Scale>) -> Markup {
        let path = |mark: &DashedLine| match (mark, across) {
            (DashedLine::Upright { x, .. }, Some(across)) if across.holds(*x) => {
                let (x, bottom) = (self.x(across, *x), self.bottom);
                Some(format!("M{x:.1} {TOP}V{bottom:.1}"))
            }
            (DashedLine::Level { y, from_to, .. }, _) if self.y.holds(*y) => {
                let [left, right] = match (from_to, across) {
                    (Some(ends), Some(across)) => ends.map(|end| self.x(across, end)),
                    _ => [LEFT, self.right],
                };
                Some(format!("M{left:.1} {:.1}H{right:.1}", self.y(*y)))
            }
            _ => None,
        };
        html! {
            @for path in self.picture.marks.iter().filter_map(path) { path.d d=(path) {} }
        }
    }
}

fn has_upside_down(picture: &Picture) -> bool {
    picture.curves.iter().any(|curve| curve.is_upside_down)
}
