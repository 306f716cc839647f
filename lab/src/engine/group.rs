// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment};

use super::EngineError;

/// Cgroups are called so, with the lab's process number and a number of their own.
const PREFIX: &str = "ebb-lab-";

/// A cgroup under a policy; removed when dropped.
pub(super) struct Group {
    policy: String,
    cgroup: Cgroup,
    attachment: Option<Attachment>,
}

impl Group {
    /// Puts a policy on a new cgroup.
    ///
    /// *Errors:* [`EngineError::Policy`].
    pub(super) fn attach(policy: &Policy, options: AttachOptions) -> Result<Self, EngineError> {
        let failed = EngineError::policy(policy);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = Cgroup::of_process(std::process::id()).map_err(&failed)?;
        let cgroup = home
            .create_own_child(PREFIX, Some(number))
            .map_err(&failed)?;
        let mut group = Self {
            policy: policy.to_string(),
            cgroup,
            attachment: None,
        };
        let attachment = Attachment::attach(&group.cgroup, policy, options).map_err(&failed)?;
        group.attachment = Some(attachment);
        Ok(group)
    }

    /// As the worker sees it: the hierarchy may be mounted for this process only.
    pub(super) fn directory(&self) -> PathBuf {
        let directory = self.cgroup.directory_path();
        match directory.strip_prefix("/proc/self") {
            Ok(inside) => Path::new("/proc")
                .join(std::process::id().to_string())
                .join(inside),
            Err(_) => directory,
        }
    }

    pub(super) fn set_observing(&mut self, is_observing: bool) -> Result<(), EngineError> {
        let failed = EngineError::policy(&self.policy);
        self.attachment
            .as_mut()
            .map_or(Ok(()), |attachment| attachment.set_observing(is_observing))
            .map_err(failed)
    }

    /// Changes the parameters of the law, for all its connections at once.
    pub(super) fn set_policy(&mut self, policy: &Policy) -> Result<(), EngineError> {
        let failed = EngineError::policy(policy);
        let set = self.attachment.as_mut().map(|it| it.set_policy(policy));
        set.unwrap_or(Ok(())).map_err(failed)
    }

    /// What has arrived for the connections of the group so far, in order or not; none before
    /// there has been one.
    pub(super) fn arrived_bytes(&self) -> Result<Option<u64>, EngineError> {
        let failed = EngineError::policy(&self.policy);
        let counters = self.attachment.as_ref().map(Attachment::counters);
        let counters = counters.transpose().map_err(&failed)?;
        let has_connection = counters.filter(|counters| counters.adopted_new > 0);
        Ok(has_connection.map(|counters| counters.payload_bytes))
    }

    /// Detaches; an error shows that a trace is not whole.
    pub(super) fn finish(mut self) -> Result<(), EngineError> {
        let attachment = self.attachment.take();
        let detached = attachment.map_or(Ok(()), Attachment::detach);
        detached.map_err(EngineError::policy(&self.policy))
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
