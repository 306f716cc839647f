// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps policies on connections, for any backend.

pub mod backend;
pub mod describe;
pub mod detached;
mod error;
pub mod flow_view;
pub mod held;
pub mod keeper;
pub mod laws_keeper;
pub mod place;
pub mod policies;
pub mod process;
pub mod protocol;
pub mod registry;
pub mod services;
pub mod share;
pub mod signals;
pub mod starter;
pub mod summary;
mod switched;
pub mod user;
pub mod user_attach;
pub mod user_run;
mod wait;
pub mod watch;

pub use error::{Error, Result};
pub use wait::Wait;
