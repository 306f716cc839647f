// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What papers report, as data, and how far ours is from it: docs/reproduce.md describes
//! the files.
//!
//! - [`Catalogue`]: the experiments of a folder, `<paper>/<experiment>.toml`;
//! - [`Experiment`]: scenarios to run, measures to take, the paper's values;
//! - [`Comparison`]: these beside ours, with a [`Verdict`] for each;
//! - `Runner`: runs them, with the feature `run` in the simulator, with `lab` with real kernel TCP,
//!   too;
//! - [`RunStore`]: finished runs, so that nothing is run twice;
//! - [`score`]: how far every law is from strict priority.
//!
//! ```
//! # #[cfg(feature = "run")] {
//! use std::path::Path;
//!
//! use ebb_experiments::{Catalogue, Engine, Plan, Runner};
//!
//! let catalogue = Catalogue::open(Path::new("."))?;
//! // A formula of the paper: nothing has to be simulated.
//! let experiments = catalogue.read(&["tcp-lp/fig-6".to_owned()])?;
//! let plan = Plan { engine: Engine::Analytic, is_quick: false };
//! let comparison = Runner::default().run(&experiments[0], plan)?;
//! for cell in &comparison.cells {
//!     println!("{}: {} in the paper, {:?} here", cell.row, cell.paper, cell.ours);
//! }
//! assert_eq!(comparison.counts().red, 0);
//! # }
//! # Ok::<(), ebb_experiments::ExperimentError>(())
//! ```
#![forbid(unsafe_code)]

mod apart;
mod applications;
mod bursts;
mod catalogue;
mod check_measure;
mod choice;
mod columns;
mod comparison;
mod counts;
mod distance_table;
mod error;
mod experiment;
mod files;
mod fitted;
mod folder;
mod known;
mod measure;
mod numbers;
mod over_time;
mod picture;
mod plot;
mod policy_choice;
mod prepare;
mod read;
mod read_mark;
mod read_measure;
mod read_plot;
mod read_row;
mod read_series;
mod read_sweep;
#[cfg(feature = "run")]
mod run;
pub mod score;
mod standing;
mod store;
mod sweep;
mod take;
mod unit;
mod verdict;

pub use apart::{Distance, DistanceOf};
pub use catalogue::Catalogue;
pub use choice::only_cases;
pub use comparison::{Cell, Comparison, Ran};
pub use counts::Counts;
pub use distance_table::{DistanceTable, Exceptions};
pub use error::ExperimentError;
pub use experiment::{Case, Engine, Experiment, LabScenario, PaperValue, Plan, Row};
pub use known::KnownValues;
pub use measure::{Beside, Measure, MeasureKind, Part, Phase, Times, VariationPart, Window};
pub use numbers::{number, tolerance};
pub use picture::{Curve, DashedLine, Picture, Point};
pub use plot::{Axis, Extent, Form, Line, Mark, Place, Plot, Quantity, Source};
pub use policy_choice::PolicyChoice;
#[cfg(feature = "lab")]
pub use run::LabRuns;
#[cfg(feature = "run")]
pub use run::{Runner, Watch, Wave};
pub use standing::{Chosen, Kind};
pub use store::RunStore;
pub use sweep::{Influence, InfluenceLine, Sweep};
pub use unit::{Dimension, Unit};
pub use verdict::{Bound, Tolerance, Verdict};
