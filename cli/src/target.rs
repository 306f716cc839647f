// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `--pid`, `--cgroup`, `--unit`, `--container` and `--port` name, and which attachment acts on it.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use ebb_keeper::backend::Backend;
use ebb_keeper::keeper::{self, Duty};
use ebb_keeper::registry::{Record, Sharer, Target};
use ebb_keeper::services;
use ebb_keeper::user_attach::UserDuty;
use ebb_kernel::cgroup::Cgroup;
use ebb_sockets::Root;

/// The command line demands that one is.
const NOTHING_NAMED: &str = "name what to attach to: --pid PID, --cgroup PATH or --port PORT";

/// A process or a cgroup, as named on the command line.
#[derive(Debug, Args)]
pub struct Chosen {
    /// This process and its descendants in its cgroup; not 1, which is everybody's ancestor
    #[arg(long, value_name = "PID", value_parser = parse_pid)]
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

    /// Every TCP connection of this machine with this port at either end: of its own server
    /// that listens there, or of its own programs to others' servers there
    #[arg(long, value_name = "PORT", value_parser = parse_port)]
    port: Option<u16>,
}

/// The names of the arguments of [`Chosen`], of which one is needed.
pub const ARGUMENTS: [&str; 5] = ["pid", "cgroup", "unit", "container", "port"];

impl Chosen {
    /// The attachment that acts on it: its own, or the `ebb run` that it is part of.
    ///
    /// Errors: there is no such process, cgroup, unit or container.
    pub fn find(&self, records: &[Record]) -> Result<Option<Record>> {
        let (id, cgroup) = match (self.pid, self.port, self.cgroup()?) {
            (Some(pid), _, _) => (keeper::process_id(pid), Cgroup::of_process(pid).ok()),
            (None, Some(port), _) => (keeper::port_id(port), None),
            (None, None, Some(cgroup)) => (keeper::cgroup_id(&cgroup), Some(cgroup)),
            (None, None, None) => return Ok(None),
        };
        let is_part_of = |record: &Record| match (&record.target, record.backend) {
            (Target::Run { .. }, Backend::User) => self
                .pid
                .is_some_and(|pid| ebb_sockets::descendants_of(record.keeper_pid).contains(&pid)),
            (Target::Run { cgroup: of_run, .. }, Backend::Kernel) => cgroup
                .as_ref()
                .zip(of_run.as_ref())
                .is_some_and(|(cgroup, of_run)| cgroup.path().starts_with(of_run)),
            _ => false,
        };
        let its_own = records.iter().find(|record| record.name() == id);
        let found = its_own.or_else(|| records.iter().find(|record| is_part_of(record)));
        Ok(found.cloned())
    }

    /// The file by which it shares with others, and its name there.
    ///
    /// Errors: as [`Self::find`].
    pub fn sharer(&self, records: &[Record]) -> Result<Option<(PathBuf, String)>> {
        let cgroup = match self.pid {
            Some(pid) => Cgroup::of_process(pid).ok(),
            None => self.cgroup()?,
        };
        let is_it = |sharer: &Sharer| match sharer.pid {
            Some(pid) => self.pid == Some(pid),
            None => (cgroup.as_ref()).is_some_and(|it| it.path().starts_with(&sharer.cgroup)),
        };
        let found = records.iter().find_map(|record| match &record.target {
            Target::Share { file, programs } => {
                let sharer = programs.iter().find(|sharer| is_it(sharer))?;
                Some((file.clone(), sharer.name.clone()))
            }
            _ => None,
        });
        Ok(found)
    }

    /// What a keeper of the kernel backend is to keep under a policy.
    ///
    /// Errors: as [`Self::find`].
    pub fn duty(&self) -> Result<Duty> {
        match (self.pid, self.port, self.cgroup()?) {
            (Some(pid), _, _) => {
                refuse_kernel_thread(pid)?;
                Ok(Duty::Process(pid))
            }
            (None, Some(port), _) => bail!(
                "the kernel backend knows processes and cgroups, not ports: --backend user \
                 attaches to port {port}, also as root"
            ),
            (None, None, Some(cgroup)) => Ok(Duty::Cgroup(cgroup)),
            (None, None, None) => bail!(NOTHING_NAMED),
        }
    }

    /// Whether it is a port, which only the user backend knows.
    pub fn is_port(&self) -> bool {
        self.port.is_some()
    }

    /// What a keeper of the user backend is to keep under a policy.
    ///
    /// Errors: as [`Self::find`].
    pub fn user_duty(&self) -> Result<UserDuty> {
        self.pid.map_or(Ok(()), refuse_kernel_thread)?;
        Ok(match (self.pid, self.port, self.cgroup()?) {
            (Some(pid), _, _) => UserDuty {
                root: Root::Process(pid),
                target: Target::Process { pid },
                id: keeper::process_id(pid),
            },
            (None, Some(port), _) => UserDuty {
                root: Root::Port(port),
                target: Target::Port { port },
                id: keeper::port_id(port),
            },
            (None, None, Some(cgroup)) => UserDuty {
                root: Root::Cgroup(cgroup.directory_path()),
                target: Target::Cgroup {
                    cgroup: cgroup.path().to_path_buf(),
                },
                id: keeper::cgroup_id(&cgroup),
            },
            (None, None, None) => bail!(NOTHING_NAMED),
        })
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
        let port = self.port.map(|port| port.to_string());
        let values = [pid, cgroup, self.unit.clone(), self.container.clone(), port];
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

fn parse_pid(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("no process has the number 0".to_owned()),
        Ok(1) => Err(
            "1 is the ancestor of every process: name one of those, or all in a cgroup \
                      by --cgroup"
                .to_owned(),
        ),
        Ok(pid) => Ok(pid),
        Err(_) => Err("it is not the number of a process, which 'pidof NAME' tells".to_owned()),
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|port| *port > 0);
    number.ok_or_else(|| {
        "it is not a number from 1 to 65535; 'getent services NAME' tells that of a name".to_owned()
    })
}

/// A thread of the kernel has no connections, and its descendants are threads of the kernel.
fn refuse_kernel_thread(pid: u32) -> Result<()> {
    // <linux/sched.h>
    const PF_KTHREAD: u64 = 0x0020_0000;
    // That there is no such process is told better by whoever looks for its connections.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let flags = behind_name
        .split(' ')
        .nth(6)
        .and_then(|flags| flags.parse::<u64>().ok());
    if flags.is_some_and(|flags| flags & PF_KTHREAD != 0) {
        bail!("process {pid} is a thread of the kernel, which has no connections to hold back");
    }
    Ok(())
}
