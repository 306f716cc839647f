// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The user backend: a governor that looks at the sockets of processes, from outside.

use std::time::{Duration, Instant};

use ebb_algorithms::{Policy, Side};
use ebb_sockets::{Change as Switched, Governor, Options, Root, Whose as Meant};
use nix::unistd::Pid;

pub use ebb_sockets::probe;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::floor::Floor;
use crate::flow::{Direction, FlowView};
use crate::guardian::{BEAT_EVERY, Guardian};
use crate::held::{Change, Held, InForce};
use crate::policies::{Policies, check_for_user_backend};
use crate::protocol::Part;
use crate::summary::{Datagrams, Summary};
use crate::whose::Whose;

/// No look is so near that nobody is waited for in between: never a busy loop.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// Policies on the sockets of processes.
pub struct UserHeld {
    governor: Governor,
    guardian: Option<Guardian>,
    beat_due: Instant,
    command: Option<Pid>,
    /// In force, or the last that were.
    policies: Policies,
    floor: Floor,
    /// It has looked for connections.
    has_governed: bool,
    is_observing: bool,
    is_released: bool,
}

impl UserHeld {
    /// Puts the policies on what is there, and on what comes. Without a guardian, limits stay on
    /// connections should this process be killed.
    ///
    /// *Errors:* there is no such process or cgroup; its sockets are out of reach; a law is not for
    /// this backend.
    pub fn hold(whose: &Whose, policies: &Policies, guardian: Option<Guardian>) -> Result<Self> {
        check(whose)?;
        Self::govern(whose.root(), policies, guardian)
    }

    /// The same for whatever this process starts.
    ///
    /// *Errors:* as above.
    pub fn hold_descendants(policies: &Policies, guardian: Option<Guardian>) -> Result<Self> {
        Self::govern(Root::DescendantsOf(std::process::id()), policies, guardian)
    }

    fn govern(root: Root, policies: &Policies, guardian: Option<Guardian>) -> Result<Self> {
        let chosen = std::iter::once(&policies.download).chain(&policies.upload);
        chosen.into_iter().try_for_each(check_for_user_backend)?;
        let options = Options {
            download: Some(policies.download.clone()),
            upload: policies.upload.clone(),
            keeps_code_point: policies.keeps_code_point,
            journal: guardian.as_ref().map(Guardian::journal),
            ..Options::default()
        };
        let mut governor = Governor::new(root, options)?;
        let floor = Floor::new(policies);
        governor.set_floor(floor.bytes_per_s());
        Ok(Self {
            governor,
            guardian,
            beat_due: Instant::now(),
            command: None,
            policies: policies.clone(),
            floor,
            has_governed: false,
            is_observing: false,
            is_released: false,
        })
    }

    /// Lets the guardian know the command, which it waits for should this process be killed.
    pub(crate) fn set_command(&mut self, command: Pid) {
        self.command = Some(command);
    }

    fn beat(&mut self) {
        let now = Instant::now();
        if let Some(guardian) = &self.guardian
            && now >= self.beat_due
        {
            guardian.beat(self.command);
            self.beat_due = now + BEAT_EVERY;
        }
    }

    fn set_policy(&mut self, whose: Meant, policy: &Policy) -> Result<usize> {
        check_for_user_backend(policy)?;
        let change = Switched::Law(policy.clone());
        Ok(self.governor.switch(whose, &change))
    }

    fn set_upload(&mut self, policy: Option<&Policy>) -> Result<()> {
        match policy {
            Some(policy) => self.set_policy(Meant::All, policy)?,
            None => self.governor.switch(Meant::All, &Switched::NoUploadLaw),
        };
        self.policies.upload = policy.cloned();
        Ok(())
    }

    fn tick(&mut self) -> Instant {
        let next = self.governor.tick();
        // Of connections that are found first it counts what came before, too.
        if !self.has_governed && self.command.is_none() {
            self.floor.begin_after(payload_bytes(&self.governor));
        }
        self.has_governed = true;
        if self.floor.look(|| payload_bytes(&self.governor)) {
            self.governor.set_floor(self.floor.bytes_per_s());
        }
        next
    }

    /// The policies' minimum or deadline has changed.
    fn follow_floor(&mut self) {
        self.floor
            .follow(&self.policies, payload_bytes(&self.governor));
        self.governor.set_floor(self.floor.bytes_per_s());
    }

    fn set_part_policy(&mut self, part: Part, policy: &Policy) -> Result<()> {
        let is_for_down = policy.law().side() == Side::Receiver;
        if let Part::Connection { direction, .. } = part
            && is_for_down != (direction == Direction::Down)
        {
            let policy = policy.to_string();
            return Err(Error::OtherDirection { policy });
        }
        let switched = self.set_policy(meant(part), policy)?;
        check_switched(part, switched)
    }
}

impl Held for UserHeld {
    fn backend(&self) -> Backend {
        Backend::User
    }

    fn in_force(&self) -> InForce {
        InForce {
            is_observing: self.is_observing,
            ungoverned_connections: self.governor.counters().unreached,
            deadline: self.floor.pursued(),
            ..InForce::of(&self.policies)
        }
    }

    fn is_held(&self) -> bool {
        !self.is_released
    }

    fn is_needed(&mut self) -> bool {
        self.governor.is_needed()
    }

    fn work(&mut self) -> Result<Instant> {
        let next = match self.is_released {
            true => {
                // What could not be lifted then.
                self.governor.release();
                Instant::now() + BEAT_EVERY
            }
            false => self.tick(),
        };
        self.beat();
        let next = match self.guardian {
            Some(_) => next.min(self.beat_due),
            None => next,
        };
        Ok(next.max(Instant::now() + LEAST_WAIT))
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        if self.is_released {
            return Err(Error::Released);
        }
        match change {
            Change::Download(policy) => {
                self.set_policy(Meant::All, policy)?;
                self.policies.download = policy.clone();
                Ok(())
            }
            Change::Upload(policy) => self.set_upload(policy.as_ref()),
            Change::Minimum(minimum) => {
                self.policies.minimum = *minimum;
                self.follow_floor();
                Ok(())
            }
            Change::Deadline(deadline) => {
                self.policies.deadline = *deadline;
                self.follow_floor();
                Ok(())
            }
            Change::Observing(is_observing) => {
                let change = Switched::Free(*is_observing);
                self.governor.switch(Meant::All, &change);
                self.is_observing = *is_observing;
                Ok(())
            }
            Change::Free(part, is_free) => {
                let change = Switched::Free(*is_free);
                check_switched(*part, self.governor.switch(meant(*part), &change))
            }
            Change::Policy(part, policy) => self.set_part_policy(*part, policy),
        }
    }

    fn flows(&mut self) -> Result<Vec<FlowView>> {
        let flows = self.governor.flows();
        let mut flows: Vec<_> = flows.iter().map(FlowView::of_user_backend).collect();
        self.floor.mark(&mut flows);
        Ok(flows)
    }

    fn summary(&mut self) -> Summary {
        self.floor.take_note(payload_bytes(&self.governor));
        let counters = self.governor.counters();
        Summary {
            received_bytes: counters.received_bytes,
            sent_bytes: counters.sent_bytes,
            connections: counters.connections,
            loopback_connections: counters.loopback,
            multipath_connections: counters.multipath,
            datagrams: Datagrams {
                sockets: counters.udp,
                quic: counters.quic,
                ..Datagrams::default()
            },
            peers: counters.peers.iter().copied().collect(),
            out_of_reach: counters.out_of_reach.clone(),
            processes_left: self.governor.processes(),
            ..Summary::of(Backend::User, self.in_force())
        }
    }

    fn release(&mut self) -> Result<()> {
        self.governor.release();
        self.is_released = true;
        Ok(())
    }

    fn take_notices(&mut self) -> Vec<String> {
        self.governor.take_notices()
    }
}

impl std::fmt::Debug for UserHeld {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "UserHeld({:?})", self.policies)
    }
}

/// Says why it cannot be governed, before anything is started.
pub(crate) fn check(whose: &Whose) -> Result<()> {
    whose.check()?;
    match whose {
        Whose::Process(pid) => Ok(ebb_sockets::probe_process(*pid)?),
        Whose::Cgroup(_) | Whose::Port(_) => Ok(ebb_sockets::probe()?),
    }
}

/// What has come under the policies, both ways together.
fn payload_bytes(governor: &Governor) -> u64 {
    let counters = governor.counters();
    counters.received_bytes + counters.sent_bytes
}

fn check_switched(part: Part, switched: usize) -> Result<()> {
    match part {
        Part::Connection { .. } if switched == 0 => Err(Error::ConnectionEnded),
        _ => Ok(()),
    }
}

fn meant(part: Part) -> Meant {
    match part {
        Part::Connection { cookie, direction } => Meant::Connection(cookie, direction),
        Part::Process { pid } => Meant::Process(pid),
    }
}
