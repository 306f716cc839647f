// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of both directions, taken together.

use std::net::IpAddr;

use ebb_algorithms::Policy;
use ebb_host::Family;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, Counters, Ending, Error as KernelError, Selection};

use crate::error::{Error, Result};
use crate::flow::{Direction, FlowView};
use crate::policies::Policies;

/// Where policies are attached, and how.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) cgroup: Cgroup,
    pub(super) selection: Selection,
    pub(super) keeps_code_point: bool,
    pub(super) floor_bytes_per_s: u64,
    /// Another one is held beside it, which renews its lease.
    pub(super) is_second: bool,
}

/// What is attached; both are gone once it was detached.
#[derive(Debug)]
pub(super) struct Attachments {
    pub(super) download: Option<Attachment>,
    pub(super) upload: Option<Attachment>,
    /// What people should know of it.
    pub(super) notices: Vec<String>,
}

impl Site {
    /// There, without a floor.
    pub(super) fn new(cgroup: Cgroup, selection: Selection, policies: &Policies) -> Self {
        Self {
            cgroup,
            selection,
            keeps_code_point: policies.keeps_code_point,
            floor_bytes_per_s: 0,
            is_second: false,
        }
    }

    pub(super) fn attach(
        &self,
        policy: &Policy,
        observing: bool,
    ) -> Result<Attachment, KernelError> {
        let options = AttachOptions {
            selection: self.selection.clone(),
            keeps_code_point: self.keeps_code_point,
            floor_bytes_per_s: self.floor_bytes_per_s,
            is_second: self.is_second,
            observing,
            ..AttachOptions::default()
        };
        Attachment::attach(&self.cgroup, policy, options)
    }

    /// Attaches both, and takes out of the policies what cannot be had and is not needed. Where
    /// `may_be_held`, one of them may be under a policy of another Ebb's, and stays under that.
    pub(super) fn attach_both(
        &self,
        policies: &mut Policies,
        may_be_held: bool,
    ) -> Result<Attachments, KernelError> {
        let is_held = |it: &KernelError| matches!(it, KernelError::AlreadyAttached { .. });
        let attach = |policy| self.attach(policy, false);
        let download = attach(&policies.download);
        let upload = policies.upload.as_ref().map(attach).transpose();
        let mut notices = Vec::new();
        let upload = upload.or_else(|error| {
            if is_held(&error) || policies.needs_upload {
                return Err(error);
            }
            // Yielding one way is better than not running, or not yielding at all.
            notices.push(format!("what is sent does not yield: {error}"));
            policies.upload = None;
            Ok(None)
        });
        let (download, upload) = match (download, upload) {
            (Err(held), Ok(Some(upload))) if may_be_held && is_held(&held) => (None, Some(upload)),
            (Ok(download), Err(held)) if may_be_held && is_held(&held) => (Some(download), None),
            (download, upload) => (Some(download?), upload?),
        };
        Ok(Attachments {
            download,
            upload,
            notices,
        })
    }
}

impl Attachments {
    /// Watches only from now on, or acts again.
    pub(super) fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        for attachment in self.both() {
            attachment.set_observing(is_observing)?;
        }
        Ok(())
    }

    /// What all have together at the least, each way.
    pub(super) fn set_floor(&mut self, bytes_per_s: u64) -> Result<()> {
        for attachment in self.both() {
            attachment.set_floor(bytes_per_s)?;
        }
        Ok(())
    }

    /// What all have together at the most, what arrives and what is sent.
    pub(super) fn set_ceilings(&mut self, [down, up]: [u64; 2]) -> Result<()> {
        for (attachment, ceiling) in [(&mut self.download, down), (&mut self.upload, up)] {
            if let Some(attachment) = attachment {
                attachment.set_ceiling(ceiling)?;
            }
        }
        Ok(())
    }

    /// Sets connections free, or holds them back, both ways, by the numbers of their sockets.
    pub(super) fn set_free(&mut self, cookies: &[u64], is_free: bool) -> Result<()> {
        for attachment in self.both() {
            attachment.set_free(cookies, is_free)?;
        }
        Ok(())
    }

    /// The same for one connection, one way.
    pub(super) fn set_one_free(
        &mut self,
        cookie: u64,
        direction: Direction,
        is_free: bool,
    ) -> Result<()> {
        let attachment = match direction {
            Direction::Down => &mut self.download,
            Direction::Up => &mut self.upload,
        };
        let attachment = attachment.as_mut().ok_or(Error::NoPolicyForDirection)?;
        match attachment.set_free(&[cookie], is_free)? {
            0 => Err(Error::ConnectionEnded),
            _ => Ok(()),
        }
    }

    /// Acts on the new connections of these processes.
    pub(super) fn follow(&mut self, family: &Family) -> Result<()> {
        for attachment in self.both() {
            attachment.follow(family)?;
        }
        Ok(())
    }

    /// Lifts everything.
    pub(super) fn detach(&mut self) -> Result<()> {
        let download = self.download.take().map_or(Ok(()), Attachment::detach);
        let upload = self.upload.take().map_or(Ok(()), Attachment::detach);
        Ok(download.and(upload)?)
    }

    /// The same, where no process is left that could have a connection.
    pub(super) fn leave(&mut self) -> Result<()> {
        let download = self.download.take().map_or(Ok(()), Attachment::leave);
        let upload = self.upload.take().map_or(Ok(()), Attachment::leave);
        Ok(download.and(upload)?)
    }

    /// Whether any of them acts.
    pub(super) fn are_attached(&self) -> bool {
        self.each().any(|attachment| attachment.ending().is_none())
    }

    /// Why the first of them ended, if one did.
    pub(super) fn ending(&self) -> Option<Ending> {
        self.each().find_map(Attachment::ending)
    }

    /// Every connection.
    pub(super) fn flows(&self, policies: &Policies) -> Result<Vec<FlowView>> {
        let held = [
            (&self.download, Some(&policies.download), Direction::Down),
            (&self.upload, policies.upload.as_ref(), Direction::Up),
        ];
        let mut flows = Vec::new();
        for (attachment, policy, direction) in held {
            if let (Some(attachment), Some(policy)) = (attachment, policy) {
                let seen = attachment.flows()?;
                let view = |flow| FlowView::new(flow, policy, direction);
                flows.extend(seen.iter().map(view));
            }
        }
        Ok(flows)
    }

    /// What was counted, by the programs for what arrives and by those for what is sent.
    pub(super) fn counters(&self) -> (Counters, Counters) {
        let counters = |attachment: &Option<Attachment>| {
            let counted = attachment.as_ref().map(Attachment::counters);
            counted.and_then(Result::ok).unwrap_or_default()
        };
        (counters(&self.download), counters(&self.upload))
    }

    /// What has come of them, both ways together.
    pub(super) fn payload_bytes(&self) -> u64 {
        let (down, up) = self.counters();
        down.payload_bytes + sent_bytes(&down, &up)
    }

    /// Connections for whose state the kernel had no memory, one way or the other.
    pub(super) fn ungoverned_connections(&self) -> u64 {
        let (down, up) = self.counters();
        down.skipped_no_memory.max(up.skipped_no_memory)
    }

    /// Whom connections were with.
    pub(super) fn peers(&self) -> Vec<IpAddr> {
        let download = self.download.as_ref();
        download.map_or_else(Vec::new, Attachment::peers)
    }

    fn each(&self) -> impl Iterator<Item = &Attachment> {
        self.download.iter().chain(&self.upload)
    }

    fn both(&mut self) -> impl Iterator<Item = &mut Attachment> {
        self.download.iter_mut().chain(&mut self.upload)
    }
}

/// The programs of either law count, those of the law for sending while it acts.
pub(super) fn sent_bytes(down: &Counters, up: &Counters) -> u64 {
    up.payload_bytes.max(down.sent_bytes)
}
