// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One receiver's bandwidth, shared between its flows by priority, minimum and weight: the
//! bandwidth sharing system (BWSS) of Mehra, Zakhor and De Vleeschouwer over the law `rate`.
//!
//! - [`Preferences`]: what somebody wants for a flow;
//! - [`desired_partition`]: who is to have what of a given sum, equations (7) and (8);
//! - [`Sharing`]: searches the sum: takes what each flow received in a control period, answers
//!   what each is to be held at;
//! - [`split`]: one limit for several connections that have a target together;
//! - [`Controller`]: the same for members that come and go, from counts of what arrived.
//!
//! No clock, no sockets: whoever owns one calls it once in each control period and
//! sets the targets. `docs/sharing.md` has the rules.
//!
//! ```
//! use ebb_sharing::{Preferences, Settings, Sharing, Target};
//!
//! // Of what remains when both have their minima, the second gets three times as much.
//! let flow = |weight| Preferences { weight, ..Preferences::default() };
//! let mut sharing = Sharing::new(Settings::default(), vec![flow(1), flow(3)]);
//! assert_eq!(sharing.target(0), Target::Free);
//! // Both receive 500 kbit/s while they are free: then it is known what there is to share.
//! for _period in 0..14 {
//!     sharing.on_period(&[500_000, 500_000])?;
//! }
//! assert_eq!(sharing.target(0), Target::At(250_000));
//! assert_eq!(sharing.target(1), Target::At(750_000));
//! # Ok::<(), ebb_sharing::SharingError>(())
//! ```
#![forbid(unsafe_code)]

mod controller;
mod error;
mod partition;
mod preferences;
mod rates;
mod search;
mod settings;
mod sharing;
mod split;
mod target;
mod weighing;

pub use controller::Controller;
pub use error::SharingError;
pub use partition::desired_partition;
pub use preferences::{NO_BOUND, Preferences};
pub use search::Stage;
pub use settings::Settings;
pub use sharing::Sharing;
pub use split::split;
pub use target::Target;
pub use weighing::Weighing;
