// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `--pid` and `--cgroup` name, and which attachment acts on it.

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use ebb_kernel::cgroup::Cgroup;

use crate::keeper;
use crate::runtime::{Record, Target};

/// A process or a cgroup, as named on the command line.
#[derive(Debug, Args)]
pub struct Chosen {
    /// This process and its descendants in its cgroup; not 1, which is everybody's ancestor
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(2..))]
    pub pid: Option<u32>,

    /// Every process in this cgroup (version 2) and in those below it
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
}

impl Chosen {
    /// The attachment that acts on it: its own, or the `ebb run` that it is part of.
    ///
    /// Errors: there is no such process or cgroup.
    pub fn find(&self, records: &[Record]) -> Result<Option<Record>> {
        let (id, cgroup) = match (self.pid, &self.cgroup) {
            (Some(pid), _) => (keeper::process_id(pid), Cgroup::of_process(pid)?),
            (None, Some(path)) => {
                let cgroup = Cgroup::at(path)?;
                (keeper::cgroup_id(&cgroup), cgroup)
            }
            (None, None) => return Ok(None),
        };
        let is_it = |record: &&Record| {
            record.id == id
                || matches!(&record.target, Target::Run { cgroup: of_run, .. }
                    if cgroup.path().starts_with(of_run))
        };
        Ok(records.iter().find(is_it).cloned())
    }

    /// As it is written on the command line.
    pub fn as_option(&self) -> String {
        match (self.pid, &self.cgroup) {
            (Some(pid), _) => format!("--pid {pid}"),
            (None, Some(path)) => format!("--cgroup {}", path.display()),
            (None, None) => "--all".to_owned(),
        }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.cgroup) {
            (Some(pid), _) => write!(formatter, "process {pid}"),
            (None, Some(path)) => write!(formatter, "cgroup {}", path.display()),
            (None, None) => formatter.write_str("anything"),
        }
    }
}
