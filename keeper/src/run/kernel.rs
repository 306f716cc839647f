// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command in a cgroup of its own, which a keeper holds under the policies.

use std::time::Duration;

use ebb_kernel::cgroup::Cgroup;
use nix::unistd::Pid;

use super::{Outcome, Run};
use crate::error::Result;
use crate::held::Held;
use crate::keeper::{fork_off, refusal};
use crate::kernel::KernelHeld;
use crate::place::make_cgroup;
use crate::policies::Policies;
use crate::post::Post;
use crate::process::Start;
use crate::protocol::FromKeeper;
use crate::registry::Attached;
use crate::signals::Signals;
use crate::starter::{KeeperEnd, Starter, StarterEnd, look_at_starter, say_ready};
use crate::wait::Wait;

/// The starter waits for what came of it.
const SAID_WITHIN: Duration = Duration::from_secs(1);

/// Policies that are active on a cgroup.
#[derive(Debug)]
pub(super) struct Active {
    line: StarterEnd,
    cgroup: Cgroup,
    notices: Vec<String>,
}

/// Forks the keeper off; returns when the policies are active.
pub(super) fn start(run: &Run<'_>, policies: &Policies) -> Result<Active> {
    let (line, started) = fork_off(|line| live(line, run, policies))?;
    Ok(Active {
        line,
        cgroup: Cgroup::at(started.cgroup.unwrap_or_default())?,
        notices: started.notices,
    })
}

/// Runs the command in the cgroup that is held.
pub(super) fn execute(run: &Run<'_>, active: Active, tell: &dyn Fn(&str)) -> Result<Outcome> {
    active.notices.iter().for_each(|notice| tell(notice));
    let (line, cgroup) = (active.line, active.cgroup);
    let signals = Signals::receive()?;
    let start = Start {
        cgroup_procs: Some(cgroup.procs_file()?),
        mask: Some(signals.original_mask()),
        ..run.start()
    };
    let child = match start.spawn() {
        Ok(child) => child,
        Err(error) => {
            // The keeper removes the cgroup.
            let _ = line.finish();
            return Ok(Outcome::NotStarted(error));
        }
    };
    let is_ours = |pid: Pid| {
        Cgroup::of_process(pid.as_raw().cast_unsigned())
            .is_ok_and(|of_sender| of_sender.path().starts_with(cgroup.path()))
    };
    let status = child.wait(&signals, is_ours)?;
    let summary = match line.finish() {
        Ok(summary) => Some(Box::new(summary)),
        // The command has ended all the same, and its status is what counts.
        Err(error) => {
            tracing::info!("the keeper does not answer: {error}");
            tell("the policy ended before the command did: its keeper was killed");
            None
        }
    };
    Ok(Outcome::Ended { status, summary })
}

/// A keeper of a command's cgroup, which goes when its last process does.
struct Keeper {
    post: Post<KernelHeld>,
    // Dropped after what is attached to it.
    cgroup: OwnCgroup,
}

struct OwnCgroup(Cgroup);

/// The whole life of the keeper.
fn live(mut line: KeeperEnd, run: &Run<'_>, policies: &Policies) -> Result<()> {
    // Before what is held starts a thread, so that it inherits the mask.
    let signals = Signals::receive()?;
    let mut keeper = match Keeper::new(run, policies) {
        Ok(keeper) => keeper,
        Err(error) => return line.say(&refusal(&error)),
    };
    let cgroup = Some(keeper.cgroup.0.path().to_path_buf());
    let notices = keeper.post.held().take_notices();
    say_ready(&mut line, cgroup, notices)?;
    keeper.serve(&mut line, &signals)?;
    keeper.outlive(&signals)
}

impl Keeper {
    fn new(run: &Run<'_>, policies: &Policies) -> Result<Self> {
        let cgroup = OwnCgroup(make_cgroup()?);
        let mut post = Post::new(Box::new(KernelHeld::hold_command(&cgroup.0, policies)?));
        if run.is_watched {
            post.watch();
        }
        let command = run.words.iter().map(|word| word.to_string_lossy());
        let attached = Attached::Run {
            command: command.map(Into::into).collect(),
            cgroup: Some(cgroup.0.path().to_path_buf()),
        };
        // A command can do without being listed.
        if let Err(error) = post.register(attached, format!("run-{}", std::process::id())) {
            tracing::debug!("{error}");
        }
        Ok(Self { post, cgroup })
    }

    /// Attends to the starter until its command has ended, or until it died.
    fn serve(&mut self, line: &mut KeeperEnd, signals: &Signals) -> Result<()> {
        loop {
            let mut wait = Wait::new();
            wait.readable(signals);
            line.add_to(&mut wait);
            self.post.work(wait)?;
            if signals.say_that_it_is_over()? {
                self.post.release()?;
            }
            match look_at_starter(line) {
                Starter::Waits => {}
                // Killed, for it would have said so: nothing may stay throttled on its account.
                Starter::HasGone => return self.post.release(),
                Starter::IsDone => return self.finish(line),
            }
        }
    }

    /// If the command left no processes, nothing of it is left when the starter goes on.
    fn finish(&mut self, line: &mut KeeperEnd) -> Result<()> {
        let summary = self.post.summary();
        let mut released = Ok(());
        if summary.processes_left == 0 {
            released = self.post.release();
            // Fails if somebody has moved in just now: it goes with them then.
            let _ = self.cgroup.0.remove();
        }
        // What came of it is said all the same: the programs let go what this could not reach.
        line.say(&FromKeeper::Summary(Box::new(summary)))?;
        line.flush_within(SAID_WITHIN)?;
        released
    }

    /// Stays with what the command left: the cgroup is ours to remove.
    fn outlive(&mut self, signals: &Signals) -> Result<()> {
        let is_empty = |cgroup: &Cgroup| cgroup.processes().map_or(true, |all| all.is_empty());
        while !is_empty(&self.cgroup.0) {
            let mut wait = Wait::new();
            wait.readable(signals);
            self.post.work(wait)?;
            if signals.say_that_it_is_over()? {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        if self.0.processes().is_ok_and(|left| left.is_empty()) {
            // Somebody may have moved in just now: then it is theirs.
            let _ = self.0.remove();
        }
    }
}
