// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cgroups with the flows of a wave that are under a policy.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use ebb_algorithms::{Policy, PolicyError};
use ebb_kernel::AttachOptions;
use ebb_link::Nanos;
use ebb_scenario::{Flow, Interval, Scenario};

use super::EngineError;
use super::plan::is_built_in;
use super::seen::{self, Seen};
use crate::figures::{Group, RunError};

/// All of them.
#[derive(Default)]
pub(super) struct YieldingGroups(Vec<YieldingGroup>);

/// A cgroup with those flows of a run that are under the same policy at the same times.
struct YieldingGroup {
    run: usize,
    policy: Policy,
    during: Vec<Interval>,
    group: Group,
    /// Where the law's calls are recorded, if there is more to know of it than its window.
    trace: Option<File>,
}

impl YieldingGroups {
    /// Where the receiving socket of a flow belongs, if the flow has a receiver law.
    ///
    /// *Errors:* [`EngineError::Unsupported`] for a law that is not known;
    /// [`EngineError::Run`] for what the kernel refuses.
    pub(super) fn receiver(
        &mut self,
        run: usize,
        scenario: &Scenario,
        flow: &Flow,
    ) -> Result<Option<PathBuf>, EngineError> {
        let Some(receiver) = &flow.receiver else {
            return Ok(None);
        };
        let policy = Policy::receiver(receiver).map_err(|error| unsupported(flow, &error))?;
        let has_use = scenario.has_flow_series || !flow.during.is_empty();
        let is_recorded = has_use && seen::is_telling(&policy);
        self.group_of(run, policy, &flow.during, is_recorded)
            .map(Some)
    }

    /// Where Ebb selects the sender's congestion control; none for those that the kernel has.
    ///
    /// *Errors:* as for receivers.
    pub(super) fn sender(
        &mut self,
        run: usize,
        flow: &Flow,
    ) -> Result<Option<PathBuf>, EngineError> {
        if !flow.traffic.is_tcp() {
            return Ok(None);
        }
        let policy = Policy::sender(&flow.sender).map_err(|error| unsupported(flow, &error))?;
        if is_built_in(&policy) {
            return Ok(None);
        }
        self.group_of(run, policy, &[], false).map(Some)
    }

    fn group_of(
        &mut self,
        run: usize,
        policy: Policy,
        during: &[Interval],
        is_recorded: bool,
    ) -> Result<PathBuf, EngineError> {
        let is_same =
            |it: &&YieldingGroup| it.run == run && it.policy == policy && it.during == during;
        if let Some(known) = self.0.iter().find(is_same) {
            return Ok(known.group.directory());
        }
        let trace = is_recorded.then(trace_file).transpose()?;
        let options = AttachOptions {
            observing: !during.is_empty() && !is_within(during, Nanos::ZERO),
            trace: trace.as_ref().map(path_of),
            ..AttachOptions::default()
        };
        let group = Group::attach(&policy, options)?;
        let directory = group.directory();
        self.0.push(YieldingGroup {
            run,
            policy,
            during: during.to_vec(),
            group,
            trace,
        });
        Ok(directory)
    }

    /// Switches policies of flows that yield for a part of a run only.
    ///
    /// *Errors:* [`EngineError::Run`].
    pub(super) fn switch(&mut self, time: Nanos) -> Result<(), EngineError> {
        for group in &mut self.0 {
            if !group.during.is_empty() {
                let is_yielding = is_within(&group.during, time);
                group.group.set_observing(!is_yielding)?;
            }
        }
        Ok(())
    }

    /// Lets all flows go. *Returns:* the cookies of receiving sockets with what their laws saw.
    ///
    /// *Errors:* [`EngineError::Run`].
    pub(super) fn finish(self) -> Result<Vec<(u64, Seen)>, EngineError> {
        let mut seen = Vec::new();
        for group in self.0 {
            group.group.finish()?;
            if let Some(trace) = group.trace {
                let read = seen::read(&path_of(&trace), &group.policy);
                seen.extend(read.map_err(|source| RunError::Policy {
                    policy: group.policy.to_string(),
                    source,
                })?);
            }
        }
        Ok(seen)
    }
}

/// Whether a time is in one of these.
pub(super) fn is_within(parts: &[Interval], time: Nanos) -> bool {
    parts.iter().any(|part| part.contains(time))
}

/// Without a name: nothing stays behind of a lab that is killed.
fn trace_file() -> Result<File, RunError> {
    tempfile::tempfile().map_err(|source| RunError::File {
        path: std::env::temp_dir(),
        source,
    })
}

fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn unsupported(flow: &Flow, error: &PolicyError) -> EngineError {
    EngineError::Unsupported {
        scenario: flow.name.clone(),
        what: error.to_string(),
        instead: "see 'ebb policies'",
    }
}
