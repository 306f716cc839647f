// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts a command inside a cgroup and waits for it as a shell expects of its job.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{self, SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::account::Account;
use crate::error::{Result, Trying};
use crate::open_files::OpenFiles;
use crate::signals::{self, Signals};
use crate::wait::Wait;

/// The command was found but cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such command.
pub const NOT_FOUND: u8 = 127;

/// A command to start.
#[derive(Debug)]
pub struct Start<'a> {
    /// Program and arguments.
    pub words: &'a [OsString],
    /// `cgroup.procs` of the cgroup that it is to live in, opened for writing.
    pub cgroup_procs: Option<File>,
    /// Whom it is to run as, if not as we do.
    pub account: Option<&'a Account>,
    /// The signal mask that it is to start with, if not ours.
    pub mask: Option<SigSet>,
    /// The process group that it is to be in, if not ours.
    pub process_group: Option<Pid>,
    /// Whether no program file gives it, or what it starts, other privileges (PR_SET_NO_NEW_PRIVS).
    pub no_new_privileges: bool,
    /// How many files it may have open, if not as many as we.
    pub open_files: Option<OpenFiles>,
}

/// A command that cannot be started.
#[derive(Debug)]
pub struct NotStarted {
    /// The exit status that shells give to this.
    pub status: u8,
    /// What the system said.
    pub cause: io::Error,
}

/// A running command.
#[derive(Debug, Clone, Copy)]
pub struct Child {
    pid: Pid,
}

impl Start<'_> {
    /// Starts the command: in its cgroup before its first instruction.
    pub fn spawn(self) -> Result<Child, NotStarted> {
        let mut command = self.into_command();
        match command.spawn() {
            Ok(child) => Ok(Child {
                pid: Pid::from_raw(child.id().cast_signed()),
            }),
            Err(cause) => Err(NotStarted::from(cause)),
        }
    }

    /// Becomes the command; returns only where that fails.
    pub fn exec(self) -> NotStarted {
        NotStarted::from(self.into_command().exec())
    }

    fn into_command(self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if let Some(group) = self.process_group {
            command.process_group(group.as_raw());
        }
        if let Some(account) = self.account {
            account.set_environment(&mut command);
        }
        let (cgroup_procs, mask, open_files) = (self.cgroup_procs, self.mask, self.open_files);
        let (account, no_new_privileges) = (self.account.cloned(), self.no_new_privileges);
        // SAFETY: between fork and exec only system calls on prepared data are made.
        unsafe {
            command.pre_exec(move || {
                if let Some(procs) = &cgroup_procs {
                    nix::unistd::write(procs, b"0")?;
                }
                if let Some(open_files) = open_files {
                    open_files.restore()?;
                }
                if let Some(account) = &account {
                    account.become_it()?;
                }
                if no_new_privileges {
                    prctl::set_no_new_privs()?;
                }
                if let Some(mask) = &mask {
                    mask.thread_set_mask()?;
                }
                Ok(())
            });
        }
        command
    }
}

impl From<io::Error> for NotStarted {
    fn from(cause: io::Error) -> Self {
        let status = match cause.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_EXECUTABLE,
        };
        Self { status, cause }
    }
}

impl Child {
    /// A command that somebody else started, and that became ours when they died.
    pub fn adopted(pid: Pid) -> Self {
        Self { pid }
    }

    /// Its number.
    pub fn pid(self) -> Pid {
        self.pid
    }

    /// Waits until the command has ended; answers its status as a shell would give it.
    ///
    /// Signals are passed on, but those that `is_ours` says a process of the command's own sent;
    /// when the command is stopped at the terminal, so are we.
    pub fn wait(self, signals: &Signals, is_ours: impl Fn(Pid) -> bool) -> Result<u8> {
        loop {
            // Signals first: what arrived before the command stopped is not to be lost.
            while let Some(arrived) = signals.next()? {
                if arrived.is_to_be_passed_on(&is_ours) {
                    self.send(arrived.signal);
                }
            }
            match self.poll_status()? {
                Some(Seen::Ended(status)) => return Ok(status),
                Some(Seen::Stopped(signal)) => signals::stop_like(signal)?,
                None => Wait::new().readable(signals).wait()?,
            }
        }
    }

    fn send(self, signal: Signal) {
        tracing::debug!("passing {signal} on to process {}", self.pid);
        // It may have ended just now; its status tells that in a moment.
        let _ = signal::kill(self.pid, signal);
    }

    fn poll_status(self) -> Result<Option<Seen>> {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        loop {
            return Ok(match waitpid(self.pid, Some(flags)) {
                // SIGSTOP is sent by a program that continues it later by itself.
                Ok(WaitStatus::Stopped(_, signal)) if signal != Signal::SIGSTOP => {
                    Some(Seen::Stopped(signal))
                }
                Ok(status) => shell_status(status).map(Seen::Ended),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error).trying("waiting for the command"),
            });
        }
    }
}

/// The exit status as a shell would give it; none: it has not ended.
pub(crate) fn shell_status(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, status) => u8::try_from(status & 0xff).ok(),
        WaitStatus::Signaled(_, signal, _) => u8::try_from(128 + signal as i32).ok(),
        _ => None,
    }
}

enum Seen {
    Ended(u8),
    Stopped(Signal),
}
