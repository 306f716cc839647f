// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The policies that a keeper holds on a cgroup: one for what arrives, one for what is sent.

use crate::backend::Backend;
use crate::flow_view::{Direction, FlowView};
use crate::policies::{Policies, UploadPolicy};
use crate::summary::{Datagrams, Seen, Summary};
use anyhow::{Result, bail};
use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, Counters, Error, Selection};

/// What it holds.
#[derive(Debug)]
pub struct Held {
    cgroup: Cgroup,
    selection: Selection,
    download: Option<Attachment>,
    upload: Option<Attachment>,
    /// In force, or the last that was.
    policies: Policies,
    /// All of it is free for now.
    is_observing: bool,
    /// What had come of it when it was detached.
    at_detach: Option<Summary>,
}

impl Held {
    /// Attaches the policies.
    ///
    /// Inside another `ebb run` (`is_run`) what is under a policy already stays under that.
    pub fn attach(
        cgroup: &Cgroup,
        policies: &Policies,
        selection: Selection,
        is_run: bool,
    ) -> Result<Self> {
        let attach = |policy: &Policy| attach(cgroup, policy, &selection, policies, false);
        let download = attach(&policies.download);
        let mut policies = policies.clone();
        let mut upload = policies.upload.as_ref().map(attach).transpose();
        match &upload {
            Err(Error::AlreadyAttached { .. }) | Ok(_) => {}
            // Yielding one way is better than not running, or not yielding at all.
            Err(error) if !policies.needs_upload => {
                tracing::warn!("what is sent does not yield: {error}");
                policies.upload = None;
                upload = Ok(None);
            }
            Err(_) => {}
        }
        let (download, upload) = match (download, upload) {
            (Err(Error::AlreadyAttached { .. }), Ok(Some(upload))) if is_run => {
                (None, Some(upload))
            }
            (Ok(download), Err(Error::AlreadyAttached { .. })) if is_run => (Some(download), None),
            (download, upload) => (Some(download?), upload?),
        };
        Ok(Self {
            cgroup: cgroup.clone(),
            selection,
            download,
            upload,
            policies,
            is_observing: false,
            at_detach: None,
        })
    }

    /// The policy for what arrives, in its shortest form.
    pub fn download_policy(&self) -> String {
        self.policies.download.to_string()
    }

    /// The policy for what is sent, in its shortest form, if there is one.
    pub fn upload_policy(&self) -> Option<String> {
        self.policies.upload.as_ref().map(Policy::to_string)
    }

    /// Whether any policy acts.
    pub fn is_attached(&self) -> bool {
        self.attachments()
            .any(|attachment| attachment.ending().is_none())
    }

    /// Lifts everything.
    pub fn detach(&mut self) -> Result<()> {
        // The counters go with the programs.
        self.at_detach = Some(self.summary(0));
        let download = self.download.take().map_or(Ok(()), Attachment::detach);
        let upload = self.upload.take().map_or(Ok(()), Attachment::detach);
        Ok(download.and(upload)?)
    }

    /// Goes on with another policy for what arrives.
    pub fn set_download(&mut self, policy: &Policy) -> Result<()> {
        let Some(download) = &mut self.download else {
            bail!("it has been detached")
        };
        download.set_policy(policy)?;
        self.policies.download = policy.clone();
        Ok(())
    }

    /// Goes on with another policy for what is sent, begins with one, or ends that.
    pub fn set_upload(&mut self, chosen: &UploadPolicy) -> Result<()> {
        match (chosen.policy(), &mut self.upload) {
            (None, _) => self.upload.take().map_or(Ok(()), Attachment::detach)?,
            (Some(policy), Some(upload)) => upload.set_policy(policy)?,
            (Some(_), None) if self.download.is_none() => bail!("it has been detached"),
            (Some(policy), None) => {
                self.upload = Some(attach(
                    &self.cgroup,
                    policy,
                    &self.selection,
                    &self.policies,
                    self.is_observing,
                )?);
            }
        }
        self.policies.upload = chosen.policy().cloned();
        Ok(())
    }

    /// Watches only from now on, or acts again.
    pub fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        self.is_observing = is_observing;
        for attachment in self.download.iter_mut().chain(&mut self.upload) {
            attachment.set_observing(is_observing)?;
        }
        Ok(())
    }

    /// Sets connections free, or holds them back, both ways, by the numbers of their sockets.
    pub fn set_free(&mut self, cookies: &[u64], is_free: bool) -> Result<()> {
        for attachment in self.download.iter_mut().chain(&mut self.upload) {
            attachment.set_free(cookies, is_free)?;
        }
        Ok(())
    }

    /// The same for one connection, one way.
    pub fn set_one_free(&mut self, cookie: u64, way: Direction, is_free: bool) -> Result<()> {
        let attachment = match way {
            Direction::Down => &mut self.download,
            Direction::Up => &mut self.upload,
        };
        let Some(attachment) = attachment else {
            bail!("no policy is for this direction any more")
        };
        match attachment.set_free(&[cookie], is_free)? {
            0 => bail!("the connection has ended"),
            _ => Ok(()),
        }
    }

    /// Every connection that it acts on.
    pub fn flows(&self) -> Result<Vec<FlowView>> {
        let Policies {
            download, upload, ..
        } = &self.policies;
        let mut flows = Vec::new();
        let held = [
            (&self.download, Some(download), Direction::Down),
            (&self.upload, upload.as_ref(), Direction::Up),
        ];
        for (attachment, policy, direction) in held {
            let (Some(attachment), Some(policy)) = (attachment, policy) else {
                continue;
            };
            let seen = attachment.flows()?;
            flows.extend(
                seen.iter()
                    .map(|flow| FlowView::new(flow, policy, direction)),
            );
        }
        Ok(flows)
    }

    /// What came of it.
    pub fn summary(&self, processes_left: usize) -> Summary {
        if let Some(summary) = &self.at_detach {
            return Summary {
                ended_early: Some("it was detached".to_owned()),
                processes_left,
                ..summary.clone()
            };
        }
        let (down, up) = (
            counters(self.download.as_ref()),
            counters(self.upload.as_ref()),
        );
        let ended_early = self
            .attachments()
            .find_map(Attachment::ending)
            .map(|ending| ending.to_string());
        Summary {
            backend: Backend::Kernel,
            ended_early,
            policy: self.download_policy(),
            upload_policy: self.upload_policy(),
            received_bytes: down.payload_bytes,
            // The programs of either law count, those of the law for sending while it acts.
            sent_bytes: up.payload_bytes.max(down.sent_bytes),
            connections: (down.adopted_new + down.adopted_established)
                .max(up.adopted_new + up.adopted_established),
            loopback_connections: down.skipped_loopback.max(up.skipped_loopback),
            multipath_connections: down.skipped_mptcp.max(up.skipped_mptcp),
            datagrams: Datagrams {
                sockets: down.udp_sockets,
                quic: down.quic_sockets,
                utp: down.utp_sockets,
                bytes: Some((down.udp_received_bytes, down.udp_sent_bytes)),
            },
            peers: self
                .download
                .as_ref()
                .map_or_else(Vec::new, Attachment::peers),
            seen: Seen::default(),
            out_of_reach: Vec::new(),
            processes_left,
        }
    }

    fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.download.iter().chain(&self.upload)
    }
}

fn attach(
    cgroup: &Cgroup,
    policy: &Policy,
    selection: &Selection,
    policies: &Policies,
    observing: bool,
) -> ebb_kernel::Result<Attachment> {
    let options = AttachOptions {
        selection: selection.clone(),
        keeps_code_point: policies.keeps_code_point,
        observing,
        ..AttachOptions::default()
    };
    Attachment::attach(cgroup, policy, options)
}

fn counters(attachment: Option<&Attachment>) -> Counters {
    let counted = attachment.map(Attachment::counters);
    counted.and_then(Result::ok).unwrap_or_default()
}
