// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One of those that share: its cgroup, the law on it, what arrives.

use std::collections::HashMap;

use crate::account::Account;
use crate::error::{Error, Result};
use crate::flow::{Direction, FlowView};
use crate::process::{NOT_FOUND, Start};
use crate::registry::Sharer;
use crate::services;
use crate::summary::Summary;
use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, Selection};
use ebb_sharing::{Preferences, Target, split};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::arrangement::{Program, Who, words_of};

/// Cgroups of commands are called so, with our process number and a number of their own.
const PREFIX: &str = "ebb-share-";
/// A program without connections for so many control periods does not take part: browsers open
/// and close them all the time, and whenever somebody comes or goes all are free for a while.
const GONE_PERIODS: u32 = 30;

/// A program that shares.
pub(super) struct Member {
    pub(super) name: String,
    who: Who,
    cgroup: Cgroup,
    /// Made here, so to be removed here.
    is_own_cgroup: bool,
    /// None: it was let go for good.
    attachment: Option<Attachment>,
    base: Policy,
    /// The command, while it runs.
    child: Option<Pid>,
    /// What it is held at together.
    pub(super) target: Target,
    /// What each of its connections is held at, if they are. *Units:* bit/s.
    limit: Option<u64>,
    /// What had arrived on each connection, by the kernel's number. *Units:* bytes.
    arrived: HashMap<u64, u64>,
    /// What arrived on each in the last control period. *Units:* bit/s.
    rates: Vec<u64>,
    /// Control periods without a connection.
    silent_periods: u32,
}

impl Member {
    /// Puts the law on its connections, free at first; starts the command, if it is one.
    ///
    /// *Errors:* there is no such process, cgroup, command; another Ebb holds it.
    pub(super) fn prepare(
        program: &Program,
        number: u32,
        base: &Policy,
        mask: SigSet,
    ) -> Result<Self> {
        let named = |source| Error::Program {
            name: program.name.clone(),
            source: Box::new(source),
        };
        let (cgroup, selection) = place(&program.who, number).map_err(named)?;
        let is_own_cgroup = matches!(program.who, Who::Command { .. });
        let options = AttachOptions {
            selection,
            observing: true,
            ..AttachOptions::default()
        };
        let attached = Attachment::attach(&cgroup, base, options);
        let attachment = attached.map_err(|error| {
            remove(&cgroup, is_own_cgroup);
            named(error.into())
        })?;
        let mut member = Self {
            name: program.name.clone(),
            who: program.who.clone(),
            cgroup,
            is_own_cgroup,
            attachment: Some(attachment),
            base: base.clone(),
            child: None,
            target: Target::Free,
            limit: None,
            arrived: HashMap::new(),
            rates: Vec::new(),
            silent_periods: GONE_PERIODS,
        };
        member.start(mask).map_err(named)?;
        Ok(member)
    }

    fn start(&mut self, mask: SigSet) -> Result<()> {
        let Who::Command { words, user } = &self.who else {
            return Ok(());
        };
        let account = user.as_deref().map(Account::find).transpose()?;
        let words: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        let start = Start {
            words: &words,
            cgroup_procs: Some(self.cgroup.procs_file()?),
            account: account.as_ref(),
            mask: Some(mask),
            process_group: None,
            no_new_privileges: false,
            open_files: None,
        };
        let child = start.spawn().map_err(|error| Error::NotStarted {
            program: words[0].to_string_lossy().into_owned(),
            cause: match error.status {
                NOT_FOUND => "command not found".to_owned(),
                _ => error.cause.to_string(),
            },
        })?;
        self.child = Some(child.pid());
        Ok(())
    }

    /// As `ebb status` tells of it.
    pub(super) fn sharer(&self, wanted: &Preferences) -> Sharer {
        let pid = match self.who {
            Who::Process(pid) => Some(pid),
            _ => None,
        };
        Sharer {
            name: self.name.clone(),
            who: self.who.to_string(),
            cgroup: self.cgroup.path().to_path_buf(),
            pid,
            wanted: words_of(wanted),
        }
    }

    /// Its connections.
    ///
    /// *Errors:* the kernel does not tell.
    pub(super) fn flows(&self) -> Result<Vec<FlowView>> {
        let Some(attachment) = &self.attachment else {
            return Ok(Vec::new());
        };
        let view = |flow| FlowView::new(flow, &self.base, Direction::Down);
        Ok(attachment.flows()?.iter().map(view).collect())
    }

    /// Counts what arrived until now; none while it takes no part.
    ///
    /// *Errors:* the kernel does not tell.
    pub(super) fn measure(&mut self, period_s: f64) -> Result<Option<u64>> {
        let Some(attachment) = &self.attachment else {
            return Ok(None);
        };
        let flows = attachment.flows()?;
        self.rates.clear();
        let mut arrived = HashMap::with_capacity(flows.len());
        for flow in &flows {
            let before = self.arrived.get(&flow.cookie).copied().unwrap_or(0);
            let bytes = flow.payload_bytes.saturating_sub(before);
            self.rates.push((bytes as f64 * 8.0 / period_s) as u64);
            arrived.insert(flow.cookie, flow.payload_bytes);
        }
        self.arrived = arrived;
        self.silent_periods = match flows.is_empty() {
            true => self.silent_periods.saturating_add(1),
            false => 0,
        };
        let counters = attachment.counters()?;
        Ok((self.silent_periods < GONE_PERIODS).then_some(counters.payload_bytes))
    }

    /// Holds it at a target from now on: its connections together.
    ///
    /// *Errors:* the attachment has ended.
    pub(super) fn hold(&mut self, target: Target) -> Result<()> {
        let Some(attachment) = &mut self.attachment else {
            return Ok(());
        };
        let Target::At(bits_per_s) = target else {
            if self.limit.take().is_some() {
                attachment.set_observing(true)?;
            }
            self.target = target;
            return Ok(());
        };
        let limit = split(bits_per_s, self.limit, &self.rates);
        if let Some(policy) = Target::At(limit).policy(&self.base)? {
            attachment.set_policy(&policy)?;
        }
        if self.limit.replace(limit).is_none() {
            attachment.set_observing(false)?;
        }
        self.target = target;
        Ok(())
    }

    /// Lets it go for good; its command runs on.
    ///
    /// *Errors:* the kernel does not do it.
    pub(super) fn release(&mut self) -> Result<()> {
        match self.attachment.take() {
            Some(attachment) => Ok(attachment.detach()?),
            None => Ok(()),
        }
    }

    /// Takes note that a child of ours has ended, if it was this one's command; answers whether.
    pub(super) fn note_end(&mut self, pid: Pid) -> bool {
        self.child.take_if(|child| *child == pid).is_some()
    }

    /// Adds what arrived for it.
    pub(super) fn add_to(&self, summary: &mut Summary) {
        let counters = self.attachment.as_ref().map(Attachment::counters);
        if let Some(Ok(counters)) = counters {
            summary.received_bytes += counters.payload_bytes;
            summary.connections += counters.adopted_new + counters.adopted_established;
        }
    }

    /// Whether nothing of it is left, and why not if that is worth a word.
    pub(super) fn end(&self) -> Option<String> {
        let is_command = matches!(self.who, Who::Command { .. });
        match &self.attachment {
            None if !is_command => return Some(format!("{}: it was let go", self.name)),
            None => return (!self.has_child()).then(|| format!("{}: it has ended", self.name)),
            Some(attachment) => {
                if let Some(ending) = attachment.ending() {
                    return Some(format!("{}: {ending}", self.name));
                }
            }
        }
        let is_left = match &self.who {
            Who::Command { .. } => {
                self.child.is_some()
                    || self
                        .cgroup
                        .processes()
                        .is_ok_and(|processes| !processes.is_empty())
            }
            Who::Process(pid) => ebb_host::exists(*pid),
            Who::Cgroup(_) | Who::Unit(_) | Who::Container(_) => self.cgroup.exists(),
        };
        (!is_left).then(|| format!("{}: it has ended", self.name))
    }

    /// Asks the command to end, if it runs.
    pub(super) fn terminate(&self) {
        if let Some(pid) = self.child {
            // It may have ended just now.
            let _ = kill(pid, Signal::SIGTERM);
        }
    }

    /// Whether its command runs.
    pub(super) fn has_child(&self) -> bool {
        self.child.is_some()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        remove(&self.cgroup, self.is_own_cgroup);
    }
}

/// Fails, as it should, while processes live there: they go on without limits.
fn remove(cgroup: &Cgroup, is_own: bool) {
    if is_own && let Err(error) = cgroup.remove() {
        tracing::info!("{error}");
    }
}

fn place(who: &Who, number: u32) -> Result<(Cgroup, Selection)> {
    Ok(match who {
        Who::Command { .. } => (make_cgroup(number)?, Selection::WholeCgroup),
        Who::Process(pid) => {
            let cgroup = Cgroup::of_process(*pid)?;
            (cgroup, Selection::Processes(vec![*pid]))
        }
        Who::Cgroup(path) => (Cgroup::at(path)?, Selection::WholeCgroup),
        Who::Unit(name) => (services::unit(name)?, Selection::WholeCgroup),
        Who::Container(name) => (services::container(name)?, Selection::WholeCgroup),
    })
}

/// Below our own cgroup, or where that cannot be, below the root.
fn make_cgroup(number: u32) -> Result<Cgroup> {
    let number = Some(number);
    let own = Cgroup::of_process(std::process::id())?;
    let below_own = own.create_own_child(PREFIX, number);
    Ok(below_own.or_else(|_| Cgroup::root()?.create_own_child(PREFIX, number))?)
}
