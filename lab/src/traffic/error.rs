// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::PathBuf;

/// Why flows could not be made or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A system call failed.
    #[error("flow `{flow}`: {action}: {source}")]
    Flow {
        /// Name of the flow.
        flow: String,
        /// What was tried.
        action: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The worker process could not be started.
    #[error(
        "cannot start the endpoint worker {program}: {source}; unset EBB_LAB_WORKER, or set it to \
         the path of ebb"
    )]
    Spawn {
        /// The program that was tried.
        program: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The worker process ended or answered nonsense.
    #[error("the endpoint worker failed: {0}")]
    Worker(String),
    /// It cannot be carried out.
    #[error("flow `{flow}`: {problem}")]
    Impossible {
        /// Name of the flow.
        flow: String,
        /// What is wrong and what would be right.
        problem: String,
    },
}

impl TrafficError {
    /// For `map_err`: what was tried for which flow.
    pub(crate) fn flow<E: Into<std::io::Error>>(
        flow: &str,
        action: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        let (flow, action) = (flow.to_owned(), action.into());
        move |error| Self::Flow {
            flow,
            action,
            source: error.into(),
        }
    }
}
