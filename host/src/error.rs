// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something cannot be told.

use std::io;

/// Answer of what can only be told of a process that is there.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each message ends with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No process has this number, or it ended.
    #[error("process {pid}: {source}; see 'ps' for the processes that run")]
    NoProcess {
        /// The number.
        pid: u32,
        /// What the kernel said.
        source: io::Error,
    },
}

/// What the system said, from an error of the procfs crate.
pub(crate) fn io_error(error: procfs::ProcError) -> io::Error {
    use procfs::ProcError;
    match error {
        ProcError::Io(source, _) => source,
        ProcError::NotFound(_) => io::Error::from_raw_os_error(libc::ESRCH),
        ProcError::PermissionDenied(_) => io::Error::from_raw_os_error(libc::EACCES),
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}
