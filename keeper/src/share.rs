// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this machine receives, shared among programs: docs/sharing.md.

mod member;
mod plan;
mod session;
mod sharing;

pub use plan::{Plan, Program, Who};
pub use session::{Event, Session};
pub use sharing::Report;
