// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command of an ordinary user's that the service holds under the policies. `ebb run` itself
//! belongs to what is held, and so does whatever it forks: nothing is moved, nobody else starts it.

use nix::unistd::Pid;

use super::{Outcome, Run};
use crate::ebbd;
use crate::error::{Error, Result};
use crate::policies::Policies;
use crate::process::Start;
use crate::protocol::Held;
use crate::registry::{Attached, Record, Registry};
use crate::signals::Signals;
use crate::whose::Whose;

/// Has it held; returns when the policies are active.
pub(super) fn start(run: &Run<'_>, policies: &Policies) -> Result<Held> {
    // What it makes would be another user's, which nobody has held but that.
    if let Some(file) = ebb_sockets::changes_user(&run.words[0]) {
        return Err(Error::OtherPrivileges { file });
    }
    refuse_what_is_held_by_hand()?;
    ebbd::hold_command(run.words, policies, run.is_watched)
}

/// Runs the command.
pub(super) fn execute(run: &Run<'_>, held: &Held, tell: &dyn Fn(&str)) -> Result<Outcome> {
    held.notices.iter().for_each(|notice| tell(notice));
    let signals = Signals::receive()?;
    let start = Start {
        mask: Some(signals.original_mask()),
        ..run.start()
    };
    let child = match start.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = ebbd::finish(&held.id);
            return Ok(Outcome::NotStarted(error));
        }
    };
    let status = child.wait(&signals, |pid| is_ours(pid, held))?;
    let summary = match ebbd::finish(&held.id) {
        Ok(summary) => Some(Box::new(summary)),
        // The command has ended all the same, and its status is what counts.
        Err(error) => {
            tracing::info!("the service does not answer: {error}");
            tell("the policy ended before the command did: ebbd has ended, or was started anew");
            None
        }
    };
    Ok(Outcome::Ended { status, summary })
}

/// Whether a process is part of the command; the service knows orphans.
fn is_ours(pid: Pid, held: &Held) -> bool {
    let pid = pid.as_raw().cast_unsigned();
    ebb_host::descendants_of(std::process::id()).contains(&pid)
        || ebbd::find(&Whose::Process(pid)).is_some_and(|record| record.name() == held.id)
}

/// Two backends on one connection would undo each other's limits.
fn refuse_what_is_held_by_hand() -> Result<()> {
    let records = Registry::open().and_then(|registry| registry.records());
    let own = std::process::id();
    let holds_us = |record: &Record| {
        let above = match record.attached {
            Attached::Run { .. } => record.keeper_pid,
            Attached::Process { pid } => pid,
            _ => return false,
        };
        ebb_host::descendants_of(above).contains(&own)
    };
    match records.unwrap_or_default().into_iter().find(holds_us) {
        None => Ok(()),
        Some(record) => Err(Error::AlreadyAttached {
            cause: format!("it is part of what is attached already: {record}"),
        }),
    }
}
