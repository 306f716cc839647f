// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keeper: a process of its own that holds a policy attached, and nothing else.
//!
//! `ebb run` and `ebb attach` fork it off before anything else. It loads the programs, renews
//! their lease, takes requests (`ebb detach`), and ends when what it is attached to has gone.
//! A command under `ebb run` is never its child: whatever happens to the keeper, the command
//! runs on, and the programs in the kernel let go when the lease is over.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::detached;
use crate::place::make_cgroup;
use crate::registry::{Record, Registration, Registry, Target};
use crate::signals::Signals;
use crate::summary::{Seen, Summary};
use crate::watch::Watch;
use anyhow::Result;
use ebb_algorithms::Policy;
use ebb_kernel::Selection;
use ebb_kernel::cgroup::Cgroup;
use ebb_sockets::Family;

use crate::describe::describe;
use crate::held::Held;
use crate::policies::Policies;
use crate::protocol::{FromKeeper, Part, Reply, Request, Switch};
use crate::starter::{KeeperEnd, Starter, StarterEnd, lay, look_at_starter};
use crate::switched::Switched;
use crate::wait::Wait;

/// `ebb run` waits for what came of it.
const SAID_WITHIN: Duration = Duration::from_secs(1);
/// How often the keeper looks whether anybody still needs it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a keeper is to do.
#[derive(Debug)]
pub enum Duty {
    /// Make a cgroup for a command and keep it under the policy.
    Run {
        /// The command's words, for messages.
        command: Vec<String>,
        /// Look at its connections now and then, for the account at the end.
        is_watched: bool,
    },
    /// Keep a process and its descendants under the policy.
    Process(u32),
    /// Keep everything in a cgroup under the policy.
    Cgroup(Cgroup),
}

/// Forks a keeper off and waits until the policy is active, or cannot be.
///
/// Must be called while this process has a single thread.
pub fn start(duty: Duty, policies: &Policies) -> Result<(StarterEnd, Option<PathBuf>)> {
    let (mut ours, theirs) = lay()?;
    if detached::fork()? {
        drop(ours);
        std::process::exit(i32::from(keep(theirs, duty, policies).is_err()));
    }
    drop(theirs);
    let cgroup = ours.wait_for_start()?;
    Ok((ours, cgroup))
}

/// The whole life of a keeper.
fn keep(mut line: KeeperEnd, duty: Duty, policies: &Policies) -> Result<()> {
    // Before the attachment's own thread starts, so that it inherits the mask.
    let signals = Signals::receive()?;
    let mut keeper = match Keeper::new(duty, policies) {
        Ok(keeper) => keeper,
        Err(error) => return Ok(line.say(&refusal(&error))?),
    };
    let cgroup = Some(keeper.cgroup.path().to_path_buf());
    line.say(&FromKeeper::Ready { cgroup })?;
    if keeper.is_for_run {
        keeper.serve_starter(&mut line, &signals)?;
    }
    while !keeper.is_over()? {
        keeper.wait(&signals, None)?;
        if is_told_to_end(&signals)? {
            break;
        }
    }
    Ok(())
}

struct Keeper {
    cgroup: Cgroup,
    /// The cgroup was made for a command, and goes when its last process does.
    is_for_run: bool,
    /// The policies; empty once it was asked to detach.
    held: Held,
    /// Processes that were switched by themselves.
    switched: Switched,
    /// Gone when nothing is attached any more.
    registration: Option<Registration>,
    /// The processes that it is for, if it is for some only.
    family: Option<Family>,
    looked: Instant,
    /// What is seen of the command's connections, if that is wanted.
    watch: Option<Watch>,
}

impl Keeper {
    fn new(duty: Duty, policies: &Policies) -> Result<Self> {
        let (cgroup, family, selection) = match &duty {
            Duty::Run { .. } => (make_cgroup()?, None, Selection::WholeCgroup),
            Duty::Cgroup(cgroup) => (cgroup.clone(), None, Selection::WholeCgroup),
            Duty::Process(pid) => {
                let family = Family::of(*pid)?;
                (
                    Cgroup::of_process(*pid)?,
                    Some(family),
                    Selection::Processes(vec![*pid]),
                )
            }
        };
        let is_for_run = matches!(duty, Duty::Run { .. });
        let is_watched = matches!(
            duty,
            Duty::Run {
                is_watched: true,
                ..
            }
        );
        let new = Self::attach(&cgroup, duty, policies, selection);
        if new.is_err() && is_for_run {
            // Why it cannot be attached matters more than a directory left over.
            let _ = cgroup.remove();
        }
        let (held, registration) = new?;
        Ok(Self {
            cgroup,
            is_for_run,
            held,
            switched: Switched::default(),
            registration,
            family,
            looked: Instant::now(),
            watch: is_watched.then(Watch::default),
        })
    }

    fn attach(
        cgroup: &Cgroup,
        duty: Duty,
        policies: &Policies,
        selection: Selection,
    ) -> Result<(Held, Option<Registration>)> {
        let is_run = matches!(duty, Duty::Run { .. });
        let held = Held::attach(cgroup, policies, selection, is_run)?;
        let (id, target) = match duty {
            Duty::Run { command, .. } => {
                let cgroup = cgroup.path().to_path_buf();
                let cgroup = Some(cgroup);
                let target = Target::Run { command, cgroup };
                (format!("run-{}", std::process::id()), target)
            }
            Duty::Process(pid) => (process_id(pid), Target::Process { pid }),
            Duty::Cgroup(cgroup) => {
                let path = cgroup.path().to_path_buf();
                (cgroup_id(&cgroup), Target::Cgroup { cgroup: path })
            }
        };
        let is_for_run = matches!(target, Target::Run { .. });
        let mut record = Record::new(target, id, &held.download_policy(), held.upload_policy());
        record.keeps_code_point = policies.keeps_code_point;
        match Registry::open().and_then(|runtime| runtime.register(record)) {
            Ok(registration) => Ok((held, Some(registration))),
            // A command can do without being listed; what was attached must be detachable.
            Err(_) if is_for_run => Ok((held, None)),
            Err(error) => Err(error.into()),
        }
    }

    /// Attends to `ebb run` until its command has ended, or until it died.
    fn serve_starter(&mut self, line: &mut KeeperEnd, signals: &Signals) -> Result<()> {
        loop {
            self.wait(signals, Some(line))?;
            if is_told_to_end(signals)? {
                self.detach()?;
            }
            match look_at_starter(line) {
                Starter::Waits => {}
                // Killed, for it would have said so: nothing may stay throttled on its account.
                Starter::HasGone => return self.detach(),
                Starter::IsDone => return self.finish_run(line),
            }
        }
    }

    /// If the command left no processes, nothing of it is left when `ebb run` returns.
    fn finish_run(&mut self, line: &mut KeeperEnd) -> Result<()> {
        let summary = self.summary();
        if summary.processes_left == 0 {
            self.detach()?;
            self.registration = None;
            // Fails if somebody has moved in just now: it goes with them then.
            let _ = self.cgroup.remove();
        }
        line.say(&FromKeeper::Summary(Box::new(summary)))?;
        Ok(line.flush_within(SAID_WITHIN)?)
    }

    fn wait(&mut self, signals: &Signals, line: Option<&KeeperEnd>) -> Result<()> {
        let mut wait = Wait::new();
        wait.readable(signals);
        if let Some(line) = line {
            line.add_to(&mut wait);
        }
        if let Some(registration) = &self.registration {
            registration.add_to(&mut wait);
        }
        let watch = self.watch.as_ref().map(Watch::patience);
        let patience = watch.into_iter().chain(self.switched.patience());
        let patience = patience.fold(LOOK_EVERY, Duration::min);
        wait.until(Instant::now() + patience).wait()?;
        self.switched.look(&mut self.held);
        if let Some(watch) = &mut self.watch {
            // Without it the account at the end says less.
            watch.look(|| self.held.flows().unwrap_or_default());
        }
        self.answer_requests();
        if !self.is_attached() {
            self.registration = None;
        }
        Ok(())
    }

    fn is_attached(&self) -> bool {
        self.held.is_attached()
    }

    fn answer_requests(&mut self) {
        let (held, switched) = (&mut self.held, &mut self.switched);
        let Some(registration) = &mut self.registration else {
            return;
        };
        registration.answer_all(|registration, request| {
            match request {
                Request::Detach => {
                    held.detach()?;
                    registration.withdraw();
                }
                Request::SetPolicy(text) => held.set_download(&Policy::receiver(&text)?)?,
                Request::SetUploadPolicy(text) => {
                    held.set_upload(&text.parse()?)?;
                    switched.forget_connections();
                }
                Request::SetObserving(is_observing) => {
                    switched.clear();
                    held.set_observing(is_observing)?;
                    registration.set_observing(is_observing)?;
                }
                Request::Switch { whose, to } => switch(held, switched, whose, &to)?,
                Request::Flows => return Ok(Reply::Flows(held.flows()?)),
            }
            registration.set_policies(&held.download_policy(), held.upload_policy())?;
            Ok(Reply::Done)
        });
    }

    /// Whether nobody needs the keeper any more.
    fn is_over(&mut self) -> Result<bool> {
        if self.is_for_run {
            // The cgroup is ours: it stays until its last process has ended.
            return Ok(self
                .cgroup
                .processes()
                .map_or(true, |processes| processes.is_empty()));
        }
        if !self.is_attached() {
            return Ok(true);
        }
        if self.looked.elapsed() < LOOK_EVERY {
            return Ok(false);
        }
        self.looked = Instant::now();
        Ok(self
            .family
            .as_mut()
            .is_some_and(|family| !family.is_alive()))
    }

    fn detach(&mut self) -> Result<()> {
        self.held.detach()
    }

    fn summary(&self) -> Summary {
        let processes_left = self
            .cgroup
            .processes()
            .map_or(0, |processes| processes.len());
        let mut summary = self.held.summary(processes_left);
        summary.seen = self.watch.as_ref().map_or_else(Seen::default, Watch::seen);
        summary
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // First the programs, then what they are attached to.
        if let Err(error) = self.held.detach() {
            tracing::warn!("while detaching: {error:#}");
        }
        if self.is_for_run && self.cgroup.processes().is_ok_and(|left| left.is_empty()) {
            // Somebody may have moved in just now: then it is theirs.
            let _ = self.cgroup.remove();
        }
    }
}

/// Switches some of the connections.
fn switch(held: &mut Held, switched: &mut Switched, whose: Part, to: &Switch) -> Result<()> {
    let is_free = match to {
        Switch::Free => true,
        Switch::Held => false,
        Switch::Policy(_) => {
            anyhow::bail!("with the kernel backend all that is attached together has one policy")
        }
    };
    match whose {
        Part::Connection { cookie, direction } => held.set_one_free(cookie, direction, is_free),
        Part::Process { pid } => switched.switch(pid, is_free, held),
    }
}

/// Names the record of a process.
pub fn process_id(pid: u32) -> String {
    format!("process-{pid}")
}

/// Names the record of a port.
pub fn port_id(port: u16) -> String {
    format!("port-{port}")
}

/// Names the record of a cgroup.
pub fn cgroup_id(cgroup: &Cgroup) -> String {
    format!("cgroup-{}", cgroup.id())
}

pub(crate) fn is_told_to_end(signals: &Signals) -> Result<bool> {
    use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
    let mut is_told = false;
    while let Some(arrived) = signals.next()? {
        is_told |= matches!(arrived.signal, SIGHUP | SIGINT | SIGTERM);
    }
    Ok(is_told)
}

pub(crate) fn refusal(error: &anyhow::Error) -> FromKeeper {
    let cause = describe(error.as_ref());
    match error.downcast_ref() {
        Some(ebb_kernel::Error::AlreadyAttached { .. }) => FromKeeper::AlreadyAttached { cause },
        _ => FromKeeper::Refused {
            cause: explain(&cause),
        },
    }
}

/// Why something did not work: what this machine lacks, where it lacks something.
fn explain(cause: &str) -> String {
    match ebb_kernel::features::probe().missing().next() {
        Some(missing) => format!(
            "{}: {}; {} (the system said: {cause}; 'ebb doctor' tells more)",
            missing.name, missing.detail, missing.remedy
        ),
        None => cause.to_owned(),
    }
}
