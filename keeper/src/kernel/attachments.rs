// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of both directions, taken together.

use std::net::IpAddr;

use ebb_kernel::{Attachment, Counters, Ending};

use crate::error::{Error, Result};
use crate::flow::{Direction, FlowView};
use crate::policies::Policies;

/// What is attached; both are gone once it was detached.
#[derive(Debug)]
pub(super) struct Attachments {
    pub(super) download: Option<Attachment>,
    pub(super) upload: Option<Attachment>,
}

impl Attachments {
    /// Watches only from now on, or acts again.
    pub(super) fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        for attachment in self.both() {
            attachment.set_observing(is_observing)?;
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

    /// Lifts everything.
    pub(super) fn detach(&mut self) -> Result<()> {
        let download = self.download.take().map_or(Ok(()), Attachment::detach);
        let upload = self.upload.take().map_or(Ok(()), Attachment::detach);
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
