// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose connections are governed, and which processes these are now.

use std::fs;
use std::path::{Path, PathBuf};

use ebb_host::Family;

use crate::error::{Error, Result};
use crate::port::PortUsers;

/// Whose connections are governed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The descendants of a process, itself not included.
    DescendantsOf(u32),
    /// A process and its descendants.
    Process(u32),
    /// Every process in a cgroup (version 2) and in those below it, by its directory.
    Cgroup(PathBuf),
    /// Who has sockets of a TCP port in this network namespace, at either end; only the
    /// connections of that port.
    Port(u16),
    /// This process: those of its sockets that are given one by one ([`Governor::give`]), or all of
    /// them ([`Governor::give_all`]). Nothing else's is asked for, and no privilege is needed.
    ///
    /// [`Governor::give`]: crate::Governor::give
    /// [`Governor::give_all`]: crate::Governor::give_all
    Own,
}

/// A root as it is followed.
#[derive(Debug)]
pub(crate) enum Followed {
    Family(Family),
    Cgroup(PathBuf),
    Port(PortUsers),
    Own,
}

impl Followed {
    /// *Errors:* the process or the cgroup is not there.
    pub(crate) fn new(root: &Root) -> Result<Self> {
        Ok(match root {
            Root::DescendantsOf(pid) => Self::Family(Family::below(*pid)?),
            Root::Process(pid) => Self::Family(Family::of(*pid)?),
            Root::Cgroup(directory) => {
                fs::metadata(directory.join("cgroup.procs")).map_err(|source| Error::NoCgroup {
                    directory: directory.clone(),
                    source,
                })?;
                Self::Cgroup(directory.clone())
            }
            Root::Port(port) => Self::Port(PortUsers::new(*port)),
            Root::Own => Self::Own,
        })
    }

    /// The processes.
    pub(crate) fn pids(&mut self) -> Vec<u32> {
        match self {
            Self::Family(family) => {
                family.update();
                family.pids()
            }
            Self::Cgroup(directory) => {
                let mut pids = Vec::new();
                add_members(directory, &mut pids);
                pids
            }
            Self::Port(users) => users.pids(),
            Self::Own => vec![std::process::id()],
        }
    }

    /// This process is governed by itself.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// Whether anybody may still come.
    pub(crate) fn is_alive(&mut self) -> bool {
        match self {
            Self::Family(family) => family.is_alive(),
            Self::Cgroup(directory) => directory.is_dir(),
            Self::Port(_) | Self::Own => true,
        }
    }
}

fn add_members(directory: &Path, pids: &mut Vec<u32>) {
    // Cgroups come and go while we look.
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    let numbers = text.lines().filter_map(|line| line.parse::<u32>().ok());
    // Processes beyond our process namespace have the number 0.
    pids.extend(numbers.filter(|pid| *pid > 0));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_members(&entry.path(), pids);
        }
    }
}
