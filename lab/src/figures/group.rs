// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ebb_algorithms::{Policy, Side};
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment};

use super::PolicyChoice;
use super::run::{Run, RunError, RunOptions};
use crate::traffic::Role;

/// Cgroups are called so, with the lab's process number and a number of their own.
const PREFIX: &str = "ebb-lab-";

/// A cgroup under a policy; removed when dropped.
pub(crate) struct Group {
    policy: String,
    side: Side,
    cgroup: Cgroup,
    attachment: Option<Attachment>,
}

impl Group {
    /// `None` if the run has no law, or nobody whom it would act on.
    pub(super) fn prepare(run: &Run, options: &RunOptions) -> Result<Option<Self>, RunError> {
        let PolicyChoice::Law(policy) = &run.policy else {
            return Ok(None);
        };
        if policy.law().is_for_counters() {
            return Ok(None);
        }
        let is_yielding = |role| role == Role::LessThanBestEffort;
        if !run.scenario.flows.iter().any(|flow| is_yielding(flow.role)) {
            return Ok(None);
        }
        let options = AttachOptions {
            observing: run.scenario.starts_observing,
            trace: options
                .trace_directory
                .as_ref()
                .map(|directory| directory.join(trace_name(run, policy))),
            ..AttachOptions::default()
        };
        Self::attach(policy, options).map(Some)
    }

    pub(crate) fn attach(policy: &Policy, options: AttachOptions) -> Result<Self, RunError> {
        let failed = |source| RunError::Policy {
            policy: policy.to_string(),
            source,
        };
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = Cgroup::of_process(std::process::id()).map_err(failed)?;
        let cgroup = home
            .create_own_child(PREFIX, Some(number))
            .map_err(failed)?;
        let mut group = Self {
            policy: policy.to_string(),
            side: policy.law().side(),
            cgroup,
            attachment: None,
        };
        let attachment = Attachment::attach(&group.cgroup, policy, options).map_err(failed)?;
        group.attachment = Some(attachment);
        Ok(group)
    }

    /// At which end of a flow the socket is to be in the cgroup.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// As the worker sees it: the hierarchy may be mounted for this process only.
    pub(crate) fn directory(&self) -> PathBuf {
        let directory = self.cgroup.directory_path();
        match directory.strip_prefix("/proc/self") {
            Ok(inside) => Path::new("/proc")
                .join(std::process::id().to_string())
                .join(inside),
            Err(_) => directory,
        }
    }

    pub(crate) fn set_observing(&mut self, is_observing: bool) -> Result<(), RunError> {
        let failed = |source| RunError::Policy {
            policy: self.policy.clone(),
            source,
        };
        self.attachment
            .as_mut()
            .map_or(Ok(()), |attachment| attachment.set_observing(is_observing))
            .map_err(failed)
    }

    /// Changes the parameters of the law, for all its connections at once.
    pub(crate) fn set_policy(&mut self, policy: &Policy) -> Result<(), RunError> {
        let failed = |source| RunError::Policy {
            policy: policy.to_string(),
            source,
        };
        let set = self.attachment.as_mut().map(|it| it.set_policy(policy));
        set.unwrap_or(Ok(())).map_err(failed)
    }

    /// What has arrived for the connections of the group so far, in order or not; none before
    /// there has been one.
    pub(crate) fn arrived_bytes(&self) -> Result<Option<u64>, RunError> {
        let failed = |source| RunError::Policy {
            policy: self.policy.clone(),
            source,
        };
        let counters = self.attachment.as_ref().map(Attachment::counters);
        let counters = counters.transpose().map_err(failed)?;
        let has_connection = counters.filter(|counters| counters.adopted_new > 0);
        Ok(has_connection.map(|counters| counters.payload_bytes))
    }

    /// Detaches; an error shows that a trace is not whole.
    pub(crate) fn finish(mut self) -> Result<(), RunError> {
        let policy = self.policy.clone();
        self.attachment
            .take()
            .map_or(Ok(()), Attachment::detach)
            .map_err(|source| RunError::Policy { policy, source })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.attachment = None;
        if let Err(error) = self.cgroup.remove() {
            tracing::warn!("{error}");
        }
    }
}

/// Scenario, policy and repetition, in characters that need no quoting.
fn trace_name(run: &Run, policy: &Policy) -> String {
    let text = format!("{}-{policy}-{}.trace", run.scenario.name, run.repetition);
    text.replace([':', ',', '/'], "_")
}
