// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios, their runs on the emulated link, and what is measured in them.
//!
//! A [`Scenario`] is a path with flows on it; [`run_many`] runs many at once, each on a
//! path of its own under a policy; [`Figure`]s are computed from the results.

mod batch;
mod catalogue;
mod choice;
mod command;
mod figure;
mod measure;
mod paper;
mod presentation;
mod run;
mod scenario;
mod table;

pub use catalogue::{Entry, Target};
pub use choice::PolicyChoice;
pub use command::{CompareArguments, FiguresArguments};
pub use figure::Figure;
pub use measure::measure;
pub use run::{QueueResult, Run, RunError, RunOptions, RunResult, run_many};
pub use scenario::{LinkParameters, Question, Scenario, Switch};
