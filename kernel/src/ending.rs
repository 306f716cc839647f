// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How attachments end.

use std::fmt;

/// Why an attachment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`Attachment::detach`] was called here.
    Detached,
    /// Another process asked for it ([`crate::detach_all`], `ebb detach`).
    ReleasedByOther,
    /// Somebody took a program off the cgroup by other means.
    Unloaded,
    /// The cgroup was removed.
    CgroupRemoved,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Detached => "it was detached here",
            Self::ReleasedByOther => "another process detached it",
            Self::Unloaded => "its programs were taken off the cgroup",
            Self::CgroupRemoved => "the cgroup was removed",
        })
    }
}
