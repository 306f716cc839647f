// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line from a governor to its guardian: that it lives, and what it holds.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::signals::wait_readable;
use anyhow::{Context, Result};
use ebb_sockets::{Holds, Journal, Note};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The governor lets hear of itself so often.
pub const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Past this silence the limits are lifted.
const SILENCE: Duration = Duration::from_millis(1_500);

/// What is said.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// The governor lives; the command's number, if there is one.
    Beat(Option<i32>),
    /// What it is about to do to a connection.
    Note(Note),
}

/// The governor's end.
#[derive(Debug, Clone)]
pub struct GovernorEnd(Arc<Mutex<Outgoing>>);

#[derive(Debug)]
struct Outgoing {
    stream: UnixStream,
    /// Not taken yet: a guardian may be stopped.
    waiting: Vec<u8>,
}

/// The guardian's end.
#[derive(Debug)]
pub struct GuardianEnd {
    stream: UnixStream,
    text: Vec<u8>,
}

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
    let (stream, theirs) = UnixStream::pair().context("socketpair")?;
    stream.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    let outgoing = Outgoing {
        stream,
        waiting: Vec::new(),
    };
    let guardian = GuardianEnd {
        stream: theirs,
        text: Vec::new(),
    };
    Ok((GovernorEnd(Arc::new(Mutex::new(outgoing))), guardian))
}

impl GovernorEnd {
    /// Says that it lives.
    pub fn beat(&self, command: Option<Pid>) {
        self.say(&Said::Beat(command.map(Pid::as_raw)));
    }

    /// Passes notes on.
    pub fn journal(&self) -> Journal {
        let line = self.clone();
        Box::new(move |note| line.say(&Said::Note(note)))
    }

    /// Without a guardian the governor does what it can.
    fn say(&self, said: &Said) {
        let mut outgoing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = !outgoing.waiting.is_empty();
        // One beat waits at the most.
        if !(is_full && matches!(said, Said::Beat(_)))
            && let Ok(text) = serde_json::to_string(said)
        {
            outgoing.waiting.extend_from_slice(text.as_bytes());
            outgoing.waiting.push(b'\n');
        }
        outgoing.flush();
    }
}

impl Outgoing {
    fn flush(&mut self) {
        while !self.waiting.is_empty() {
            match (&self.stream).write(&self.waiting) {
                Ok(length) if length > 0 => {
                    self.waiting.drain(..length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return self.waiting.clear(),
            }
        }
    }
}

impl GuardianEnd {
    /// Listens until the governor has gone; lifts what it holds whenever it falls silent.
    pub fn watch(mut self) -> Result<Known> {
        let mut known = Known::default();
        let mut is_silent = false;
        loop {
            wait_readable(&[self.stream.as_fd()], Some(SILENCE))?;
            let mut piece = [0; 4096];
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(known),
                Ok(length) => {
                    is_silent = false;
                    self.text.extend_from_slice(&piece[..length]);
                    self.take_lines(&mut known);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Stopped, or starved: once it goes on it sets its limits again.
                Err(_) if !is_silent => {
                    is_silent = true;
                    known.holds.lift();
                }
                Err(_) => {}
            }
        }
    }

    fn take_lines(&mut self, known: &mut Known) {
        while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.text.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Said::Beat(command)) => known.command = command.map(Pid::from_raw),
                Ok(Said::Note(note)) => known.holds.hear(note),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let is_said = |line: &GovernorEnd| {
            let outgoing = line.0.lock().unwrap();
            outgoing.waiting.is_empty()
        };
        while !is_said(&governor) {
            governor.beat(None);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop((governor, journal));
        let known = watching.join().unwrap();
        assert_eq!(known.holds.len(), 20_000);
    }
}
