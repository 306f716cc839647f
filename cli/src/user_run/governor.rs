// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The governor: starts the command and keeps its connections under the laws.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ebb_sockets::{Governor, Options, Root};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::UserRun;
use super::guardian::{self, BEAT_EVERY};
use super::words::{Speaker, UserSummary, Word};
use crate::process::Start;
use crate::signals::{Signals, wait_readable};

/// The whole life of the governor; answers its exit status: 0 if it has nothing left behind.
pub fn live(
    run: &UserRun<'_>,
    speaker: &Speaker,
    guardian: UnixStream,
    group: Pid,
    mask: SigSet,
) -> i32 {
    match govern(run, speaker, guardian, group, mask) {
        Ok(()) => 0,
        Err(error) => {
            speaker.say(&Word::Failed {
                cause: format!("{error:#}"),
            });
            1
        }
    }
}

fn govern(
    run: &UserRun<'_>,
    speaker: &Speaker,
    guardian: UnixStream,
    group: Pid,
    mask: SigSet,
) -> Result<()> {
    guardian::name_process(c"ebb-governor");
    nix::sys::prctl::set_child_subreaper(true).context("PR_SET_CHILD_SUBREAPER")?;
    let _ = nix::sys::prctl::set_timerslack(50_000);
    guardian.set_nonblocking(true)?;
    let signals = Signals::receive()?;
    let options = Options {
        download: Some(run.download.clone()),
        upload: run.upload.clone(),
        ..Options::default()
    };
    let engine = Governor::new(Root::DescendantsOf(std::process::id()), options)?;
    let start = Start {
        words: run.words,
        cgroup_procs: None,
        account: run.account,
        mask: Some(mask),
        process_group: Some(group),
    };
    let command = match start.spawn() {
        Ok(child) => child.pid(),
        Err(error) => {
            speaker.say(&Word::NotStarted {
                status: error.status,
                errno: error.cause.raw_os_error().unwrap_or(0),
            });
            return Ok(());
        }
    };
    guardian::close_standard_streams()?;
    speaker.say(&Word::Started {
        pid: command.as_raw(),
    });
    guardian::beat(&guardian, Some(command));
    let mut life = Life {
        engine,
        speaker,
        guardian,
        command,
        has_ended: false,
        beat_due: Instant::now(),
    };
    life.last(&signals)
}

struct Life<'a> {
    engine: Governor,
    speaker: &'a Speaker,
    guardian: UnixStream,
    command: Pid,
    has_ended: bool,
    beat_due: Instant,
}

impl Life<'_> {
    /// Until the last process has ended, or `ebb run` was killed.
    fn last(&mut self, signals: &Signals) -> Result<()> {
        let mut is_heard = false;
        loop {
            let next = self.engine.tick();
            for text in self.engine.take_notices() {
                self.speaker.say(&Word::Notice { text });
            }
            if Instant::now() >= self.beat_due {
                guardian::beat(&self.guardian, Some(self.command));
                self.beat_due = Instant::now() + BEAT_EVERY;
            }
            let patience = next.min(self.beat_due).duration_since(Instant::now());
            // Rounded up to a millisecond by poll: never a busy loop.
            let patience = patience.max(Duration::from_millis(1));
            if is_heard {
                wait_readable(&[signals.as_fd()], Some(patience))?;
            } else {
                let line = self.speaker.as_fd();
                wait_readable(&[signals.as_fd(), line], Some(patience))?;
            }
            if self.is_told_to_end(signals)? || !self.reap()? {
                return Ok(());
            }
            if !is_heard {
                match self.speaker.is_alone() {
                    // Killed: nothing may stay throttled on its account.
                    Some(false) => return Ok(()),
                    Some(true) => is_heard = true,
                    None => {}
                }
            }
        }
    }

    fn is_told_to_end(&self, signals: &Signals) -> Result<bool> {
        let mut is_told = false;
        while let Some(arrived) = signals.next()? {
            is_told |= arrived.signal == Signal::SIGTERM;
        }
        Ok(is_told)
    }

    /// Takes note of children that have ended; answers whether any are left.
    fn reap(&mut self) -> Result<bool> {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::StillAlive) => return Ok(true),
                // SIGSTOP is sent by a program that continues it later by itself.
                Ok(WaitStatus::Stopped(pid, signal)) => {
                    if pid == self.command && signal != Signal::SIGSTOP {
                        let signal = signal as i32;
                        self.speaker.say(&Word::Stopped { signal });
                    }
                }
                Ok(status) => self.note_end(status),
                Err(nix::Error::EINTR) => {}
                Err(_) => return Ok(false),
            }
        }
    }

    fn note_end(&mut self, status: WaitStatus) {
        if self.has_ended || status.pid() != Some(self.command) {
            return;
        }
        if let Some(status) = shell_status(status) {
            self.has_ended = true;
            let own = std::process::id();
            let summary = UserSummary {
                counters: self.engine.counters().clone(),
                processes_left: ebb_sockets::descendants_of(own).len(),
            };
            let summary = Some(summary);
            self.speaker.say(&Word::Ended { status, summary });
        }
    }
}

/// The exit status as a shell would give it; none: it has not ended.
pub fn shell_status(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, status) => u8::try_from(status & 0xff).ok(),
        WaitStatus::Signaled(_, signal, _) => u8::try_from(128 + signal as i32).ok(),
        _ => None,
    }
}
