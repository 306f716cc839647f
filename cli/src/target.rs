// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `--pid`, `--cgroup`, `--unit` and `--container` name, and which attachment acts on it.

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use ebb_kernel::cgroup::Cgroup;

use crate::keeper::{self, Duty};
use crate::runtime::{Record, Target};
use crate::services;

/// A process or a cgroup, as named on the command line.
#[derive(Debug, Args)]
pub struct Chosen {
    /// This process and its descendants in its cgroup; not 1, which is everybody's ancestor
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(2..))]
    pid: Option<u32>,

    /// Every process in this cgroup (version 2) and in those below it
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Every process of this unit of systemd, a service unless its name says otherwise
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,

    /// Every process of this container, by name or by the beginning of its identifier
    #[arg(long, value_name = "CONTAINER")]
    container: Option<String>,
}

/// The names of the arguments of [`Chosen`], of which one is needed.
pub const ARGUMENTS: [&str; 4] = ["pid", "cgroup", "unit", "container"];

impl Chosen {
    /// The attachment that acts on it: its own, or the `ebb run` that it is part of.
    ///
    /// Errors: there is no such process, cgroup, unit or container.
    pub fn find(&self, records: &[Record]) -> Result<Option<Record>> {
        let (id, cgroup) = match (self.pid, self.cgroup()?) {
            (Some(pid), _) => (keeper::process_id(pid), Cgroup::of_process(pid)?),
            (None, Some(cgroup)) => (keeper::cgroup_id(&cgroup), cgroup),
            (None, None) => return Ok(None),
        };
        let is_it = |record: &&Record| {
            record.id == id
                || matches!(&record.target, Target::Run { cgroup: of_run, .. }
                    if cgroup.path().starts_with(of_run))
        };
        Ok(records.iter().find(is_it).cloned())
    }

    /// What a keeper is to keep under a policy.
    ///
    /// Errors: as [`Self::find`].
    pub fn duty(&self) -> Result<Duty> {
        match (self.pid, self.cgroup()?) {
            (Some(pid), _) => Ok(Duty::Process(pid)),
            (None, Some(cgroup)) => Ok(Duty::Cgroup(cgroup)),
            (None, None) => anyhow::bail!("name what to attach to: --pid PID or --cgroup PATH"),
        }
    }

    /// The cgroup, unless it is a process that was named.
    pub fn cgroup(&self) -> Result<Option<Cgroup>> {
        Ok(match (&self.cgroup, &self.unit, &self.container) {
            (Some(path), _, _) => Some(Cgroup::at(path)?),
            (None, Some(name), _) => Some(services::unit(name)?),
            (None, None, Some(name)) => Some(services::container(name)?),
            (None, None, None) => None,
        })
    }

    /// As it is written on the command line.
    pub fn as_option(&self) -> String {
        match self.named() {
            Some((name, value)) => format!("--{name} {value}"),
            None => "--all".to_owned(),
        }
    }

    fn named(&self) -> Option<(&'static str, String)> {
        let pid = self.pid.map(|pid| pid.to_string());
        let cgroup = self.cgroup.as_ref().map(|path| path.display().to_string());
        let values = [pid, cgroup, self.unit.clone(), self.container.clone()];
        let mut named = ARGUMENTS.into_iter().zip(values);
        named.find_map(|(name, value)| Some((name, value?)))
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named() {
            Some(("pid", pid)) => write!(formatter, "process {pid}"),
            Some((name, value)) => write!(formatter, "{name} {value}"),
            None => formatter.write_str("anything"),
        }
    }
}
