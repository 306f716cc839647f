// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, killpg, signal};
use nix::unistd::Pid;

use crate::LabError;

/// How long the server's command may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the command with the terminal, as a shell would, and answers its status.
pub(super) fn run_in_foreground(mut command: Command) -> Result<u8, LabError> {
    // The terminal's signals are for the command; Ebb stays to take the link down. They
    // are restored for the command, which else would inherit that they are ignored.
    let ignored = Ignored::new(&[Signal::SIGINT, Signal::SIGQUIT])?;
    die_with_parent(&mut command, Signal::SIGHUP);
    let mut child = spawn(&mut command)?;
    let status = child.wait();
    drop(ignored);
    let status = status
        .map_err(|error| LabError::system("wait for the command", error, "this is a defect"))?;
    Ok(exit_status(status))
}

/// A command that runs until it is told to end, with all that it started.
pub(super) struct Background {
    child: Child,
    line: String,
}

impl Background {
    /// Starts the command in a process group of its own, away from the terminal's input.
    pub(super) fn start(mut command: Command, line: &str) -> Result<Self, LabError> {
        command.process_group(0).stdin(Stdio::null());
        die_with_parent(&mut command, Signal::SIGTERM);
        Ok(Self {
            child: spawn(&mut command)?,
            line: line.to_owned(),
        })
    }

    /// Asks the group to end, and kills it when it does not.
    pub(super) fn end(mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            eprintln!("--server `{}` had ended by itself: {status}", self.line);
        }
        let group = Pid::from_raw(self.child.id().cast_signed());
        // A group without processes is what is wanted.
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while killpg(group, None).is_ok() && Instant::now() < deadline {
            let _ = self.child.try_wait();
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Result<Child, LabError> {
    command.spawn().map_err(|error| {
        let action = format!("run {}", command.get_program().display());
        LabError::system(action, error, "is it installed, and in $PATH?")
    })
}

fn exit_status(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// Sends a signal to the command when Ebb dies: its link is gone then.
fn die_with_parent(command: &mut Command, signal: Signal) {
    // SAFETY: prctl(2) and signal(2) are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(signal)?;
            for ignored in [Signal::SIGINT, Signal::SIGQUIT] {
                nix::sys::signal::signal(ignored, SigHandler::SigDfl)?;
            }
            io::Result::Ok(())
        });
    }
}

/// Signals that are ignored until this is dropped.
struct Ignored(Vec<(Signal, SigHandler)>);

impl Ignored {
    fn new(signals: &[Signal]) -> Result<Self, LabError> {
        let ignore = |which: &Signal| {
            // SAFETY: to ignore a signal runs no code of ours.
            let before = unsafe { signal(*which, SigHandler::SigIgn) };
            before
                .map(|before| (*which, before))
                .map_err(|errno| LabError::system("ignore a signal", errno, "this is a defect"))
        };
        signals
            .iter()
            .map(ignore)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        for (which, before) in &self.0 {
            // SAFETY: this was the disposition before, so its handler is valid.
            let _ = unsafe { signal(*which, *before) };
        }
    }
}
