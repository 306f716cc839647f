// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The drawing of a figure: heads, panels, axes, marks and the legend.

use crate::canvas::{Anchor, Canvas, Drawn, Fit, Frame, Ink};
use crate::figure::{Colour, Column, Figure, Legend, Mark, Panel, Row, Sample};
use crate::scale::{STEPS, Scale, label};
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::WHITE;

const MARGIN_PX: f64 = 18.0;
const AXIS_WIDTH_PX: f64 = 34.0;
const GAP_PX: f64 = 14.0;
const TITLE_PX: f64 = 30.0;
const SUBTITLE_PX: f64 = 18.0;
const HEAD_PX: f64 = 50.0;
const BARE_HEAD_PX: f64 = 10.0;
const ROW_TITLE_PX: f64 = 24.0;
const ROW_GAP_PX: f64 = 12.0;
const FOOT_PX: f64 = 66.0;
const SAMPLE_PX: f64 = 20.0;

const TEXT: Colour = Colour(0x22, 0x22, 0x22);
const FAINT: Colour = Colour(0x5c, 0x5c, 0x5c);
const GRID: Colour = Colour(0xe2, 0xe2, 0xe2);
const PAPER: Colour = Colour(0xf8, 0xf8, 0xf8);

const TITLE_INK: Ink = Ink {
    size_px: 21.0,
    colour: TEXT,
    is_bold: true,
};
const BODY_INK: Ink = Ink {
    size_px: 14.0,
    colour: FAINT,
    is_bold: false,
};
const ROW_INK: Ink = Ink {
    size_px: 14.0,
    colour: TEXT,
    is_bold: true,
};
const TICK_INK: Ink = Ink {
    size_px: 12.5,
    colour: FAINT,
    is_bold: false,
};

const fn label_ink(colour: Colour) -> Ink {
    Ink {
        size_px: 12.0,
        colour,
        is_bold: false,
    }
}

/// The height that a figure needs for its rows, in pixels.
pub(crate) fn height_px(figure: &Figure) -> u32 {
    let rows: f64 = figure.rows.iter().map(row_height_px).sum();
    (top_of_rows_px(figure) + rows + FOOT_PX).ceil() as u32
}

/// Draws a figure that was checked.
pub(crate) fn draw<B: DrawingBackend>(
    figure: &Figure,
    area: &DrawingArea<B, Shift>,
    fit: Fit,
) -> Drawn {
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    let canvas = Canvas::new(area, fit);
    titles(&canvas, figure)?;
    let mut top = top_of_rows_px(figure);
    for (index, row) in figure.rows.iter().enumerate() {
        let is_last = index + 1 == figure.rows.len();
        row_of_panels(&canvas, figure, row, top, is_last)?;
        top += row_height_px(row);
    }
    foot(&canvas, figure, top)
}

fn top_of_rows_px(figure: &Figure) -> f64 {
    MARGIN_PX + TITLE_PX + SUBTITLE_PX * figure.subtitle.len() as f64 + head_px(figure)
}

/// Columns without a head need no room for it.
fn head_px(figure: &Figure) -> f64 {
    let is_bare = |column: &Column| column.title.is_empty() && column.subtitle.is_empty();
    if figure.columns.iter().all(is_bare) {
        BARE_HEAD_PX
    } else {
        HEAD_PX
    }
}

fn row_height_px(row: &Row) -> f64 {
    ROW_TITLE_PX + f64::from(row.height_px) + ROW_GAP_PX
}

fn column_frame(figure: &Figure, index: usize, top: f64, height: f64) -> Frame {
    let count = figure.columns.len() as f64;
    let inner = f64::from(figure.width_px) - 2.0 * MARGIN_PX - AXIS_WIDTH_PX;
    let width = (inner - GAP_PX * (count - 1.0)) / count;
    let left = MARGIN_PX + AXIS_WIDTH_PX + (width + GAP_PX) * index as f64;
    Frame {
        left,
        top,
        width,
        height,
    }
}

fn titles<B: DrawingBackend>(canvas: &Canvas<B>, figure: &Figure) -> Drawn {
    let mut y = MARGIN_PX + TITLE_PX / 2.0 - 4.0;
    canvas.text((MARGIN_PX, y), Anchor::Left, TITLE_INK, &figure.title)?;
    y += TITLE_PX - 4.0;
    for line in &figure.subtitle {
        canvas.text((MARGIN_PX, y), Anchor::Left, BODY_INK, line)?;
        y += SUBTITLE_PX;
    }
    for (index, column) in figure.columns.iter().enumerate() {
        let frame = column_frame(figure, index, y, HEAD_PX);
        column_head(canvas, column, frame)?;
    }
    Ok(())
}

fn column_head<B: DrawingBackend>(canvas: &Canvas<B>, column: &Column, frame: Frame) -> Drawn {
    let ink = Ink {
        size_px: 17.0,
        colour: column.colour,
        is_bold: true,
    };
    let y = frame.top + 8.0;
    canvas.text((frame.left, y), Anchor::Left, ink, &column.title)?;
    canvas.text(
        (frame.left, y + 20.0),
        Anchor::Left,
        TICK_INK,
        &column.subtitle,
    )
}

fn row_of_panels<B: DrawingBackend>(
    canvas: &Canvas<B>,
    figure: &Figure,
    row: &Row,
    top: f64,
    is_last: bool,
) -> Drawn {
    let title_y = top + ROW_TITLE_PX / 2.0 - 1.0;
    canvas.text((MARGIN_PX, title_y), Anchor::Left, ROW_INK, &row.title)?;
    let unit_x = MARGIN_PX + canvas.text_width_px(ROW_INK, &row.title)? + 8.0;
    canvas.text((unit_x, title_y), Anchor::Left, BODY_INK, &row.unit)?;

    for (index, (panel, column)) in row.panels.iter().zip(&figure.columns).enumerate() {
        let height = f64::from(row.height_px);
        let frame = column_frame(figure, index, top + ROW_TITLE_PX, height);
        let plot = Plot {
            frame,
            across: Scale::from_zero(column.x_max),
            up: Scale::from_zero(row.y_max),
        };
        plot.background(canvas, index == 0, is_last)?;
        for mark in &panel.marks {
            plot.mark(canvas, mark)?;
        }
        plot.headline(canvas, panel, column.colour)?;
    }
    Ok(())
}

fn foot<B: DrawingBackend>(canvas: &Canvas<B>, figure: &Figure, top: f64) -> Drawn {
    let centre = f64::from(figure.width_px) / 2.0;
    canvas.text(
        (centre, top + 16.0),
        Anchor::Centre,
        TICK_INK,
        &figure.x_label,
    )?;
    let y = top + 40.0;
    let mut x = MARGIN_PX;
    for Legend { sample, meaning } in &figure.legend {
        let (left, right) = (x, x + SAMPLE_PX);
        match *sample {
            Sample::Patch(colour, opacity) => {
                let (high, low) = (y - 6.0, y + 6.0);
                let patch = [(left, high), (right, high), (right, low), (left, low)];
                canvas.polygon(&patch, colour, opacity)?;
            }
            Sample::Level => canvas.dashes((left, y), (right, y), FAINT)?,
        }
        canvas.text((right + 6.0, y), Anchor::Left, TICK_INK, meaning)?;
        x = right + 6.0 + canvas.text_width_px(TICK_INK, meaning)? + 20.0;
    }
    Ok(())
}

/// A panel's axes: from its own units to the figure's pixels.
struct Plot {
    frame: Frame,
    across: Scale,
    up: Scale,
}

impl Plot {
    fn background<B: DrawingBackend>(
        &self,
        canvas: &Canvas<B>,
        has_y_labels: bool,
        has_x_labels: bool,
    ) -> Drawn {
        let Frame { left, top, .. } = self.frame;
        let (right, low) = (left + self.frame.width, top + self.frame.height);
        canvas.polygon(
            &[(left, low), (right, low), (right, top), (left, top)],
            PAPER,
            1.0,
        )?;
        for tick in self.up.ticks(4) {
            let y = self.y(tick);
            canvas.line(&[(left, y), (right, y)], GRID, 1.0)?;
            if has_y_labels {
                canvas.text((left - 6.0, y), Anchor::Right, TICK_INK, &label(tick))?;
            }
        }
        if has_x_labels {
            for tick in self.across.ticks(STEPS) {
                canvas.text(
                    (self.x(tick), low + 11.0),
                    Anchor::Centre,
                    TICK_INK,
                    &label(tick),
                )?;
            }
        }
        canvas.line(&[(left, low), (right, low)], FAINT, 1.0)
    }

    fn mark<B: DrawingBackend>(&self, canvas: &Canvas<B>, mark: &Mark) -> Drawn {
        match mark {
            Mark::Area {
                points,
                colour,
                opacity,
            } => canvas.polygon(&self.outline(points), *colour, *opacity),
            Mark::Line {
                points,
                colour,
                width_px,
            } => {
                let points: Vec<_> = points.iter().map(|&point| self.point(point)).collect();
                canvas.line(&points, *colour, *width_px)
            }
            Mark::Stems { points, colour } => points.iter().try_for_each(|&(x, y)| {
                let tip = self.point((x, y));
                canvas.line(&[self.point((x, 0.0)), tip], *colour, 2.0)?;
                canvas.dot(tip, 3.5, *colour)
            }),
            Mark::Dot { at, colour } => canvas.dot(self.point(*at), 4.5, *colour),
            Mark::Label {
                at,
                anchor,
                text,
                colour,
            } => canvas.text(self.point(*at), *anchor, label_ink(*colour), text),
            Mark::Level { y } => {
                let y = self.y(*y);
                let (left, right) = (self.frame.left, self.frame.left + self.frame.width);
                canvas.dashes((left, y), (right, y), FAINT)
            }
        }
    }

    /// Around a band: its lower edge to the right, its upper one back.
    fn outline(&self, band: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
        let low = band.iter().map(|&(x, low, _)| self.point((x, low)));
        let high = band.iter().rev().map(|&(x, _, high)| self.point((x, high)));
        low.chain(high).collect()
    }

    fn headline<B: DrawingBackend>(
        &self,
        canvas: &Canvas<B>,
        panel: &Panel,
        colour: Colour,
    ) -> Drawn {
        if panel.headline.is_empty() {
            return Ok(());
        }
        let ink = Ink {
            size_px: 14.0,
            colour,
            is_bold: true,
        };
        let width = canvas.text_width_px(ink, &panel.headline)?;
        let (left, top) = (self.frame.left + 5.0, self.frame.top + 5.0);
        let (right, low) = (left + width + 8.0, top + 19.0);
        let behind = [(left, top), (right, top), (right, low), (left, low)];
        canvas.polygon(&behind, Colour(0xff, 0xff, 0xff), 0.85)?;
        canvas.text((left + 4.0, top + 9.5), Anchor::Left, ink, &panel.headline)
    }

    fn x(&self, x: f64) -> f64 {
        self.frame.left + self.frame.width * self.across.place(x)
    }

    fn y(&self, y: f64) -> f64 {
        self.frame.top + self.frame.height * (1.0 - self.up.place(y))
    }

    fn point(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x(x), self.y(y))
    }
}
