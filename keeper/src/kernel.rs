// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel backend: eBPF programs on a cgroup, one policy for what arrives, one for what is
//! sent.

use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_host::Family;
use ebb_kernel::cgroup::Cgroup;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::floor::Floor;
use crate::flow::FlowView;
use crate::held::{Change, Held, InForce};
use crate::policies::Policies;
use crate::protocol::Part;
use crate::summary::{Datagrams, Summary};
use crate::whose::Whose;

use attachments::{Attachments, Site, sent_bytes};
use switched::Switched;

mod attachments;
mod switched;
mod trial;

#[cfg(feature = "own")]
pub use ebb_kernel::own;
pub use ebb_kernel::{
    Counters, Error as KernelError, Glance, PathRules, Selection, claims, features, rules,
};
pub use trial::{detach_left_over, sweep_all, try_out};

/// Whether the programs still act is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Policies on a cgroup, or on some of its processes.
#[derive(Debug)]
pub struct KernelHeld {
    site: Site,
    /// The processes that it is for, if it is for some only.
    family: Option<Family>,
    attachments: Attachments,
    /// In force, or the last that were.
    policies: Policies,
    floor: Floor,
    /// All of it is free for now.
    is_observing: bool,
    /// Processes that were switched by themselves.
    switched: Switched,
    /// Connections for whose state the kernel had no memory, when that was looked at last.
    ungoverned_connections: u64,
    /// What had come of it when it was released: the counters go with the programs.
    at_release: Option<Summary>,
    /// What programs had counted that are gone: of both ways at its release, before that of a policy
    /// for sending that ended.
    counted_before: Counted,
}

/// What the programs counted, of what arrives and of what is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those for what arrives.
    pub down: Counters,
    /// Those for what is sent.
    pub up: Counters,
}

impl KernelHeld {
    /// Puts the policies on what is there and on what comes.
    ///
    /// *Errors:* another Ebb acts on it; there is no such process; the kernel cannot do it; it is a
    /// port.
    pub fn hold(whose: &Whose, policies: &Policies) -> Result<Self> {
        whose.check()?;
        let (cgroup, family, selection) = match whose {
            Whose::Cgroup(cgroup) => (cgroup.clone(), None, Selection::WholeCgroup),
            Whose::Process(pid) => {
                let family = Family::of(*pid)?;
                let selection = Selection::Processes(vec![*pid]);
                (Cgroup::of_process(*pid)?, Some(family), selection)
            }
            Whose::Port(port) => return Err(Error::NoPorts { port: *port }),
        };
        let held = Self::attach(cgroup, selection, policies, false)?;
        Ok(Self { family, ..held })
    }

    /// The same for a cgroup in which a command is to run. What is under a policy already, as
    /// inside another `ebb run`, stays under that.
    ///
    /// *Errors:* another Ebb acts on it both ways; the kernel cannot do it.
    pub fn hold_command(cgroup: &Cgroup, policies: &Policies) -> Result<Self> {
        Self::attach(cgroup.clone(), Selection::WholeCgroup, policies, true)
    }

    /// The same for the connections of a rule in this cgroup, or in one below it: those to come. What
    /// is there is taken over for all rules at once ([`rules::Classifier::take_over`]).
    ///
    /// *Errors:* the kernel cannot do it.
    pub fn hold_rule(below: &Cgroup, rule: Selection, policies: &Policies) -> Result<Self> {
        Self::attach(below.clone(), rule, policies, false)
    }

    /// The same for a claim of a user's. One that `is_second` is held beside another one with the
    /// same policies, which lives for at least as long.
    ///
    /// *Errors:* the kernel cannot do it.
    pub fn hold_claim(
        below: &Cgroup,
        claim: Selection,
        policies: &Policies,
        is_second: bool,
    ) -> Result<Self> {
        let site = Site {
            is_second,
            ..Site::new(below.clone(), claim, policies)
        };
        Self::attach_to(site, policies, false)
    }

    /// The policies in force, or the last that were.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Says of connections that were seen otherwise what [`Held::flows`] says of them.
    pub fn mark(&self, flows: &mut [FlowView]) {
        self.floor.mark(flows);
    }

    /// What all connections have together at the least now, each way. *Units:* bytes per second; 0:
    /// nothing.
    pub fn floor_bytes_per_s(&self) -> u64 {
        self.floor.bytes_per_s()
    }

    /// Changes what they have together at the most, what arrives and what is sent; a floor goes
    /// before it. *Units:* bytes per second; 0: whatever the law says.
    ///
    /// *Errors:* it has ended.
    pub fn set_ceilings(&mut self, bytes_per_s: [u64; 2]) -> Result<()> {
        self.attachments.set_ceilings(bytes_per_s)
    }

    /// These connections, by the numbers of their sockets, are limited no more, whoever has them.
    ///
    /// *Errors:* the kernel's, of the walk over connections.
    pub fn set_free(&mut self, cookies: &[u64]) -> Result<()> {
        self.attachments.set_free(cookies, true)
    }

    /// As its release, where no process is left that could have a connection.
    ///
    /// *Errors:* as [`Held::release`].
    pub fn leave(&mut self) -> Result<()> {
        self.at_release.get_or_insert_default();
        self.attachments.leave()
    }

    fn attach(
        cgroup: Cgroup,
        selection: Selection,
        policies: &Policies,
        is_command: bool,
    ) -> Result<Self> {
        Self::attach_to(Site::new(cgroup, selection, policies), policies, is_command)
    }

    fn attach_to(site: Site, policies: &Policies, is_command: bool) -> Result<Self> {
        let mut policies = policies.clone();
        let floor = Floor::new(&policies);
        let site = Site {
            floor_bytes_per_s: floor.bytes_per_s(),
            ..site
        };
        let attachments = site.attach_both(&mut policies, is_command)?;
        Ok(Self {
            site,
            family: None,
            attachments,
            policies,
            floor,
            is_observing: false,
            switched: Switched::default(),
            ungoverned_connections: 0,
            at_release: None,
            counted_before: Counted::default(),
        })
    }

    /// What the programs counted since it was held, whatever policies were in force; of what is
    /// released, until then.
    pub fn counted(&self) -> Counted {
        let Counted { mut down, mut up } = self.counted_before;
        let (of_down, of_up) = self.attachments.counters();
        down += of_down;
        up += of_up;
        Counted { down, up }
    }

    fn set_download(&mut self, policy: &Policy) -> Result<()> {
        let download = self.attachments.download.as_mut();
        download.ok_or(Error::Released)?.set_policy(policy)?;
        self.policies.download = policy.clone();
        Ok(())
    }

    fn set_upload(&mut self, policy: Option<&Policy>) -> Result<()> {
        let Attachments {
            download, upload, ..
        } = &mut self.attachments;
        match (policy, upload) {
            (None, upload) => {
                if let Some(upload) = upload.take() {
                    self.counted_before.up += upload.counters().unwrap_or_default();
                    upload.detach()?;
                }
            }
            (Some(policy), Some(upload)) => upload.set_policy(policy)?,
            (Some(_), None) if download.is_none() => return Err(Error::Released),
            (Some(policy), upload) => {
                *upload = Some(self.site.attach(policy, self.is_observing)?);
            }
        }
        self.policies.upload = policy.cloned();
        // They are under new programs, which have not heard of them.
        self.switched.forget_connections();
        Ok(())
    }

    /// The policies' minimum or deadline has changed.
    fn follow_floor(&mut self) -> Result<()> {
        let seen_bytes = self.attachments.payload_bytes();
        self.floor.follow(&self.policies, seen_bytes);
        self.set_floor()
    }

    fn set_floor(&mut self) -> Result<()> {
        let bytes_per_s = self.floor.bytes_per_s();
        self.attachments.set_floor(bytes_per_s)?;
        self.site.floor_bytes_per_s = bytes_per_s;
        Ok(())
    }

    fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        self.switched.clear();
        self.is_observing = is_observing;
        self.attachments.set_observing(is_observing)
    }

    fn processes_left(&self) -> usize {
        match &self.family {
            Some(family) => family.pids().len(),
            // Whose processes these are others know.
            None if matches!(self.site.selection, Selection::Rule(_)) => 0,
            None => self.site.cgroup.processes().map_or(0, |all| all.len()),
        }
    }
}

impl Held for KernelHeld {
    fn backend(&self) -> Backend {
        Backend::Kernel
    }

    fn in_force(&self) -> InForce {
        InForce {
            is_observing: self.is_observing,
            ungoverned_connections: self.ungoverned_connections,
            deadline: self.floor.pursued(),
            ..InForce::of(&self.policies)
        }
    }

    fn is_held(&self) -> bool {
        self.attachments.are_attached()
    }

    fn is_needed(&mut self) -> bool {
        match &mut self.family {
            Some(family) => {
                let is_alive = family.is_alive();
                if let Err(error) = self.attachments.follow(family) {
                    tracing::debug!("{error}");
                }
                is_alive
            }
            None => self.site.cgroup.exists(),
        }
    }

    fn work(&mut self) -> Result<Instant> {
        self.ungoverned_connections = self.attachments.ungoverned_connections();
        if self.floor.look(|| self.attachments.payload_bytes())
            && let Err(error) = self.set_floor()
        {
            tracing::debug!("{error}");
        }
        let switched = self.switched.look(&mut self.attachments);
        let look = Instant::now() + LOOK_EVERY;
        Ok(switched.map_or(look, |switched| switched.min(look)))
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Download(policy) => self.set_download(policy),
            Change::Upload(policy) => self.set_upload(policy.as_ref()),
            Change::Minimum(minimum) => {
                self.policies.minimum = *minimum;
                self.follow_floor()
            }
            Change::Deadline(deadline) => {
                self.policies.deadline = *deadline;
                self.follow_floor()
            }
            Change::Observing(is_observing) => self.set_observing(*is_observing),
            Change::Free(Part::Connection { cookie, direction }, is_free) => {
                self.attachments.set_one_free(*cookie, *direction, *is_free)
            }
            Change::Free(Part::Process { pid }, is_free) => {
                self.switched.switch(*pid, *is_free, &mut self.attachments)
            }
            Change::Policy(..) => Err(Error::OnePolicy),
        }
    }

    fn flows(&mut self) -> Result<Vec<FlowView>> {
        let mut flows = self.attachments.flows(&self.policies)?;
        self.floor.mark(&mut flows);
        Ok(flows)
    }

    fn summary(&mut self) -> Summary {
        let processes_left = self.processes_left();
        if let Some(summary) = &self.at_release {
            return Summary {
                ended_early: Some("it was detached".to_owned()),
                processes_left,
                ..summary.clone()
            };
        }
        self.floor.take_note(self.attachments.payload_bytes());
        let Counted { down, up } = self.counted();
        let is_adopted = |counters: &Counters| counters.adopted_new + counters.adopted_established;
        Summary {
            ended_early: self.attachments.ending().map(|ending| ending.to_string()),
            received_bytes: down.payload_bytes,
            sent_bytes: sent_bytes(&down, &up),
            connections: is_adopted(&down).max(is_adopted(&up)),
            loopback_connections: down.skipped_loopback.max(up.skipped_loopback),
            multipath_connections: down.skipped_mptcp.max(up.skipped_mptcp),
            ungoverned_connections: self.attachments.ungoverned_connections(),
            datagrams: Datagrams {
                sockets: down.udp_sockets,
                quic: down.quic_sockets,
                utp: down.utp_sockets,
                bytes: Some((down.udp_received_bytes, down.udp_sent_bytes)),
            },
            peers: self.attachments.peers(),
            processes_left,
            ..Summary::of(Backend::Kernel, self.in_force())
        }
    }

    fn release(&mut self) -> Result<()> {
        if self.at_release.is_none() {
            self.at_release = Some(self.summary());
            self.counted_before = self.counted();
        }
        self.attachments.detach()
    }

    fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.attachments.notices)
    }
}
