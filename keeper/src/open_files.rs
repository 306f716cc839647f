// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many files a keeper may have open: as many as it can get, which its command does not inherit.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The limit that this process was started with (RLIMIT_NOFILE).
#[derive(Debug, Clone, Copy)]
pub struct OpenFiles {
    soft: u64,
    hard: u64,
}

impl OpenFiles {
    /// Raises the limit to what may be had without privilege; answers what it was. A keeper of many
    /// processes has a descriptor for each.
    ///
    /// *Errors:* the kernel tells no limit.
    pub fn raise() -> io::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        if let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            tracing::debug!("RLIMIT_NOFILE stays {soft}: {error}");
        }
        Ok(Self { soft, hard })
    }

    /// Gives the calling process that limit again; a system call only.
    ///
    /// *Errors:* the hard limit was lowered meanwhile.
    pub fn restore(self) -> io::Result<()> {
        Ok(setrlimit(Resource::RLIMIT_NOFILE, self.soft, self.hard)?)
    }
}
