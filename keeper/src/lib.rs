// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps policies on connections, for any backend.

pub mod account;
pub mod backend;
pub mod describe;
mod detached;
mod error;
pub mod flow;
pub mod guardian;
pub mod held;
pub mod keeper;
pub mod kernel;
pub mod laws;
pub mod owners;
mod place;
pub mod policies;
pub mod post;
pub mod process;
pub mod protocol;
pub mod registry;
pub mod run;
pub mod services;
pub mod share;
pub mod signals;
mod starter;
pub mod summary;
pub mod user;
mod wait;
pub mod watch;
pub mod whose;

pub use error::{Error, Result};
pub use post::Post;
pub use wait::Wait;
