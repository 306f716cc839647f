// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb share`: what this machine receives, shared among programs as somebody wishes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use ebb_keeper::share::{Event, Report, Session};
use ebb_sharing::{Stage, Target};

use crate::backend::require_root;
use crate::output::{self, complain};
use crate::sharing_file;

/// Share what this machine receives among programs by minimum, priority and weight
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Share {
    /// Who shares, and what is wanted for each (docs/sharing.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print once in each control period what each program received, of what it is held at
    #[arg(short, long)]
    watch: bool,

    /// Only say whether the file is right
    #[arg(long)]
    check: bool,
}

const LONG_ABOUT: &str = "\
Share what this machine receives among programs by minimum, priority and weight.

Each program in FILE is a command that is started, or one that runs already: a process with its \
descendants, a cgroup, a unit or a container. First each has its minimum, in decreasing order of \
priority; what then remains is shared by weight. Nothing has to be known about the link: all \
programs are free for ten seconds, until it is known what they receive together, and from then \
on small changes show whether there is more, or whether less would do. Other traffic is neither \
held nor counted, and takes its share as ever.

What a program receives over TCP is held by the window that its connections advertise (the law \
`rate` of the kernel backend); senders and routers do not have to cooperate. UDP is not held. It \
goes on until all programs have ended. On the signal HUP weights, minima and priorities are read \
again. INT or TERM lets all go, and ends the commands. `ebb status` and `ebb top` show who \
shares, `ebb detach --share FILE` lets all go, after which only the commands are waited for. \
Should Ebb be killed, all limits are lifted within two seconds.";

const AFTER_HELP: &str = "\
A file:
  [[program]]
  name = \"film\"
  command = [\"mpv\", \"https://example.org/film\"]
  user = \"ada\"                  # commands run as root otherwise
  minimum = \"3mbit\"             # before all others
  priority = 1

  [[program]]
  name = \"backup\"
  unit = \"backup.service\"       # or pid, cgroup, container
  weight = 1

  [[program]]
  name = \"images\"
  pid = 4242
  weight = 2                    # twice as much of the rest as the backup

Examples:
  sudo ebb share --watch home.toml
  ebb share --check home.toml

Exit status: 0 when all programs have ended; 1 when Ebb refused or failed; 128 + N if signal N \
ended it.";

impl Share {
    /// Shares until the programs have ended; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        let arrangement = sharing_file::read(&self.file)?;
        if self.check {
            output::print(&format!("{}: right\n", self.file.display()))?;
            return Ok(0);
        }
        require_root("share")?;
        let mut session = Session::begin(self.file.clone(), arrangement)?;
        loop {
            match session.next_event()? {
                Event::Period(report) if self.watch => output::print(&line(&report))?,
                Event::Period(_) => {}
                Event::ReadAgain => read_again(&mut session, &self.file),
                Event::CommandFailed { name, status } => {
                    complain(&format!("{name}: the command ended with status {status}"));
                }
                Event::CommandKilled { name, signal } => {
                    complain(&format!("{name}: the command was ended by {signal}"));
                }
                Event::Over { status } => return Ok(status),
            }
        }
    }
}

/// Takes other wishes from the file; what is wrong there changes nothing.
fn read_again(session: &mut Session, file: &Path) {
    match sharing_file::read(file) {
        Err(error) => complain(&format!("{}; going on as before", output::describe(&error))),
        Ok(arrangement) => {
            if let Err(error) = session.set_arrangement(arrangement) {
                complain(&format!(
                    "{}, going on as before",
                    output::describe(&error.into())
                ));
            }
        }
    }
}

/// What each received, of what it is held at.
fn line(report: &Report) -> String {
    let mut line = format!("{:>6.0} s", report.elapsed.as_secs_f64());
    for (name, received, target) in &report.programs {
        let received = *received as f64 / 1e6;
        let _ = match target {
            Target::Free => write!(line, "  {name} {received:.2} of all"),
            Target::At(target) => {
                let target = *target as f64 / 1e6;
                write!(line, "  {name} {received:.2} of {target:.2}")
            }
        };
    }
    let doing = match report.stage {
        Stage::Releasing => "all free",
        Stage::Holding => "holding",
        Stage::Relaxing => "trying more",
        Stage::Probing(_) => "trying more for one",
        Stage::Constraining => "trying less",
    };
    line + &format!("  Mbit/s, {doing}\n")
}
