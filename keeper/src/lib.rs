// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps policies on connections, for any backend.

pub mod backend;
pub mod describe;
pub mod detached;
pub mod flow_view;
pub mod held;
pub mod keeper;
pub mod laws_keeper;
pub mod line;
pub mod place;
pub mod policies;
pub mod process;
pub mod registry;
pub mod services;
pub mod share;
pub mod signals;
pub mod summary;
mod switched;
pub mod user;
pub mod user_attach;
pub mod user_run;
pub mod watch;
