// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` with the user backend: three processes, of which any two may be killed.
//!
//! ```text
//! ebb run ── ebb-guardian ── ebb-governor ── the command and all its descendants
//! ```
//! The governor starts the command and looks after its sockets. It is an ancestor of whatever
//! the command starts (a subreaper: daemons stay its descendants), because the kernel may let
//! ancestors alone copy descriptors. The guardian does nothing until the governor dies or
//! falls silent; then it lifts the limits and waits for the command in its place. `ebb run`
//! itself has the terminal and the signals, as with the kernel backend. The command is in its
//! process group.

mod governor;
pub mod guardian;
pub mod journal;
pub mod post;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use crate::policies::Policies;
use crate::protocol::{FromKeeper, FromStarter, Heard, Line};
use crate::signals::{self, Arrived, Signals};
use crate::summary::Summary;
use crate::user::Account;
use crate::wait::Wait;

/// A command for the user backend.
#[derive(Debug)]
pub struct UserRun<'a> {
    /// Program and arguments.
    pub words: &'a [OsString],
    /// Whom it is to run as, if not as we do.
    pub account: Option<&'a Account>,
    /// How what it does is to yield.
    pub policies: Policies,
}

/// What became of a command.
#[derive(Debug)]
pub enum Outcome {
    /// It ran; the summary is missing if the policy ended before it did.
    Ended {
        /// As a shell would give it.
        status: u8,
        /// What came of it.
        summary: Option<Box<Summary>>,
    },
    /// It could not be started.
    NotStarted {
        /// The exit status that shells give to this.
        status: u8,
        /// What the system said.
        errno: i32,
    },
}

/// Says why the user backend cannot act on a command, before it is started.
pub fn check(words: &[OsString]) -> Result<()> {
    if let Some(file) = ebb_sockets::changes_privileges(&words[0]) {
        bail!(
            "{} runs with other privileges than yours (setuid, setgid or capabilities), so that \
             its connections are out of reach without root: put 'sudo' in front of ebb, or run \
             a program without them",
            file.display()
        );
    }
    Ok(ebb_sockets::probe()?)
}

impl UserRun<'_> {
    /// Runs the command, and tells what people should know at once. Call it while there is a
    /// single thread.
    pub fn execute(&self, tell: &dyn Fn(&str)) -> Result<Outcome> {
        let signals = Signals::receive()?;
        // Whoever speaks has a line of its own: one that is killed in the middle of a word
        // spoils no other's.
        let (from_guardian, guardian) = Line::pair()?;
        let (from_governor, governor) = Line::pair()?;
        // Should both others be killed, the command becomes ours.
        nix::sys::prctl::set_child_subreaper(true).context("PR_SET_CHILD_SUBREAPER")?;
        let group = nix::unistd::getpgrp();
        // SAFETY: there is a single thread.
        let child = match unsafe { nix::unistd::fork() }.context("fork")? {
            nix::unistd::ForkResult::Parent { child } => child,
            nix::unistd::ForkResult::Child => {
                drop((from_guardian, from_governor));
                let mask = signals.original_mask();
                drop(signals);
                std::process::exit(guardian::live(self, guardian, governor, group, mask));
            }
        };
        drop((guardian, governor));
        Front {
            line: from_governor,
            next_line: Some(from_guardian),
            signals,
            guardian: child,
            command: None,
            early: Vec::new(),
            tell,
        }
        .attend()
    }
}

/// What is left of `ebb run` while the command runs.
struct Front<'a> {
    line: Line<FromStarter, FromKeeper>,
    /// The guardian's, while the governor is listened to.
    next_line: Option<Line<FromStarter, FromKeeper>>,
    signals: Signals,
    guardian: Pid,
    command: Option<Pid>,
    /// Signals that came before the command was known.
    early: Vec<Arrived>,
    tell: &'a dyn Fn(&str),
}

/// The guardian reaps the command if the governor cannot; it is given this long.
const PATIENCE: Duration = Duration::from_secs(1);

impl Front<'_> {
    fn attend(mut self) -> Result<Outcome> {
        loop {
            while let Some(arrived) = self.signals.next()? {
                self.pass_on(arrived);
            }
            match self.line.hear() {
                Ok(Heard::Nothing) => {
                    let mut wait = Wait::new();
                    wait.readable(&self.signals);
                    self.line.add_to(&mut wait);
                    wait.wait()?;
                }
                Ok(Heard::Message(said)) => {
                    if let Some(outcome) = self.hear(said)? {
                        return Ok(outcome);
                    }
                }
                // The guardian speaks once the governor has gone.
                Ok(Heard::Gone) | Err(_) => match self.next_line.take() {
                    Some(line) => self.line = line,
                    None => return self.wait_alone(),
                },
            }
        }
    }

    fn hear(&mut self, said: FromKeeper) -> Result<Option<Outcome>> {
        match said {
            FromKeeper::Started { pid } => {
                self.command = Some(Pid::from_raw(pid));
                for arrived in std::mem::take(&mut self.early) {
                    self.pass_on(arrived);
                }
            }
            FromKeeper::NotStarted { status, errno } => {
                return Ok(Some(Outcome::NotStarted { status, errno }));
            }
            FromKeeper::Refused { cause } => bail!(cause),
            FromKeeper::Notice { text } => (self.tell)(&text),
            FromKeeper::Stopped { signal } => signals::stop_like(Signal::try_from(signal)?)?,
            FromKeeper::Ended { status, summary } => {
                // It may have ended by now.
                let _ = self.line.say(&FromStarter::Done);
                return Ok(Some(Outcome::Ended { status, summary }));
            }
            FromKeeper::Ready { .. }
            | FromKeeper::AlreadyAttached { .. }
            | FromKeeper::Summary(_) => {}
        }
        Ok(None)
    }

    fn pass_on(&mut self, arrived: Arrived) {
        if self.command.is_none() {
            self.early.push(arrived);
        }
        let guardian = self.guardian.as_raw().cast_unsigned();
        let is_ours = |pid: Pid| {
            ebb_sockets::descendants_of(guardian).contains(&pid.as_raw().cast_unsigned())
        };
        if let Some(command) = self.command
            && arrived.is_to_be_passed_on(is_ours)
        {
            // It may have ended just now; its status tells that in a moment.
            let _ = signal::kill(command, arrived.signal);
        }
    }

    /// Both others were killed: the command is our child now.
    fn wait_alone(self) -> Result<Outcome> {
        ebb_sockets::lift_limits_of_descendants();
        let Some(command) = self.command else {
            bail!("the governor died before it had started the command");
        };
        (self.tell)("the policy ended before the command did: ebb's other processes were killed");
        let child = crate::process::Child::adopted(command);
        let within = std::time::Instant::now() + PATIENCE;
        loop {
            match child.wait(&self.signals, |_| false) {
                Ok(status) => {
                    return Ok(Outcome::Ended {
                        status,
                        summary: None,
                    });
                }
                // It is handed over a moment after the others' end.
                Err(_) if std::time::Instant::now() < within => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error),
            }
        }
    }
}
