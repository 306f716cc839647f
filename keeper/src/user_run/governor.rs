// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The governor: starts the command and keeps its connections under the laws.

use std::os::unix::fs::MetadataExt;

use crate::flow_view::FlowView;
use crate::process::Start;
use crate::protocol::FromKeeper;
use crate::registry::Target;
use crate::signals::Signals;
use crate::starter::{KeeperEnd, Starter, look_at_starter};
use crate::wait::Wait;
use crate::watch::Watch;
use anyhow::{Context, Result};
use ebb_sockets::Root;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::UserRun;
use super::guardian;
use super::guardian::SAID_WITHIN;
use super::journal::GovernorEnd;
use super::post::Post;
use crate::describe::describe;
use crate::summary::Summary;

/// The whole life of the governor; answers its exit status: 0 if it has nothing left behind.
pub fn live(
    run: &UserRun<'_>,
    mut line: KeeperEnd,
    journal: GovernorEnd,
    group: Pid,
    mask: SigSet,
) -> i32 {
    let governed = govern(run, &mut line, journal, group, mask);
    let status = i32::from(governed.is_err());
    if let Err(error) = governed {
        let cause = format!("{error:#}");
        let _ = line.say(&FromKeeper::Refused { cause });
    }
    let _ = line.flush_within(SAID_WITHIN);
    status
}

fn govern(
    run: &UserRun<'_>,
    line: &mut KeeperEnd,
    journal: GovernorEnd,
    group: Pid,
    mask: SigSet,
) -> Result<()> {
    guardian::name_process(c"ebb-governor");
    nix::sys::prctl::set_child_subreaper(true).context("PR_SET_CHILD_SUBREAPER")?;
    let _ = nix::sys::prctl::set_timerslack(50_000);
    let signals = Signals::receive()?;
    let root = Root::DescendantsOf(std::process::id());
    let mut post = Post::new(root, &run.policies, journal)?;
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
            line.say(&FromKeeper::NotStarted {
                status: error.status,
                errno: error.cause.raw_os_error().unwrap_or(0),
            })?;
            return Ok(());
        }
    };
    guardian::close_standard_streams()?;
    let pid = command.as_raw();
    // It is noticed below if `ebb run` has gone.
    let _ = line.say(&FromKeeper::Started { pid });
    post.set_command(command);
    let words = run.words.iter().map(|word| word.to_string_lossy());
    let target = Target::Run {
        command: words.map(|word| word.into_owned()).collect(),
        cgroup: None,
    };
    // A command can do without being listed.
    if let Err(error) = post.register(target, format!("run-{}", std::process::id())) {
        let cause = describe(error.as_ref());
        let text = format!("'ebb status' will not list it: {cause}");
        let _ = line.say(&FromKeeper::Notice { text });
    }
    let mut life = Life {
        post,
        line,
        command,
        has_ended: false,
        watch: Watch::default(),
    };
    life.last(&signals)
}

struct Life<'a> {
    post: Post,
    line: &'a mut KeeperEnd,
    command: Pid,
    has_ended: bool,
    watch: Watch,
}

impl Life<'_> {
    /// Until the last process has ended, or `ebb run` was killed.
    fn last(&mut self, signals: &Signals) -> Result<()> {
        let mut is_heard = false;
        loop {
            let mut wait = Wait::new();
            wait.readable(signals);
            if !is_heard {
                self.line.add_to(&mut wait);
            }
            self.post.work(wait)?;
            let _ = self.line.flush();
            let engine = self.post.engine();
            self.watch.look(|| {
                engine
                    .flows()
                    .iter()
                    .map(FlowView::of_user_backend)
                    .collect()
            });
            for text in self.post.engine().take_notices() {
                self.say(&FromKeeper::Notice { text });
            }
            if self.is_told_to_end(signals)? || !self.reap()? {
                return Ok(());
            }
            if !is_heard {
                match look_at_starter(self.line) {
                    // Killed: nothing may stay throttled on its account.
                    Starter::HasGone => return Ok(()),
                    Starter::IsDone => is_heard = true,
                    Starter::Waits => {}
                }
            }
        }
    }

    /// Whether it is heard is not known.
    fn say(&mut self, said: &FromKeeper) {
        let _ = self.line.say(said);
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
                        self.say(&FromKeeper::Stopped { signal });
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
            let summary = Summary {
                seen: self.watch.seen(),
                processes_left: reachable(&ebb_sockets::descendants_of(own)),
                ..self.post.summary()
            };
            let summary = Some(Box::new(summary));
            self.say(&FromKeeper::Ended { status, summary });
        }
    }
}

/// How many of these processes can be held back: who is another user by now cannot.
fn reachable(pids: &[u32]) -> usize {
    let own = nix::unistd::geteuid();
    let is_reachable = |pid: &&u32| {
        let owner = std::fs::metadata(format!("/proc/{pid}")).map(|it| it.uid());
        own.is_root() || owner.is_ok_and(|owner| owner == own.as_raw())
    };
    pids.iter().filter(is_reachable).count()
}

/// The exit status as a shell would give it; none: it has not ended.
pub fn shell_status(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, status) => u8::try_from(status & 0xff).ok(),
        WaitStatus::Signaled(_, signal, _) => u8::try_from(128 + signal as i32).ok(),
        _ => None,
    }
}
