// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, kill, signal};

use crate::LabError;
use crate::namespace::NamespaceHandle;

/// How long programs may take to end before they are killed.
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

/// Starts a command in a process group of its own, away from the terminal's input.
pub(super) fn run_in_background(mut command: Command) -> Result<Child, LabError> {
    command.process_group(0).stdin(Stdio::null());
    die_with_parent(&mut command, Signal::SIGTERM);
    spawn(&mut command)
}

/// Asks every process in the namespace to end, daemons too, and kills those that do not.
pub(super) fn end_all(namespace: &NamespaceHandle) -> Result<(), LabError> {
    let tell_all = |signal| -> Result<bool, LabError> {
        let processes = namespace.processes()?;
        for process in &processes {
            // One that has ended by now is what is wanted.
            let _ = kill(*process, signal);
        }
        Ok(!processes.is_empty())
    };
    let deadline = Instant::now() + PATIENCE;
    let mut are_some_left = tell_all(Some(Signal::SIGTERM))?;
    while are_some_left && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
        are_some_left = tell_all(None)?;
    }
    if are_some_left {
        tell_all(Some(Signal::SIGKILL))?;
    }
    Ok(())
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
