// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb daemon`: the service that keeps what rules say.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use ebb_daemon::{Event, FOLDERS, Service};
use ebb_keeper::Cgroup;

use crate::backend::require_root;
use crate::output::{complain, complain_of};

/// Keep transfers in the background as rules say, for ever: the service ebbd
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Daemon {
    #[command(flatten)]
    folders: Folders,

    /// Act only on what is in this cgroup (version 2) and in those below it
    #[arg(long, value_name = "PATH", default_value = "/")]
    below: PathBuf,
}

/// Where rules are.
#[derive(Debug, Args)]
pub struct Folders {
    /// A folder of rules in place of /usr/lib/ebb and /etc/ebb; of several, later ones go before
    #[arg(long = "rules", value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

const LONG_ABOUT: &str = "\
Keep transfers in the background as rules say, for ever: the service ebbd.

Reads the rules in /usr/lib/ebb/*.toml and /etc/ebb/*.toml and has everything that they name \
yield: units and slices of systemd, containers, cgroups, programs, users and ports. A service, a \
container or a program is governed from its first connection on, whenever it starts; what runs \
already is taken over. What is started by `ebb run`, or attached by `ebb attach`, keeps the \
policies that it was given there. For devices behind this machine it keeps a gateway, as \
'ebb gateway' is one, where a file has a section [gateway].

For ordinary users it holds what `ebb run` and `ebb attach` ask for, on what is their own: they \
have the kernel backend so, without sudo. /etc/ebb/settings/ebbd.toml says who may, and how much: \
/usr/share/doc/ebb/administration.md, \"Ordinary users\".

On the signal HUP rules and settings are read again: connections whose rule did not change are not \
touched, and if there is a mistake, nothing changes. INT or TERM lets all go. Should it be \
killed, all limits are lifted within two seconds. `ebb rules` lists the rules, `ebb status` and \
`ebb top` show what they do.

systemd starts it as ebbd.service, with notification when it is ready and a watchdog.";

const AFTER_HELP: &str = "\
Examples:
  sudo systemctl enable --now ebbd
  sudo systemctl reload ebbd
  sudo ebb daemon --rules ./my-rules

Exit status: 0 when it was told to end, 1 when it failed, 2 wrong usage.";

impl Daemon {
    /// Serves until it is told to end.
    pub fn execute(self) -> Result<()> {
        require_root("daemon")?;
        let mut service = Service::begin(&self.folders.all(), &Cgroup::at(&self.below)?)?;
        loop {
            match service.next_event()? {
                Event::Ready { rules, problems } => {
                    complain_of(&problems);
                    let plural = crate::output::plural(rules as u64);
                    let left_out = match problems.is_empty() {
                        true => "",
                        false => "; the files above were left out",
                    };
                    complain(&format!("{rules} rule{plural} in force{left_out}"));
                }
                Event::Over => return Ok(()),
                event => complain(&event.to_string()),
            }
        }
    }
}

impl Folders {
    /// The folders, those that go before others last.
    pub fn all(&self) -> Vec<PathBuf> {
        match self.folders.is_empty() {
            true => FOLDERS.map(PathBuf::from).to_vec(),
            false => self.folders.clone(),
        }
    }
}
