// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The guardian: lifts the limits when the governor has died or is silent.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setpgid};

use super::words::{Speaker, Word};
use super::{UserRun, governor};
use crate::signals::wait_readable;

/// The governor lets hear of itself so often.
pub const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Past this silence the limits are lifted.
const SILENCE: Duration = Duration::from_millis(1_500);

/// The whole life of the guardian; answers its exit status.
pub fn live(run: &UserRun<'_>, speaker: &Speaker, group: Pid, mask: SigSet) -> i32 {
    match guard(run, speaker, group, mask) {
        Ok(()) => 0,
        Err(error) => {
            speaker.say(&Word::Failed {
                cause: format!("{error:#}"),
            });
            1
        }
    }
}

fn guard(run: &UserRun<'_>, speaker: &Speaker, group: Pid, mask: SigSet) -> Result<()> {
    // Keys at the terminal are not for us.
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).context("setpgid")?;
    name_process(c"ebb-guardian");
    nix::sys::prctl::set_child_subreaper(true).context("PR_SET_CHILD_SUBREAPER")?;
    let (ours, theirs) = UnixStream::pair().context("socketpair")?;
    // SAFETY: there is a single thread.
    let governor = match unsafe { fork() }.context("fork")? {
        ForkResult::Child => {
            drop(ours);
            std::process::exit(governor::live(run, speaker, theirs, group, mask));
        }
        ForkResult::Parent { child } => child,
    };
    drop(theirs);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None).context("sigprocmask")?;
    close_standard_streams()?;
    let command = watch(&ours)?;
    let end = waitpid(governor, None);
    // Also after an orderly end: what is left of the command is ours by now.
    ebb_sockets::lift_limits_of_descendants();
    if matches!(end, Ok(WaitStatus::Exited(_, 0))) {
        return Ok(());
    }
    outlive(speaker, command);
    Ok(())
}

/// Listens to the governor until it has gone; answers the command's number.
fn watch(mut governor: &UnixStream) -> Result<Option<Pid>> {
    let mut command = None;
    governor.set_nonblocking(true)?;
    let mut is_silent = false;
    loop {
        wait_readable(&[governor.as_fd()], Some(SILENCE))?;
        let mut word = [0_u8; 4];
        match governor.read(&mut word) {
            Ok(0) => return Ok(command),
            Ok(_) => {
                is_silent = false;
                let pid = i32::from_ne_bytes(word);
                if pid > 0 {
                    command = Some(Pid::from_raw(pid));
                }
            }
            // Stopped, or starved: once it goes on it sets its limits again.
            Err(_) if !is_silent => {
                is_silent = true;
                ebb_sockets::lift_limits_of_descendants();
            }
            Err(_) => {}
        }
    }
}

/// What the governor says: the command's number, or 0.
pub fn beat(mut guardian: &UnixStream, command: Option<Pid>) {
    let number = command.map_or(0, Pid::as_raw);
    // Without a guardian the governor does what it can.
    let _ = guardian.write(&number.to_ne_bytes());
}

/// Waits for the command in the governor's place.
fn outlive(speaker: &Speaker, command: Option<Pid>) {
    speaker.say(&Word::Notice {
        text: "the policy ended before the command did: its governor was killed".into(),
    });
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == command => {
                if let Some(status) = governor::shell_status(status) {
                    let summary = None;
                    speaker.say(&Word::Ended { status, summary });
                }
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return,
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
