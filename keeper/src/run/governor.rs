// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The governor of a command: starts it and keeps its connections under the policies.

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::guardian::{Order, SAID_WITHIN};
use crate::describe::describe;
use crate::detached::{leave_streams_and_directory, name_process};
use crate::error::{Result, Trying};
use crate::guardian::Guardian;
use crate::held::Held;
use crate::open_files::OpenFiles;
use crate::post::Post;
use crate::process::{Start, shell_status};
use crate::protocol::FromKeeper;
use crate::registry::Attached;
use crate::signals::Signals;
use crate::starter::{KeeperEnd, Starter, look_at_starter};
use crate::summary::Summary;
use crate::user::UserHeld;
use crate::wait::Wait;

/// The whole life of the governor; answers its exit status: 0 if it has nothing left behind.
pub(super) fn live(order: &Order<'_>, mut line: KeeperEnd, guardian: Guardian) -> i32 {
    let governed = govern(order, &mut line, guardian);
    let status = i32::from(governed.is_err());
    if let Err(error) = governed {
        let cause = describe(&error);
        let _ = line.say(&FromKeeper::Refused { cause });
    }
    let _ = line.flush_within(SAID_WITHIN);
    status
}

fn govern(order: &Order<'_>, line: &mut KeeperEnd, guardian: Guardian) -> Result<()> {
    become_governor()?;
    let signals = Signals::receive()?;
    let open_files = OpenFiles::raise().trying("RLIMIT_NOFILE")?;
    let mut held = UserHeld::hold_descendants(order.policies, Some(guardian))?;
    let start = Start {
        mask: Some(order.mask),
        process_group: Some(order.group),
        open_files: Some(open_files),
        ..order.run.start()
    };
    let command = match start.spawn() {
        Ok(child) => child.pid(),
        Err(error) => {
            let status = error.status;
            let errno = error.cause.raw_os_error().unwrap_or(0);
            return line.say(&FromKeeper::NotStarted { status, errno });
        }
    };
    leave_streams_and_directory()?;
    // It is noticed below if the starter has gone.
    let pid = command.as_raw();
    let _ = line.say(&FromKeeper::Started { pid });
    held.set_command(command);
    let mut post = Post::new(Box::new(held));
    if order.run.is_watched {
        post.watch();
    }
    register(&mut post, order, line);
    Life {
        post,
        line,
        command,
        has_ended: false,
    }
    .last(&signals)
}

fn become_governor() -> Result<()> {
    name_process(c"ebb-governor");
    let _ = prctl::set_timerslack(50_000);
    prctl::set_child_subreaper(true).trying("PR_SET_CHILD_SUBREAPER")
}

/// A command can do without being listed.
fn register(post: &mut Post<UserHeld>, order: &Order<'_>, line: &mut KeeperEnd) {
    let words = order.run.words.iter().map(|word| word.to_string_lossy());
    let attached = Attached::Run {
        command: words.map(Into::into).collect(),
        cgroup: None,
    };
    if let Err(error) = post.register(attached, format!("run-{}", std::process::id())) {
        let text = format!("'ebb status' will not list it: {}", describe(&error));
        let _ = line.say(&FromKeeper::Notice { text });
    }
}

struct Life<'a> {
    post: Post<UserHeld>,
    line: &'a mut KeeperEnd,
    command: Pid,
    has_ended: bool,
}

impl Life<'_> {
    /// Until the last process has ended, or the starter was killed.
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
            for text in self.post.held().take_notices() {
                self.say(&FromKeeper::Notice { text });
            }
            if self.is_told_to_end(signals)? || !self.reap() {
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
    fn reap(&mut self) -> bool {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        loop {
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::StillAlive) => return true,
                // SIGSTOP is sent by a program that continues it later by itself.
                Ok(WaitStatus::Stopped(pid, signal)) => {
                    if pid == self.command && signal != Signal::SIGSTOP {
                        let signal = signal as i32;
                        self.say(&FromKeeper::Stopped { signal });
                    }
                }
                Ok(status) => self.note_end(status),
                Err(nix::Error::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn note_end(&mut self, status: WaitStatus) {
        if self.has_ended || status.pid() != Some(self.command) {
            return;
        }
        if let Some(status) = shell_status(status) {
            self.has_ended = true;
            let left = ebb_host::descendants_of(std::process::id());
            let summary = Summary {
                processes_left: reachable(&left),
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
        let owner = ebb_host::owner_of(**pid);
        own.is_root() || owner.is_ok_and(|owner| owner == own.as_raw())
    };
    pids.iter().filter(is_reachable).count()
}
