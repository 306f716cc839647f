// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a figure says: a grid of panels, columns to compare and rows of quantities.
//!
//! Panels of a column share the horizontal axis, panels of a row the vertical one, so
//! that whatever differs between columns is seen without reading a number.

use crate::Error;
pub use crate::canvas::Anchor;

/// A colour as red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Colours that stay apart for colour-blind eyes and in grey print.
///
/// *Source:* Okabe and Ito, Color Universal Design, 2008; the grey is ours.
pub mod colours {
    use super::Colour;

    /// What is only there for comparison.
    pub const GREY: Colour = Colour(0x76, 0x76, 0x76);
    /// Vermillion: what does harm.
    pub const VERMILLION: Colour = Colour(0xd5, 0x5e, 0x00);
    /// Blue: what Ebb does.
    pub const BLUE: Colour = Colour(0x00, 0x72, 0xb2);
    /// Bluish green: a fourth thing.
    pub const GREEN: Colour = Colour(0x00, 0x9e, 0x73);
    /// Orange: a fifth thing.
    pub const ORANGE: Colour = Colour(0xe6, 0x9f, 0x00);
    /// Sky blue: a sixth thing.
    pub const SKY: Colour = Colour(0x56, 0xb4, 0xe9);
}

/// Something drawn in a panel, in the panel's own units; it is clipped to the panel.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A filled band between `(x, low, high)` points that are sorted by `x`.
    Area {
        /// Points of both edges.
        points: Vec<(f64, f64, f64)>,
        /// Fill colour.
        colour: Colour,
        /// 0 invisible to 1 opaque.
        opacity: f64,
    },
    /// A line through `(x, y)` points that are sorted by `x`.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// Line colour.
        colour: Colour,
        /// Line width in pixels of the figure.
        width_px: f64,
    },
    /// A dot on a stem for each `(x, y)`: events that last or weigh `y`.
    Stems {
        /// The points.
        points: Vec<(f64, f64)>,
        /// Colour of dots and stems.
        colour: Colour,
    },
    /// A dot.
    Dot {
        /// Where.
        at: (f64, f64),
        /// Its colour.
        colour: Colour,
    },
    /// A word or two.
    Label {
        /// Where it begins or ends.
        at: (f64, f64),
        /// Which of the two is there.
        anchor: Anchor,
        /// What it says.
        text: String,
        /// Its colour.
        colour: Colour,
    },
    /// A dashed line over the whole width.
    Level {
        /// Height of the line.
        y: f64,
    },
}

/// One cell of the grid.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The panel's message in numbers, printed in its upper left corner.
    pub headline: String,
    /// What is drawn, the first below the last.
    pub marks: Vec<Mark>,
}

/// A row of panels with one vertical axis from zero to `y_max`.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the row shows, printed above its first panel.
    pub title: String,
    /// Unit of the vertical axis, printed with the title.
    pub unit: String,
    /// Upper end of the vertical axis.
    pub y_max: f64,
    /// Height of the panels in pixels of the figure.
    pub height_px: u32,
    /// One panel per column.
    pub panels: Vec<Panel>,
}

/// A column's head and its horizontal axis from zero to `x_max`.
#[derive(Clone, Debug)]
pub struct Column {
    /// The head, for instance the command that was run.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// Colour of the head.
    pub colour: Colour,
    /// Right end of the horizontal axis.
    pub x_max: f64,
}

/// A sample of what is drawn, and its meaning.
#[derive(Clone, Debug)]
pub struct Legend {
    /// The sample.
    pub sample: Sample,
    /// What it means.
    pub meaning: String,
}

/// What a legend shows beside its text.
#[derive(Clone, Copy, Debug)]
pub enum Sample {
    /// A patch of an area's colour and opacity.
    Patch(Colour, f64),
    /// A piece of a [`Mark::Level`].
    Level,
}

/// A whole figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The message, as a sentence.
    pub title: String,
    /// What was measured, in one or two lines.
    pub subtitle: Vec<String>,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// What is drawn, printed in one line at the bottom.
    pub legend: Vec<Legend>,
    /// Width in pixels.
    pub width_px: u32,
}

impl Figure {
    /// Checks that there is something to draw and that it fits the grid.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |problem: String| Error::Shape {
            title: self.title.clone(),
            problem,
        };
        if self.columns.is_empty() || self.rows.is_empty() {
            return Err(wrong(
                "has no columns or no rows; give at least one of each".into(),
            ));
        }
        for row in &self.rows {
            if row.panels.len() != self.columns.len() {
                return Err(wrong(format!(
                    "row \"{}\" has {} panels for {} columns; give one for each",
                    row.title,
                    row.panels.len(),
                    self.columns.len()
                )));
            }
            if !(row.y_max.is_finite() && row.y_max > 0.0) {
                return Err(wrong(format!(
                    "row \"{}\" ends at {}; its axis needs a positive end",
                    row.title, row.y_max
                )));
            }
        }
        match self
            .columns
            .iter()
            .find(|column| !(column.x_max.is_finite() && column.x_max > 0.0))
        {
            Some(column) => Err(wrong(format!(
                "column \"{}\" ends at {}; its axis needs a positive end",
                column.title, column.x_max
            ))),
            None => Ok(()),
        }
    }
}
