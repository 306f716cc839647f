// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frame of a picture: its axes, and the dashed lines of its marks.
use std::fmt::Write;

use ebb_experiments::{Axis, Curve, DashedLine, Form, Picture, Point};

use super::bars::heights;
use super::escape;
use crate::scale::{STEPS, Scale, label};

pub(super) const WIDTH: f64 = 400.0;
pub(super) const HEIGHT: f64 = 280.0;
pub(super) const LEFT: f64 = 46.0;
pub(super) const TOP: f64 = 10.0;
/// Below the frame: values and the name of the axis.
pub(super) const BOTTOM: f64 = 40.0;
/// Beside the frame: room for half of the last value below it.
pub(super) const RIGHT: f64 = 16.0;

pub(super) fn open(height: f64, title: &str) -> String {
    let title = escape(title);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\
         <title>{title}</title>"
    )
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

/// The frame of a picture with its vertical axis.
pub(super) struct Frame<'p> {
    picture: &'p Picture,
    y: Scale,
    /// Where it ends below.
    pub bottom: f64,
    /// Where it ends to the right.
    right: f64,
}

impl<'p> Frame<'p> {
    /// One with room for all that the picture has.
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

    pub fn draw(&self, svg: &mut String) {
        let right = self.right;
        for tick in self.y.ticks(STEPS) {
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
        let name = escape(&name_of(&self.picture.y));
        let middle = (TOP + self.bottom) / 2.0;
        let _ = write!(
            svg,
            "<path class=\"b\" d=\"M{LEFT} {TOP}V{:.1}H{right}\"/>\
             <text x=\"11\" y=\"{middle:.1}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 11 {middle:.1})\">{name}</text>",
            self.bottom,
        );
        if has_upside_down(self.picture) {
            self.draw_upside_down(svg, &name, middle);
        }
    }

    /// A second axis at the right, whose values grow downwards.
    fn draw_upside_down(&self, svg: &mut String, name: &str, middle: f64) {
        for tick in self.y.ticks(STEPS) {
            let _ = write!(
                svg,
                "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                self.right + 5.0,
                self.down(tick) + 4.0,
                label(tick)
            );
        }
        let _ = write!(
            svg,
            "<path class=\"b\" d=\"M{0:.1} {TOP}V{1:.1}\"/>\
             <text x=\"{2:.1}\" y=\"{middle:.1}\" text-anchor=\"middle\" \
             transform=\"rotate(90 {2:.1} {middle:.1})\">upside down: {name}</text>",
            self.right,
            self.bottom,
            WIDTH - 11.0,
        );
    }

    /// The marks, as far as they are within the axes; without an axis `across`, as below bars,
    /// level lines only.
    pub fn draw_marks(&self, svg: &mut String, across: Option<&Scale>) {
        for mark in &self.picture.marks {
            let path = match (mark, across) {
                (DashedLine::Upright { x, .. }, Some(across)) if across.holds(*x) => {
                    format!("M{:.1} {TOP}V{:.1}", self.x(across, *x), self.bottom)
                }
                (DashedLine::Level { y, from_to, .. }, _) if self.y.holds(*y) => {
                    let [left, right] = match (from_to, across) {
                        (Some(ends), Some(across)) => ends.map(|end| self.x(across, end)),
                        _ => [LEFT, self.right],
                    };
                    format!("M{left:.1} {:.1}H{right:.1}", self.y(*y))
                }
                _ => continue,
            };
            let _ = write!(svg, "<path class=\"d\" d=\"{path}\"/>");
        }
    }
}

fn has_upside_down(picture: &Picture) -> bool {
    picture.curves.iter().any(|curve| curve.is_upside_down)
}
