// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keeper: a process of its own that holds policies on what runs already.
//!
//! ```text
//! ebb-keeper                    kernel backend
//! ebb-guardian ── ebb-keeper    user backend
//! ```
//! `ebb attach` forks it off before anything else. It takes requests (`ebb detach`), and ends
//! when what it is attached to has gone. Nothing that it governs is a child of it: whatever
//! happens to it, everything runs on, and the limits are lifted by the programs in the kernel
//! when the lease is over, or by the guardian, who knows of each before it is set.

use nix::unistd::geteuid;

use crate::backend::Backend;
use crate::describe::describe;
use crate::detached;
use crate::ebbd;
use crate::error::{Error, Result};
use crate::guardian::{Guardian, watch_over};
use crate::held::Held;
use crate::kernel::KernelHeld;
use crate::open_files::OpenFiles;
use crate::policies::Policies;
use crate::post::Post;
use crate::protocol::FromKeeper;
use crate::signals::Signals;
use crate::starter::{KeeperEnd, Started, StarterEnd, lay, say_ready};
use crate::user::UserHeld;
use crate::whose::Whose;

/// Puts policies on connections, in this process.
///
/// *Errors:* as [`KernelHeld::hold`] and [`UserHeld::hold`].
pub fn hold(
    backend: Backend,
    whose: &Whose,
    policies: &Policies,
    guardian: Option<Guardian>,
) -> Result<Box<dyn Held>> {
    Ok(match backend {
        Backend::Kernel => Box::new(KernelHeld::hold(whose, policies)?),
        Backend::User => Box::new(UserHeld::hold(whose, policies, guardian)?),
        Backend::Gateway => return Err(Error::ByInterface),
    })
}

/// Forks a keeper off, or, with the kernel backend for who is not root, has the service be one; it
/// holds the policies until what it is for has gone, or somebody asks it
/// to let go; returns when they are active, with what people should know. Call it while there is a
/// single thread.
///
/// *Errors:* [`Error::AlreadyAttached`]; [`Error::CannotKeep`]; [`Error::KeeperDied`].
pub fn keep(backend: Backend, whose: &Whose, policies: &Policies) -> Result<Vec<String>> {
    whose.check()?;
    if backend == Backend::Kernel && !geteuid().is_root() {
        return ebbd::hold_whose(whose, policies).map(|held| held.notices);
    }
    let started = fork_off(|line| match backend {
        Backend::Gateway => Err(Error::ByInterface),
        Backend::Kernel => live(line, || {
            let held = KernelHeld::hold(whose, policies)?;
            registered(Box::new(held), whose)
        }),
        Backend::User => {
            let govern = |guardian| {
                detached::name_process(c"ebb-keeper");
                // What is governed late is better than who is told to wait longer than it takes.
                let _ = nix::sys::prctl::set_timerslack(50_000);
                let kept = live(line, || {
                    let held = UserHeld::hold(whose, policies, Some(guardian))?;
                    registered(Box::new(held), whose)
                });
                i32::from(kept.is_err())
            };
            watch_over(govern, || Ok(())).map(drop)
        }
    });
    started.map(|(_, started)| started.notices)
}

/// Forks a keeper off that lives so, and waits until it has started.
pub(crate) fn fork_off(
    live: impl FnOnce(KeeperEnd) -> Result<()>,
) -> Result<(StarterEnd, Started)> {
    let (mut ours, theirs) = lay()?;
    if detached::fork()? {
        drop(ours);
        // What it cannot open it cannot hold; that is counted there.
        let _ = OpenFiles::raise();
        std::process::exit(i32::from(live(theirs).is_err()));
    }
    drop((theirs, live));
    let started = ours.wait_for_start()?;
    Ok((ours, started))
}

/// The whole life of a keeper.
pub(crate) fn live<H: Held + ?Sized>(
    mut line: KeeperEnd,
    begin: impl FnOnce() -> Result<Post<H>>,
) -> Result<()> {
    // Before what is held starts a thread, so that it inherits the mask.
    let signals = Signals::receive()?;
    let mut post = match begin() {
        Ok(post) => post,
        Err(error) => return line.say(&refusal(&error)),
    };
    // What exists already is under the policy when the starter goes on.
    post.held().work()?;
    let notices = post.held().take_notices();
    say_ready(&mut line, None, notices)?;
    drop(line);
    post.work_to_the_end(&signals)
}

fn registered<H: Held + ?Sized>(held: Box<H>, whose: &Whose) -> Result<Post<H>> {
    let mut post = Post::new(held);
    // What was attached must be detachable.
    post.register(whose.attached(), whose.id())?;
    Ok(post)
}

pub(crate) fn refusal(error: &Error) -> FromKeeper {
    let cause = describe(error);
    match error {
        Error::Kernel(
            ebb_kernel::Error::AlreadyAttached { .. } | ebb_kernel::Error::OtherVersion { .. },
        ) => FromKeeper::AlreadyAttached { cause },
        Error::Kernel(error) if !error.is_for_want() => FromKeeper::Refused {
            cause: explain(cause),
        },
        _ => FromKeeper::Refused { cause },
    }
}

/// Why something did not work: what this machine lacks, where it lacks something.
fn explain(cause: String) -> String {
    match ebb_kernel::features::probe().missing().next() {
        Some(missing) => format!(
            "{}: {}; {} (the system said: {cause}; 'ebb doctor' tells more)",
            missing.name, missing.detail, missing.remedy
        ),
        None => cause,
    }
}
