// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The guardian of a command: starts the governor, and waits for the command in its place should
//! that be killed.

use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, setpgid};

use super::{Run, governor};
use crate::describe::describe;
use crate::detached::leave_streams_and_directory;
use crate::error::{Result, Trying};
use crate::guardian::watch_over;
use crate::policies::Policies;
use crate::process::shell_status;
use crate::protocol::FromKeeper;
use crate::starter::KeeperEnd;

/// The starter may be stopped while it is told of the end.
pub(super) const SAID_WITHIN: Duration = Duration::from_secs(1);

/// What the governor is to do.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) policies: &'a Policies,
    /// The process group that the command is to be in.
    pub(super) group: Pid,
    /// The signal mask that it is to start with.
    pub(super) mask: SigSet,
}

/// The whole life of the guardian; answers its exit status.
pub(super) fn live(order: &Order<'_>, mut line: KeeperEnd, of_governor: KeeperEnd) -> i32 {
    match guard(order, &mut line, of_governor) {
        Ok(()) => 0,
        Err(error) => {
            let cause = describe(&error);
            let _ = line.say(&FromKeeper::Refused { cause });
            1
        }
    }
}

fn guard(order: &Order<'_>, line: &mut KeeperEnd, of_governor: KeeperEnd) -> Result<()> {
    // Keys at the terminal are not for us.
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).trying("setpgid")?;
    prctl::set_child_subreaper(true).trying("PR_SET_CHILD_SUBREAPER")?;
    let govern = |guardian| governor::live(order, of_governor, guardian);
    let (known, end) = watch_over(govern, leave_streams_and_directory)?;
    if matches!(end, Ok(WaitStatus::Exited(_, 0))) {
        // It has given everything back itself.
        return Ok(());
    }
    // What is left of the command is ours by now, also what the governor could not tell of.
    ebb_sockets::lift_limits_of_descendants(known.holds());
    outlive(line, known.command)
}

/// Waits for the command in the governor's place.
fn outlive(line: &mut KeeperEnd, command: Option<Pid>) -> Result<()> {
    let text = "the policy ended before the command did: its governor was killed".to_owned();
    // `ebb run` may have ended, too.
    let _ = line.say(&FromKeeper::Notice { text });
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == command => {
                if let Some(status) = shell_status(status) {
                    let summary = None;
                    let _ = line.say(&FromKeeper::Ended { status, summary });
                }
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return line.flush_within(SAID_WITHIN),
        }
    }
}
