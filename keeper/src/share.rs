// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this machine receives, shared among programs: docs/sharing.md.

mod arrangement;
mod member;
mod session;
mod sharing;

pub use arrangement::{Arrangement, Program, Who};
pub use session::{Event, Session};
pub use sharing::Report;
