// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is held for a user.

use ebb_host::ProcessHandle;
use ebb_keeper::kernel::claims::{Claim, Claims, Crowd};
use ebb_keeper::protocol::{Due, HeldRecord};
use ebb_keeper::registry::{Attached, Record};
use ebb_keeper::{Backend, Cgroup, Held, KernelHeld, Policies, Pursued, Summary, Watch, describe};

use super::named::NamedSockets;
use super::own::OwnSocket;
use super::saved::SavedHold;

/// Policies on what is a user's own.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) id: String,
    pub(crate) user: u32,
    /// In which the user was when it asked.
    pub(crate) groups: Vec<u32>,
    pub(crate) attached: Attached,
    pub(crate) since_unix_s: u64,
    pub(crate) held: KernelHeld,
    /// None once it has ended.
    pub(crate) claim: Option<Claim>,
    pub(crate) on: On,
    /// Processes that were made members: number and start. All others were forked by members.
    pub(crate) added: Vec<(u32, u64)>,
    pub(crate) watch: Option<Watch>,
    /// The service was started anew meanwhile: what came before is not counted.
    pub(crate) is_taken_up: bool,
    /// Why it ended before what it was for did.
    pub(crate) ended: Option<String>,
}

/// What it is on.
#[derive(Debug)]
pub(crate) enum On {
    /// A command, with whoever attends to it until that says what came of it.
    Command(Option<Starter>),
    /// Processes and whatever they fork.
    Processes,
    /// A cgroup.
    Cgroup(Cgroup),
    /// One socket.
    Socket(OwnSocket),
    /// The sockets of a process that it has named.
    Sockets(NamedSockets),
}

/// Who attends to a command.
#[derive(Debug)]
pub(crate) struct Starter {
    pub(crate) pid: u32,
    pub(crate) started_ticks: u64,
    pub(crate) handle: ProcessHandle,
}

/// What becomes of a hold that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It stays.
    Stays,
    /// Nobody is left.
    Over,
    /// Who attended to the command was killed.
    Abandoned,
}

impl Hold {
    /// Whether it is in force.
    pub(crate) fn is_in_force(&self) -> bool {
        self.claim.is_some()
    }

    /// Whether it is needed still.
    pub(crate) fn need(&self, claims: &Claims) -> Need {
        if let On::Command(Some(starter)) = &self.on {
            return match starter.handle.has_ended() {
                true => Need::Abandoned,
                false => Need::Stays,
            };
        }
        let Some(claim) = &self.claim else {
            return Need::Over;
        };
        let is_needed = match &self.on {
            // Whoever has it by another number, or in another process, is to have it unlimited.
            On::Socket(socket) if !socket.is_there() => return Need::Abandoned,
            On::Sockets(sockets) if sockets.process().has_ended() => return Need::Abandoned,
            On::Socket(_) => true,
            On::Sockets(sockets) => !sockets.are_idle(),
            On::Cgroup(cgroup) => cgroup.exists(),
            On::Command(_) | On::Processes => {
                self.forget_ended(claims, claim);
                claims.crowd(claim).members > 0
            }
        };
        if is_needed { Need::Stays } else { Need::Over }
    }

    /// Ends it; `is_empty` where no process is left that could have a connection.
    pub(crate) fn end(&mut self, claims: &mut Claims, is_empty: bool) {
        let ended = match is_empty {
            true => self.held.leave(),
            false => self.held.release(),
        };
        if let Err(error) = ended {
            tracing::warn!("{}: while letting go: {}", self.id, describe(&error));
        }
        if let Some(claim) = self.claim.take() {
            claims.end(claim);
        }
    }

    /// What came of it so far.
    pub(crate) fn summary(&mut self, claims: &Claims) -> Summary {
        let crowd = self.crowd(claims);
        let mut summary = self.held.summary();
        summary.seen = self.watch.as_ref().map(Watch::seen).unwrap_or_default();
        if let Some(reason) = &self.ended {
            summary.ended_early = Some(reason.clone());
        }
        summary.since_restart = self.is_taken_up;
        summary.processes_left = crowd.members as usize;
        if crowd.missed > 0 {
            let text = format!("{} processes that found no room", crowd.missed);
            summary.out_of_reach.push(text);
        }
        summary
    }

    /// Who belongs to it, but for the one who attends to a command.
    fn crowd(&self, claims: &Claims) -> Crowd {
        let Some(claim) = &self.claim else {
            return Crowd::default();
        };
        self.forget_ended(claims, claim);
        let mut crowd = claims.crowd(claim);
        if let On::Command(Some(starter)) = &self.on
            && claims.of_process(starter.pid) == Some(claim.number())
        {
            crowd.members = crowd.members.saturating_sub(1);
        }
        crowd
    }

    fn forget_ended(&self, claims: &Claims, claim: &Claim) {
        for (pid, started_ticks) in &self.added {
            claims.forget_ended(claim, *pid, *started_ticks);
        }
    }

    /// As it is listed.
    pub(crate) fn record(&self) -> HeldRecord {
        let attached = self.attached.clone();
        let in_force = self.held.in_force();
        let mut record = Record::new(attached, self.id.clone(), Backend::Kernel, in_force);
        record.since_unix_s = self.since_unix_s;
        HeldRecord {
            user: self.user,
            record,
        }
    }

    /// What the next service has to know.
    pub(crate) fn saved(&self, members: Vec<(u32, u64)>) -> SavedHold {
        let Policies {
            download,
            upload,
            minimum,
            keeps_code_point,
            ..
        } = self.held.policies();
        let in_force = self.held.in_force();
        SavedHold {
            id: self.id.clone(),
            user: self.user,
            groups: self.groups.clone(),
            attached: self.attached.clone(),
            since_unix_s: self.since_unix_s,
            policy: download.to_string(),
            upload_policy: upload.as_ref().map(ToString::to_string),
            minimum: minimum.as_ref().map(ToString::to_string),
            left_until: in_force.deadline.as_ref().and_then(left_until),
            keeps_code_point: *keeps_code_point,
            is_observing: in_force.is_observing,
            is_watched: self.watch.is_some(),
            starter: match &self.on {
                On::Command(Some(starter)) => Some((starter.pid, starter.started_ticks)),
                _ => None,
            },
            cgroup: match &self.on {
                On::Cgroup(cgroup) => Some(cgroup.id()),
                _ => None,
            },
            members,
        }
    }
}

/// What is left of what was to be transferred, unless that is nothing.
fn left_until(pursued: &Pursued) -> Option<Due> {
    Some(Due {
        by_unix_s: pursued.by_unix_s?,
        size_bytes: pursued.size_bytes.saturating_sub(pursued.done_bytes),
    })
    .filter(|due| due.size_bytes > 0)
}
