// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The guardian: lifts the limits when the governor has died or is silent.

use std::os::fd::AsRawFd;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setpgid};

use super::journal::{self, GovernorEnd, Known};
use super::{UserRun, governor};
use crate::protocol::FromKeeper;
use crate::starter::KeeperEnd;

/// `ebb run` may be stopped while it is told of the end.
pub const SAID_WITHIN: Duration = Duration::from_secs(1);

/// The whole life of the guardian; answers its exit status.
pub fn live(
    run: &UserRun<'_>,
    mut line: KeeperEnd,
    of_governor: KeeperEnd,
    group: Pid,
    mask: SigSet,
) -> i32 {
    match guard(run, &mut line, of_governor, group, mask) {
        Ok(()) => 0,
        Err(error) => {
            let cause = format!("{error:#}");
            let _ = line.say(&FromKeeper::Refused { cause });
            1
        }
    }
}

fn guard(
    run: &UserRun<'_>,
    line: &mut KeeperEnd,
    of_governor: KeeperEnd,
    group: Pid,
    mask: SigSet,
) -> Result<()> {
    // Keys at the terminal are not for us.
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).context("setpgid")?;
    nix::sys::prctl::set_child_subreaper(true).context("PR_SET_CHILD_SUBREAPER")?;
    let govern = move |journal| governor::live(run, of_governor, journal, group, mask);
    let (known, end) = watch_over(govern, close_standard_streams)?;
    // Also after an orderly end: what is left of the command is ours by now.
    ebb_sockets::lift_limits_of_descendants();
    if matches!(end, Ok(WaitStatus::Exited(_, 0))) {
        return Ok(());
    }
    outlive(line, known.command)
}

/// Starts a governor and watches over it: whatever ends it, its limits are lifted when this
/// returns. Answers what was known of it, and how it ended.
///
/// Must be called while this process has a single thread. The process is prepared by
/// `settle` once the governor has been started.
pub fn watch_over(
    govern: impl FnOnce(GovernorEnd) -> i32,
    settle: impl FnOnce() -> Result<()>,
) -> Result<(Known, nix::Result<WaitStatus>)> {
    name_process(c"ebb-guardian");
    let (theirs, ours) = journal::lay()?;
    // SAFETY: there is a single thread.
    let governor = match unsafe { fork() }.context("fork")? {
        ForkResult::Child => {
            drop(ours);
            std::process::exit(govern(theirs));
        }
        ForkResult::Parent { child } => child,
    };
    // What the governor alone is to have open.
    drop((theirs, govern));
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None).context("sigprocmask")?;
    settle()?;
    let known = ours.watch()?;
    known.holds.lift();
    Ok((known, waitpid(governor, None)))
}

/// Waits for the command in the governor's place.
fn outlive(line: &mut KeeperEnd, command: Option<Pid>) -> Result<()> {
    let text = "the policy ended before the command did: its governor was killed".to_owned();
    // `ebb run` may have ended, too.
    let _ = line.say(&FromKeeper::Notice { text });
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == command => {
                if let Some(status) = governor::shell_status(status) {
                    let summary = None;
                    let _ = line.say(&FromKeeper::Ended { status, summary });
                }
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return Ok(line.flush_within(SAID_WITHIN)?),
        }
    }
}

/// What `ps` and `top` show.
pub fn name_process(name: &std::ffi::CStr) {
    // SAFETY: the name is a C string of less than 16 bytes; it is only a name if it fails.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Whoever waits for the end of our output must not wait for us.
pub fn close_standard_streams() -> Result<()> {
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .context("/dev/null")?;
    for standard in 0..3 {
        // SAFETY: replaces a standard stream; no object here owns those descriptors.
        nix::errno::Errno::result(unsafe { libc::dup2(null.as_raw_fd(), standard) })
            .context("dup2")?;
    }
    std::env::set_current_dir("/").context("/")
}
