// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What people read: tables for the terminal, figures as PNG and SVG, pages for a browser. All is
//! made from results alone: this crate runs nothing, and knows nobody who does.
//!
//! - [`table`]: aligned columns that fit 80 characters and need no colour;
//! - [`figure`]: a grid of panels that share their axes, and what is drawn in them;
//! - [`image`]: the one way from a figure to its two files;
//! - [`outcome`]: tables and figure of a scenario;
//! - [`score`]: how far laws are from strict priority;
//! - [`pages`]: what papers report beside what we get, as HTML;
//! - [`units`]: numbers with their units, written the same everywhere.
//!
//! ```
//! use ebb_report::table::{Align, Table};
//! use ebb_report::units;
//!
//! let mut table = Table::new("Goodput")
//!     .column("flow", Align::Left)
//!     .column("rate", Align::Right);
//! table.row(["mine".to_owned(), units::rate(9_410_000.0)]);
//! let text = table.to_string();
//! assert_eq!(text.lines().last(), Some("mine  9.41 Mbit/s"));
//! ```

pub mod figure;
pub mod image;
pub mod outcome;
pub mod pages;
pub mod score;
pub mod table;
pub mod units;

mod canvas;
mod draw;
mod scale;

use std::path::PathBuf;

/// What can go wrong when a figure is drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None of the places where DejaVu Sans usually lives has it.
    #[error(
        "no font to label the figure with: none of {tried} exists \
         (install the package fonts-dejavu-core, or dejavu-sans-fonts on Fedora)"
    )]
    FontMissing {
        /// The files that were tried, separated by commas.
        tried: String,
    },
    /// The font file is there but is no usable TrueType font.
    #[error("{path}: not a usable TrueType font (reinstall the package fonts-dejavu-core)")]
    FontBroken {
        /// The file that was read.
        path: PathBuf,
    },
    /// A figure without panels, or whose rows do not have one panel per column.
    #[error("figure \"{title}\": {problem}")]
    Shape {
        /// The figure's title.
        title: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The drawing library refused; this is a defect of Ebb.
    #[error("figure \"{title}\" could not be drawn: {problem}")]
    Drawing {
        /// The figure's title.
        title: String,
        /// The library's own words.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}
