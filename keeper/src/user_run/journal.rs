// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line from a governor to its guardian: that it lives, and what it holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ebb_sockets::{Holds, Journal};
use nix::unistd::Pid;

use crate::error::Result;
use crate::protocol::{FromGovernor, Heard, Line, Never};
use crate::wait::Wait;

/// The governor lets hear of itself so often.
pub const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Past this silence the limits are lifted.
const SILENCE: Duration = Duration::from_millis(1_500);

/// The governor's end. A guardian may be stopped: what it does not take waits.
#[derive(Debug, Clone)]
pub struct GovernorEnd(Arc<Mutex<Line<FromGovernor, Never>>>);

/// The guardian's end.
#[derive(Debug)]
pub struct GuardianEnd(Line<Never, FromGovernor>);

/// What a guardian knows when its governor has gone.
#[derive(Debug, Default)]
pub struct Known {
    /// The command, if there is one.
    pub command: Option<Pid>,
    /// The connections that may be limited.
    pub holds: Holds,
}

/// A new line.
pub fn lay() -> Result<(GovernorEnd, GuardianEnd)> {
    let (governor, guardian) = Line::pair()?;
    Ok((
        GovernorEnd(Arc::new(Mutex::new(governor))),
        GuardianEnd(guardian),
    ))
}

impl GovernorEnd {
    /// Says that it lives. One beat waits at the most.
    pub fn beat(&self, command: Option<Pid>) {
        let command = command.map(Pid::as_raw);
        let mut line = self.line();
        // Without a guardian the governor does what it can.
        let _ = match line.has_unsent() {
            true => line.flush(),
            false => line.say(&FromGovernor::Beat { command }),
        };
    }

    /// Passes notes on.
    pub fn journal(&self) -> Journal {
        let governor = self.clone();
        Box::new(move |note| drop(governor.line().say(&FromGovernor::Note(note))))
    }

    fn line(&self) -> MutexGuard<'_, Line<FromGovernor, Never>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuardianEnd {
    /// Listens until the governor has gone; lifts what it holds whenever it falls silent.
    pub fn watch(mut self) -> Result<Known> {
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
        let is_said = |line: &GovernorEnd| !line.line().has_unsent();
        while !is_said(&governor) {
            governor.beat(None);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop((governor, journal));
        let known = watching.join().unwrap();
        assert_eq!(known.holds.len(), 20_000);
    }
}
