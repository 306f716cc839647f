// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the service cannot be asked.

use std::io;
use std::path::PathBuf;

/// Why the service cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It does not run.
    #[error(
        "ebbd, which gives ordinary users the kernel backend, does not run here ({}): an \
         administrator starts it by 'systemctl enable --now ebbd'; or put 'sudo' in front", path.display()
    )]
    None {
        /// Where it would listen.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Whoever has a runtime directory of his own has nothing to do with the machine's service.
    #[error("the service is not asked: EBB_RUNTIME_DIR is set, and EBB_SERVICE_SOCKET is not")]
    NotAsked,
}
