// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The starter of a command for the user backend: it has the terminal and the signals.

use std::time::{Duration, Instant};

use ebb_host::NO_FORK;
use ebb_sockets::{Holds, lift_limits_of_descendants};
use nix::sys::prctl;
use nix::sys::signal::{self, Signal};
use nix::unistd::{ForkResult, Pid, fork, getpgrp};

use super::{Outcome, Run, guardian};
use crate::error::{Error, Result, Trying};
use crate::policies::Policies;
use crate::process::{Child, NotStarted};
use crate::protocol::{FromKeeper, FromStarter, Heard, Line};
use crate::signals::{self, Arrived, Signals};
use crate::wait::Wait;

/// The guardian reaps the command if the governor cannot; it is given this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command.
pub(super) fn execute(run: &Run<'_>, policies: &Policies, tell: &dyn Fn(&str)) -> Result<Outcome> {
    let signals = Signals::receive()?;
    // Whoever speaks has a line of its own: one that is killed in the middle of a word spoils
    // no other's.
    let (from_guardian, guardian) = Line::pair()?;
    let (from_governor, governor) = Line::pair()?;
    // Should both others be killed, the command becomes ours.
    prctl::set_child_subreaper(true).trying("PR_SET_CHILD_SUBREAPER")?;
    let group = getpgrp();
    // SAFETY: there is a single thread.
    let child = match unsafe { fork() }.trying(NO_FORK)? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop((from_guardian, from_governor));
            let mask = signals.original_mask();
            drop(signals);
            let order = guardian::Order {
                run,
                policies,
                group,
                mask,
            };
            std::process::exit(guardian::live(&order, guardian, governor));
        }
    };
    drop((guardian, governor));
    let front = Front {
        line: from_governor,
        next_line: Some(from_guardian),
        signals,
        guardian: child,
        command: None,
        early: Vec::new(),
        tell,
    };
    front.attend()
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
                let cause = std::io::Error::from_raw_os_error(errno);
                return Ok(Some(Outcome::NotStarted(NotStarted { status, cause })));
            }
            FromKeeper::Refused { cause } => return Err(Error::CannotKeep { cause }),
            FromKeeper::Notice { text } => (self.tell)(&text),
            FromKeeper::Stopped { signal } => {
                signals::stop_like(Signal::try_from(signal).trying("signal")?)?;
            }
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
        let is_ours =
            |pid: Pid| ebb_host::descendants_of(guardian).contains(&pid.as_raw().cast_unsigned());
        if let Some(command) = self.command
            && arrived.is_to_be_passed_on(is_ours)
        {
            // It may have ended just now; its status tells that in a moment.
            let _ = signal::kill(command, arrived.signal);
        }
    }

    /// Both others were killed: the command is our child now.
    fn wait_alone(self) -> Result<Outcome> {
        let Some(command) = self.command else {
            lift_all_limits();
            return Err(Error::GovernorDied);
        };
        lift_once_it_is_ours(command);
        (self.tell)("the policy ended before the command did: ebb's other processes were killed");
        let child = Child::adopted(command);
        let within = Instant::now() + PATIENCE;
        loop {
            match child.wait(&self.signals, |_| false) {
                Ok(status) => {
                    return Ok(Outcome::Ended {
                        status,
                        summary: None,
                    });
                }
                // It is handed over a moment after the others' end.
                Err(_) if Instant::now() < within => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A process's lines are closed before its children are handed over, and in between they are
/// nobody's: what is lifted then is not all.
fn lift_once_it_is_ours(command: Pid) {
    let within = Instant::now() + PATIENCE;
    loop {
        let children = ebb_host::children_of(std::process::id());
        let is_ours = children.contains(&command.as_raw().cast_unsigned());
        lift_all_limits();
        if is_ours || Instant::now() >= within {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing is known of what was limited.
fn lift_all_limits() {
    lift_limits_of_descendants(&Holds::default());
}
