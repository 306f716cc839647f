// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this machine receives, shared among programs: docs/sharing.md.

mod file;
mod member;
mod session;

pub use file::SharingFile;
pub use session::Session;
