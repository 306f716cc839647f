// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach` with the user backend: a keeper that governs what runs already, and its
//! guardian.
//!
//! ```text
//! ebb-guardian ── ebb-keeper        the process, the cgroup, whoever uses the port
//! ```
//! Neither is a parent of what is governed, so both only hear of it through /proc. The
//! guardian knows each connection before the keeper limits it, and what it had before.

use std::time::{Duration, Instant};

use crate::detached;
use crate::registry::Target;
use crate::signals::Signals;
use anyhow::Result;
use ebb_sockets::Root;

use crate::describe::describe;
use crate::keeper::is_told_to_end;
use crate::policies::Policies;
use crate::protocol::FromKeeper;
use crate::starter::{KeeperEnd, lay};
use crate::user_run::guardian::{name_process, watch_over};
use crate::user_run::journal::GovernorEnd;
use crate::user_run::post::Post;
use crate::wait::Wait;

/// How often the keeper looks whether what it governs is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is to be governed, and how it is listed.
#[derive(Debug)]
pub struct UserDuty {
    /// Whose connections.
    pub root: Root,
    /// As `ebb status` shows it.
    pub target: Target,
    /// Names the record.
    pub id: String,
}

/// Forks a guardian and a keeper off and waits until the policies are active, or cannot be.
///
/// Must be called while this process has a single thread.
pub fn start(duty: UserDuty, policies: &Policies) -> Result<()> {
    check(&duty.root)?;
    let (mut ours, theirs) = lay()?;
    if detached::fork()? {
        drop(ours);
        let kept = watch_over(
            |guardian| i32::from(keep(theirs, guardian, duty, policies).is_err()),
            || Ok(()),
        );
        std::process::exit(i32::from(kept.is_err()));
    }
    drop(theirs);
    ours.wait_for_start()?;
    Ok(())
}

/// Says why it cannot be governed, before anything is started.
fn check(root: &Root) -> Result<()> {
    match root {
        Root::Process(pid) => Ok(ebb_sockets::probe_process(*pid)?),
        _ => Ok(ebb_sockets::probe()?),
    }
}

/// The whole life of a keeper.
fn keep(
    mut line: KeeperEnd,
    guardian: GovernorEnd,
    duty: UserDuty,
    policies: &Policies,
) -> Result<()> {
    name_process(c"ebb-keeper");
    let signals = Signals::receive()?;
    // What is governed late is better than who is told to wait longer than it takes.
    let _ = nix::sys::prctl::set_timerslack(50_000);
    let post = Post::new(duty.root, policies, guardian).and_then(|mut post| {
        post.register(duty.target, duty.id)?;
        Ok(post)
    });
    let mut post = match post {
        Ok(post) => post,
        Err(error) => {
            let cause = describe(error.as_ref());
            return Ok(line.say(&FromKeeper::Refused { cause })?);
        }
    };
    // What exists already is under the policy when `ebb attach` returns.
    post.engine().tick();
    line.say(&FromKeeper::Ready { cgroup: None })?;
    let mut look_due = Instant::now() + LOOK_EVERY;
    while !post.is_detached() && !is_told_to_end(&signals)? {
        let mut wait = Wait::new();
        wait.readable(&signals);
        post.work(wait)?;
        for text in post.engine().take_notices() {
            tracing::info!("{text}");
        }
        if Instant::now() >= look_due {
            look_due = Instant::now() + LOOK_EVERY;
            if !post.engine().is_needed() {
                break;
            }
        }
    }
    Ok(())
}
