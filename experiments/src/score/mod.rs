// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far every law is from strict priority, in one set of scenarios: docs/score.md.
//!
//! - [`Matrix`]: the scenarios of one [`Group`], from `experiments/score/`;
//! - [`draw()`]: the text of the half that is not chosen, [`draw_rates()`] that of the links whose
//!   rates vary, [`draw_buckets()`] that of those with a bucket of tokens;
//! - [`ScoreScenario`]: one of them, with what is run for it: the law, the ideal, and others
//!   left to themselves;
//! - [`ScorePlan`]: all that is run for several of them and several laws;
//! - [`Score`]: what came out for a law, with [`Distances`] from the ideal.

mod distances;
mod draw;
mod draw_buckets;
mod draw_rates;
mod events;
mod matrix;
mod plan;
mod read;
mod table;

pub use distances::{Distances, Reference};
pub use draw::{HELD_OUT_SEED, draw};
pub use draw_buckets::{BUCKETS_SEED, draw_buckets};
pub use draw_rates::{RATES_SEED, draw_rates};
pub use matrix::{Group, Matrix, ScoreScenario};
pub use plan::ScorePlan;
pub use table::{Score, scores_to_csv, scores_to_json, summaries};
