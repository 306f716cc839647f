// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Drawing in fractions of a pixel on any plotters backend.
//!
//! Backends count whole pixels, so a figure is drawn [`OVERSAMPLING`] times larger: the
//! SVG keeps the fine coordinates under a view box, the PNG is averaged down.

use crate::figure::Colour;
use plotters::coord::Shift;
use plotters::element::{PathElement, Polygon, Text};
use plotters::prelude::{Circle, DrawingArea, DrawingBackend, RGBAColor, ShapeStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, IntoTextStyle};

/// Canvas pixels per figure pixel, in each direction.
pub(crate) const OVERSAMPLING: u32 = 4;

/// The family that labels ask for: ours first, then what has the same widths.
pub(crate) const FONT_FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// A label's place relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Left,
    /// Its middle is there.
    Centre,
    /// It ends there.
    Right,
}

/// A label's look.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    pub size_px: f64,
    pub colour: Colour,
    pub is_bold: bool,
}

/// Where a part of the figure is, in figure pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// How what a backend draws differs from what was asked for, found by looking.
///
/// The backends disagree on what a font's size is and where a label's middle is.
#[derive(Clone, Copy)]
pub(crate) struct Fit {
    /// Factor on the size of labels.
    pub size: f64,
    /// Shift of labels downwards, as a share of the size.
    pub drop: f64,
    /// Joins of lines are drawn as spikes, so lines are drawn piece by piece.
    pub has_spiky_joins: bool,
}

pub(crate) struct Canvas<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
    fit: Fit,
}

/// What drawing returns: nothing, or the backend's own words.
pub(crate) type Drawn = Result<(), String>;

impl<'a, B: DrawingBackend> Canvas<'a, B> {
    pub fn new(area: &'a DrawingArea<B, Shift>, fit: Fit) -> Self {
        Self { area, fit }
    }

    pub fn polygon(&self, points: &[(f64, f64)], colour: Colour, opacity: f64) -> Drawn {
        let points: Vec<_> = points.iter().map(|&point| device(point)).collect();
        self.put(
            self.area
                .draw(&Polygon::new(points, filled(colour, opacity))),
        )
    }

    pub fn line(&self, points: &[(f64, f64)], colour: Colour, width_px: f64) -> Drawn {
        let width = (width_px * f64::from(OVERSAMPLING)).round().max(1.0) as u32;
        let style = ShapeStyle {
            color: rgba(colour, 1.0),
            filled: false,
            stroke_width: width,
        };
        let points: Vec<_> = points.iter().map(|&point| device(point)).collect();
        let piece = if self.fit.has_spiky_joins {
            2
        } else {
            points.len().max(2)
        };
        points.windows(piece).try_for_each(|piece| {
            self.put(self.area.draw(&PathElement::new(piece.to_vec(), style)))
        })
    }

    pub fn dashes(&self, from: (f64, f64), to: (f64, f64), colour: Colour) -> Drawn {
        const DASH_PX: f64 = 4.0;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |px: f64| {
            let share = (px / length).min(1.0);
            (
                from.0 + (to.0 - from.0) * share,
                from.1 + (to.1 - from.1) * share,
            )
        };
        let mut start_px = 0.0;
        while start_px < length {
            self.line(&[at(start_px), at(start_px + DASH_PX)], colour, 1.0)?;
            start_px += 2.0 * DASH_PX;
        }
        Ok(())
    }

    pub fn dot(&self, centre: (f64, f64), radius_px: f64, colour: Colour) -> Drawn {
        let radius = (radius_px * f64::from(OVERSAMPLING)) as i32;
        self.put(
            self.area
                .draw(&Circle::new(device(centre), radius, filled(colour, 1.0))),
        )
    }

    pub fn text(&self, (x, y): (f64, f64), anchor: Anchor, ink: Ink, text: &str) -> Drawn {
        let horizontal = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Centre => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        let colour = rgba(ink.colour, 1.0);
        let size = ink.size_px * self.fit.size * f64::from(OVERSAMPLING);
        let style = (FONT_FAMILY, size, font_style(ink))
            .into_text_style(self.area)
            .color(&colour)
            .pos(Pos::new(horizontal, VPos::Center));
        let at = device((x, y + ink.size_px * self.fit.drop));
        self.put(self.area.draw(&Text::new(text.to_owned(), at, style)))
    }

    /// Width of a label in figure pixels.
    pub fn text_width_px(&self, ink: Ink, text: &str) -> Result<f64, String> {
        let font = (
            FONT_FAMILY,
            ink.size_px * f64::from(OVERSAMPLING),
            font_style(ink),
        );
        let size = self
            .area
            .estimate_text_size(text, &font.into_text_style(self.area))
            .map_err(|error| error.to_string())?;
        Ok(f64::from(size.0) / f64::from(OVERSAMPLING))
    }

    fn put<E: std::fmt::Display>(&self, outcome: Result<(), E>) -> Drawn {
        outcome.map_err(|error| error.to_string())
    }
}

fn device((x, y): (f64, f64)) -> (i32, i32) {
    let scale = f64::from(OVERSAMPLING);
    ((x * scale).round() as i32, (y * scale).round() as i32)
}

fn font_style(ink: Ink) -> FontStyle {
    if ink.is_bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    }
}

fn rgba(colour: Colour, opacity: f64) -> RGBAColor {
    RGBAColor(colour.0, colour.1, colour.2, opacity)
}

fn filled(colour: Colour, opacity: f64) -> ShapeStyle {
    ShapeStyle {
        color: rgba(colour, opacity),
        filled: true,
        stroke_width: 0,
    }
}
