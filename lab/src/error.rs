// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong in the lab.
use std::io;

use ebb_link::LinkError;

/// Why the lab could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The kernel refused something.
    #[error("{action}: {source} ({hint})")]
    System {
        /// What was tried, with the file or interface.
        action: String,
        /// The kernel's answer.
        source: io::Error,
        /// What would help.
        hint: &'static str,
    },
    /// A program of the system failed.
    #[error("{command}: {output}")]
    Tool {
        /// The program and what it was to do.
        command: String,
        /// What it said.
        output: String,
    },
    /// The description of a path's link is wrong.
    #[error("path {path}, {direction}: {source}")]
    Link {
        /// Number of the path, from 0.
        path: usize,
        /// "forward" or "reverse".
        direction: &'static str,
        /// What is wrong with it.
        source: LinkError,
    },
    /// The emulator's thread ended before it was asked to.
    #[error("the emulator stopped: {0}")]
    Emulator(String),
}

impl LabError {
    /// A refusal by the kernel, from the last OS error of a call that failed.
    pub(crate) fn system(
        action: impl Into<String>,
        source: impl Into<io::Error>,
        hint: &'static str,
    ) -> Self {
        Self::System {
            action: action.into(),
            source: source.into(),
            hint,
        }
    }
}
