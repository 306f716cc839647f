// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose connections are held.

use std::path::PathBuf;

use ebb_sockets::Root;

pub use ebb_kernel::cgroup::Cgroup;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::registry::{Attached, Record, Sharer};

/// Whose connections are held, those that exist and those to come.
#[derive(Debug, Clone)]
pub enum Whose {
    /// A process's and its descendants'; with the kernel backend, in its cgroup.
    Process(u32),
    /// Those of all in a cgroup and in those below it.
    Cgroup(Cgroup),
    /// Those of a TCP port in this network namespace, at either end; with the user backend only.
    Port(u16),
}

impl Whose {
    /// Names the record of what is held: one for each thing that policies are on.
    pub fn id(&self) -> String {
        match self {
            Self::Process(pid) => format!("process-{pid}"),
            Self::Cgroup(cgroup) => format!("cgroup-{}", cgroup.id()),
            Self::Port(port) => format!("port-{port}"),
        }
    }

    /// As it is listed.
    pub fn attached(&self) -> Attached {
        match self {
            Self::Process(pid) => Attached::Process { pid: *pid },
            Self::Cgroup(cgroup) => Attached::Cgroup {
                cgroup: cgroup.path().to_path_buf(),
            },
            Self::Port(port) => Attached::Port { port: *port },
        }
    }

    /// The attachment that acts on it: its own, or the `ebb run` that it is part of.
    pub fn find(&self, records: &[Record]) -> Option<Record> {
        let id = self.id();
        let cgroup = self.cgroup();
        let is_part_of = |record: &Record| match (&record.attached, record.backend, self) {
            (Attached::Run { .. }, Backend::User, Self::Process(pid)) => {
                ebb_host::descendants_of(record.keeper_pid).contains(pid)
            }
            (Attached::Run { cgroup: of_run, .. }, Backend::Kernel, _) => cgroup
                .as_ref()
                .zip(of_run.as_ref())
                .is_some_and(|(cgroup, of_run)| cgroup.path().starts_with(of_run)),
            _ => false,
        };
        let its_own = records.iter().find(|record| record.name() == id);
        let found = its_own.or_else(|| records.iter().find(|record| is_part_of(record)));
        found.cloned()
    }

    /// The file by which it shares with others, and its name there.
    pub fn find_sharer(&self, records: &[Record]) -> Option<(PathBuf, String)> {
        let cgroup = self.cgroup();
        let is_it = |sharer: &Sharer| match (sharer.pid, self) {
            (Some(pid), Self::Process(own)) => pid == *own,
            (Some(_), _) => false,
            (None, _) => (cgroup.as_ref()).is_some_and(|it| it.path().starts_with(&sharer.cgroup)),
        };
        records.iter().find_map(|record| match &record.attached {
            Attached::Share { file, programs } => {
                let sharer = programs.iter().find(|sharer| is_it(sharer))?;
                Some((file.clone(), sharer.name.clone()))
            }
            _ => None,
        })
    }

    /// *Errors:* it is a thread of the kernel.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            // Its descendants are such threads, too.
            Self::Process(pid) if ebb_host::is_kernel_thread(*pid) => {
                Err(Error::KernelThread { pid: *pid })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn root(&self) -> Root {
        match self {
            Self::Process(pid) => Root::Process(*pid),
            Self::Cgroup(cgroup) => Root::Cgroup(cgroup.directory_path()),
            Self::Port(port) => Root::Port(*port),
        }
    }

    /// The cgroup that it is, or is in.
    fn cgroup(&self) -> Option<Cgroup> {
        match self {
            Self::Process(pid) => Cgroup::of_process(*pid).ok(),
            Self::Cgroup(cgroup) => Some(cgroup.clone()),
            Self::Port(_) => None,
        }
    }
}
