// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What papers report, as data, and how far ours is from it: docs/reproduce.md describes
//! the files.
//!
//! - [`Catalogue`]: the experiments of a folder, `<paper>/<experiment>.toml`;
//! - [`Experiment`]: scenarios to run, measures to take, the paper's values;
//! - [`Comparison`]: these beside ours, with a [`Verdict`] for each;
//! - [`RunStore`]: finished runs, so that nothing is run twice.
#![forbid(unsafe_code)]

mod catalogue;
mod columns;
mod comparison;
mod error;
mod experiment;
mod measure;
mod read;
mod read_measure;
mod store;
mod unit;
mod verdict;

pub use catalogue::Catalogue;
pub use comparison::{Cell, Comparison, Counts};
pub use error::ExperimentError;
pub use experiment::{Case, Engine, Experiment, PaperValue, Row};
pub use measure::{Figure, Measure, Phase};
pub use store::RunStore;
pub use unit::{Dimension, Unit};
pub use verdict::{Bound, Tolerance, Verdict};
