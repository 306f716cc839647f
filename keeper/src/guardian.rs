// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A guardian: lifts the limits of the user backend when the process that set them, the
//! governor, has died or is silent. It has to be the governor's parent: the kernel may let
//! ancestors alone copy descriptors.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ebb_host::NO_FORK;
use ebb_sockets::{Holds, Journal};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use crate::detached::name_process;
use crate::error::{Result, Trying};
use crate::process::shell_status;
use crate::protocol::{FromGovernor, Heard, Line, Never};
use crate::wait::Wait;

/// The governor lets hear of itself so often.
pub(crate) const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Past this silence the limits are lifted.
const SILENCE: Duration = Duration::from_millis(1_500);

/// A governor's guardian, as the governor has it: told of each limit before that is set. It may be
/// stopped: what it does not take waits.
#[derive(Debug, Clone)]
pub struct Guardian(Arc<Mutex<Line<FromGovernor, Never>>>);

/// The guardian's end of the line.
#[derive(Debug)]
struct Watcher(Line<Never, FromGovernor>);

/// What a guardian knows when its governor has gone.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The command, if there is one.
    pub(crate) command: Option<Pid>,
    /// The connections that may be limited.
    holds: Holds,
}

/// Runs `govern` in a child, which is given its guardian, and watches over it: whatever ends it,
/// its limits are lifted when this returns. Answers its exit status, as a shell would give it.
///
/// Call it while there is a single thread. Signals that would end this process are blocked.
///
/// *Errors:* the child cannot be made, or not be waited for.
pub fn guarded(govern: impl FnOnce(Guardian) -> i32) -> Result<u8> {
    let (_, end) = watch_over(govern, || Ok(()))?;
    Ok(shell_status(end.trying("waitpid")?).unwrap_or(0))
}

/// The same; answers what was known of the governor, and how it ended. The process is prepared by
/// `settle` once the governor has been started.
pub(crate) fn watch_over(
    govern: impl FnOnce(Guardian) -> i32,
    settle: impl FnOnce() -> Result<()>,
) -> Result<(Known, nix::Result<WaitStatus>)> {
    name_process(c"ebb-guardian");
    let (theirs, ours) = lay()?;
    // SAFETY: there is a single thread.
    let governor = match unsafe { fork() }.trying(NO_FORK)? {
        ForkResult::Child => {
            drop(ours);
            std::process::exit(govern(theirs));
        }
        ForkResult::Parent { child } => child,
    };
    // What the governor alone is to have open.
    drop((theirs, govern));
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None).trying("sigprocmask")?;
    settle()?;
    let known = ours.watch()?;
    known.holds.lift();
    Ok((known, waitpid(governor, None)))
}

/// A new line.
fn lay() -> Result<(Guardian, Watcher)> {
    let (governor, guardian) = Line::pair()?;
    Ok((Guardian(Arc::new(Mutex::new(governor))), Watcher(guardian)))
}

impl Guardian {
    /// Says that it lives. One beat waits at the most.
    pub(crate) fn beat(&self, command: Option<Pid>) {
        let command = command.map(Pid::as_raw);
        let mut line = self.line();
        // Without a guardian the governor does what it can.
        let _ = match line.has_unsent() {
            true => line.flush(),
            false => line.say(&FromGovernor::Beat { command }),
        };
    }

    /// Passes notes on.
    pub(crate) fn journal(&self) -> Journal {
        let governor = self.clone();
        Box::new(move |note| drop(governor.line().say(&FromGovernor::Note(note))))
    }

    fn line(&self) -> MutexGuard<'_, Line<FromGovernor, Never>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    /// Listens until the governor has gone; lifts what it holds whenever it falls silent.
    fn watch(mut self) -> Result<Known> {
        let mut known = Known::default();
        let mut silent_from = Some(Instant::now() + SILENCE);
        loop {
            match self.0.hear() {
                Ok(Heard::Message(said)) => {
                    silent_from = Some(Instant::now() + SILENCE);
                    known.hear(said);
                    continue;
                }
                Ok(Heard::Nothing) => {}
                Ok(Heard::Gone) => return Ok(known),
                // Killed in the middle of a word, at the worst.
                Err(error) => {
                    tracing::debug!("the governor's line: {error}");
                    return Ok(known);
                }
            }
            // Stopped, or starved: once it goes on it sets its limits again.
            if silent_from.is_some_and(|moment| Instant::now() >= moment) {
                silent_from = None;
                known.holds.lift();
            }
            let mut wait = Wait::new();
            wait.readable(&self.0);
            silent_from.map(|moment| wait.until(moment));
            wait.wait()?;
        }
    }
}

impl Known {
    /// The connections that were limited, and have back what their programs had set.
    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    fn hear(&mut self, said: FromGovernor) {
        match said {
            FromGovernor::Beat { command } => self.command = command.map(Pid::from_raw),
            FromGovernor::Note(note) => self.holds.hear(note),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_sockets::Note;

    #[test]
    fn a_guardian_knows_what_was_said_when_its_governor_goes() {
        let (governor, guardian) = lay().unwrap();
        governor.beat(None);
        governor.beat(Some(Pid::from_raw(7)));
        let mut journal = governor.journal();
        journal(Note::Free(3));
        drop((governor, journal));
        let known = guardian.watch().unwrap();
        assert_eq!(known.command, Some(Pid::from_raw(7)));
        assert_eq!(known.holds.lift(), 0);
    }

    #[test]
    fn a_guardian_that_does_not_listen_delays_nobody_and_misses_no_note() {
        let (governor, guardian) = lay().unwrap();
        let mut journal = governor.journal();
        let own = ebb_sockets::Own {
            pace_bytes_per_s: 1,
            unsent_bytes: 2,
            traffic_class: 0,
        };
        for cookie in 0..20_000 {
            journal(Note::Held(ebb_sockets::Hold {
                cookie,
                pid: std::process::id(),
                descriptor: -1,
                own,
            }));
            governor.beat(None);
        }
        let watching = std::thread::spawn(move || guardian.watch().unwrap());
        let is_said = |line: &Guardian| !line.line().has_unsent();
        while !is_said(&governor) {
            governor.beat(None);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop((governor, journal));
        let known = watching.join().unwrap();
        assert_eq!(known.holds.len(), 20_000);
    }
}
