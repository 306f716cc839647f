// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `--pid`, `--cgroup`, `--unit`, `--container` and `--port` name.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use ebb_keeper::{Cgroup, Whose, services};

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
    /// Whose connections are named.
    ///
    /// Errors: there is no such cgroup, unit or container.
    pub fn whose(&self) -> Result<Whose> {
        let cgroup = match (&self.cgroup, &self.unit, &self.container) {
            (Some(path), _, _) => Some(Cgroup::at(path)?),
            (None, Some(name), _) => Some(services::unit(name)?),
            (None, None, Some(name)) => Some(services::container(name)?),
            (None, None, None) => None,
        };
        match (self.pid, self.port, cgroup) {
            (Some(pid), _, _) => Ok(Whose::Process(pid)),
            (None, Some(port), _) => Ok(Whose::Port(port)),
            (None, None, Some(cgroup)) => Ok(Whose::Cgroup(cgroup)),
            (None, None, None) => bail!(NOTHING_NAMED),
        }
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
