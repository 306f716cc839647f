// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flows of a wave that are under a policy: in cgroups, for the kernel backend, or followed by
//! a governor, for the user backend. The law says which.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use ebb_algorithms::{Policy, PolicyError};
use ebb_kernel::AttachOptions;
use ebb_link::{Nanos, Rate};
use ebb_scenario::{Flow, Interval};

use super::prepared::{Refusal, is_built_in};
use super::run::Job;
use super::seen::{self, Seen};
use super::{EngineError, Governed, Group};
use crate::namespace::NamespaceHandle;

/// All of them.
#[derive(Default)]
pub(super) struct Yielding {
    groups: Vec<YieldingGroup>,
    followed: Vec<FollowedFlows>,
}

/// Flows of a run that are under the same policy at the same times.
#[derive(PartialEq)]
struct Alike {
    run: usize,
    policy: Policy,
    during: Vec<Interval>,
    /// What flows of this entry have together at the least.
    minimum: Option<(String, Rate)>,
}

impl Alike {
    fn floor_bytes_per_s(&self) -> u64 {
        let minimum = self.minimum.as_ref();
        minimum.map_or(0, |(_, rate)| rate.bits_per_s() / 8)
    }
}

/// The floor is at the end that yields: the receiver's, if it has a law.
fn minimum_of(flow: &Flow, is_here: bool) -> Option<(String, Rate)> {
    let minimum = flow.minimum.filter(|_| is_here)?;
    Some((flow.group.clone(), minimum))
}

/// A cgroup with such flows.
struct YieldingGroup {
    alike: Alike,
    group: Group,
    /// Where the law's calls are recorded, if somebody wants to know of them.
    trace: Option<Trace>,
}

/// Such flows under the user backend.
struct FollowedFlows {
    alike: Alike,
    /// Where the law's end of them is.
    home: NamespaceHandle,
    ports: Vec<u16>,
    /// None until there are sockets to follow.
    governed: Option<Governed>,
}

/// One end of a flow.
pub(super) struct End<'e> {
    pub home: &'e NamespaceHandle,
    /// The flow's port, which is at one of its ends.
    pub port: u16,
}

/// What a law's calls are recorded in.
enum Trace {
    /// Without a name: nothing stays behind of a lab that is killed.
    Ours(File),
    /// Somebody has asked for it.
    Wanted(PathBuf),
}

impl Yielding {
    /// Puts the receiving end of a flow under its law, if it has one. *Returns:* the cgroup where
    /// its socket belongs, if that is how.
    ///
    /// *Errors:* [`EngineError::Unsupported`] for a law that is not known;
    /// [`EngineError::Policy`] for what the kernel refuses.
    pub(super) fn receiver(
        &mut self,
        run: usize,
        job: &Job<'_>,
        flow: &Flow,
        end: &End<'_>,
    ) -> Result<Option<PathBuf>, EngineError> {
        let Some(receiver) = &flow.receiver else {
            return Ok(None);
        };
        let policy = Policy::receiver(receiver).map_err(|error| unsupported(flow, &error))?;
        let alike = Alike {
            run,
            policy,
            during: flow.during.clone(),
            minimum: minimum_of(flow, true),
        };
        self.add(alike, job, flow, end)
    }

    /// The same of the sending end; congestion controls that the kernel has are selected by the
    /// socket itself.
    ///
    /// *Errors:* as for receivers.
    pub(super) fn sender(
        &mut self,
        run: usize,
        job: &Job<'_>,
        flow: &Flow,
        end: &End<'_>,
    ) -> Result<Option<PathBuf>, EngineError> {
        if !flow.traffic.is_tcp() {
            return Ok(None);
        }
        let policy = Policy::sender(&flow.sender).map_err(|error| unsupported(flow, &error))?;
        if is_built_in(&policy) {
            return Ok(None);
        }
        let alike = Alike {
            run,
            policy,
            during: Vec::new(),
            minimum: minimum_of(flow, flow.receiver.is_none()),
        };
        self.add(alike, job, flow, end)
    }

    fn add(
        &mut self,
        alike: Alike,
        job: &Job<'_>,
        flow: &Flow,
        end: &End<'_>,
    ) -> Result<Option<PathBuf>, EngineError> {
        if !alike.policy.law().is_for_counters() {
            return self.directory_of(alike, job).map(Some);
        }
        if flow.is_by_programs {
            let what = format!(
                "flow `{}` is by programs under `{}`",
                flow.name, alike.policy
            );
            let instead = "the lab's user backend follows its own flows; take `programs` away";
            return Err(Refusal(job.scenario).because(what, instead));
        }
        match self.followed.iter_mut().find(|it| it.alike == alike) {
            Some(known) => known.ports.push(end.port),
            None => self.followed.push(FollowedFlows {
                alike,
                home: end.home.clone(),
                ports: vec![end.port],
                governed: None,
            }),
        }
        Ok(None)
    }

    fn directory_of(&mut self, alike: Alike, job: &Job<'_>) -> Result<PathBuf, EngineError> {
        if let Some(known) = self.groups.iter().find(|it| it.alike == alike) {
            return Ok(known.group.directory());
        }
        let Alike { policy, during, .. } = &alike;
        let has_use = job.scenario.has_flow_series || !during.is_empty();
        let trace = Trace::wanted(job, policy, has_use && seen::is_telling(policy))?;
        let options = AttachOptions {
            observing: !during.is_empty() && !is_within(during, Nanos::ZERO),
            trace: trace.as_ref().map(Trace::path),
            floor_bytes_per_s: alike.floor_bytes_per_s(),
            ..AttachOptions::default()
        };
        let group = Group::attach(policy, options)?;
        let directory = group.directory();
        self.groups.push(YieldingGroup {
            alike,
            group,
            trace,
        });
        Ok(directory)
    }

    /// Follows the sockets of the worker process that are for the user backend.
    ///
    /// *Errors:* [`EngineError::UserBackend`].
    pub(super) fn follow(&mut self, worker: u32) -> Result<(), EngineError> {
        for flows in &mut self.followed {
            let Alike { policy, during, .. } = &flows.alike;
            let floor = flows.alike.floor_bytes_per_s();
            let ports = flows.ports.clone();
            let governed = Governed::start((policy, floor), &flows.home, ports, worker)?;
            if !during.is_empty() {
                governed.set_yielding(is_within(during, Nanos::ZERO));
            }
            flows.governed = Some(governed);
        }
        Ok(())
    }

    /// Switches policies of flows that yield for a part of a run only.
    ///
    /// *Errors:* [`EngineError::Policy`].
    pub(super) fn switch(&mut self, time: Nanos) -> Result<(), EngineError> {
        for YieldingGroup { alike, group, .. } in &mut self.groups {
            if !alike.during.is_empty() {
                group.set_observing(!is_within(&alike.during, time))?;
            }
        }
        for FollowedFlows {
            alike, governed, ..
        } in &self.followed
        {
            if let (Some(governed), false) = (governed, alike.during.is_empty()) {
                governed.set_yielding(is_within(&alike.during, time));
            }
        }
        Ok(())
    }

    /// Lets all flows go. *Returns:* the cookies of receiving sockets with what their laws saw.
    ///
    /// *Errors:* [`EngineError::Policy`].
    pub(super) fn finish(self) -> Result<Vec<(u64, Seen)>, EngineError> {
        let mut seen = Vec::new();
        for YieldingGroup {
            alike,
            group,
            trace,
        } in self.groups
        {
            group.finish()?;
            if let Some(trace) = trace.filter(|_| seen::is_telling(&alike.policy)) {
                let read = seen::read(&trace.path(), &alike.policy);
                seen.extend(read.map_err(EngineError::policy(&alike.policy))?);
            }
        }
        Ok(seen)
    }
}

impl Trace {
    /// In the folder that the job names, else in a file of ours if we need it.
    ///
    /// *Errors:* [`EngineError::File`].
    fn wanted(
        job: &Job<'_>,
        policy: &Policy,
        is_needed: bool,
    ) -> Result<Option<Self>, EngineError> {
        if let Some(prefix) = job.traces {
            let name = format!("{policy}-{}.trace", job.run).replace([':', ',', '/'], "_");
            let mut path = prefix.as_os_str().to_owned();
            path.push(name);
            return Ok(Some(Self::Wanted(path.into())));
        }
        let file = is_needed.then(tempfile::tempfile).transpose();
        let file = file.map_err(|source| EngineError::File {
            path: std::env::temp_dir(),
            source,
        })?;
        Ok(file.map(Self::Ours))
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Ours(file) => format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            Self::Wanted(path) => path.clone(),
        }
    }
}

/// Whether a time is in one of these.
pub(super) fn is_within(parts: &[Interval], time: Nanos) -> bool {
    parts.iter().any(|part| part.contains(time))
}

pub(super) fn unsupported(flow: &Flow, error: &PolicyError) -> EngineError {
    EngineError::Unsupported {
        scenario: flow.name.clone(),
        what: error.to_string(),
        instead: "see 'ebb policies'",
    }
}
