// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What users ask for, and what comes of it.

use std::collections::HashSet;
use std::os::fd::BorrowedFd;

use ebb_algorithms::Policy;
use ebb_keeper::protocol::{
    Asker, HeldRecord, Mine, Part, Reply, Request, ServiceReply, ServiceRequest, Switch, peer,
};
use ebb_keeper::{Cgroup, FlowView, Policies, UploadPolicy, obey};

use super::hold::{Hold, On};
use super::look::Look;
use super::no::No;
use super::{Keeping, Surroundings};

/// Who asks, and through what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) asker: Asker,
    pub(crate) connection: BorrowedFd<'a>,
}

impl Keeping {
    /// Does what is asked for, if it is the asker's own.
    pub(crate) fn answer(
        &mut self,
        request: &ServiceRequest,
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> ServiceReply {
        let asker = asking.asker;
        let answered = match request {
            ServiceRequest::Hold(order) => {
                self.begin(order, asking, around).map(ServiceReply::Held)
            }
            ServiceRequest::Finish { id } => self.finish(id, asker),
            ServiceRequest::Records => Ok(ServiceReply::Records(self.records_for(asker))),
            ServiceRequest::Find(mine) => Ok(ServiceReply::Records(self.find(mine, asker))),
            ServiceRequest::Ask { id, request } => self.ask(id, request, asking, around),
            ServiceRequest::FlowsOf { cookies } => Ok(self.flows_of(cookies, asking, around)),
            ServiceRequest::Add { id, sockets } => self.add_sockets(id, sockets, asking, around),
            ServiceRequest::Drop { id, cookies } => self.drop_sockets(id, cookies, asking, around),
            ServiceRequest::LetGo { ids, cookies } => self.let_go(ids, cookies, asking, around),
        };
        answered.unwrap_or_else(|no| match no {
            No::Already(cause) => ServiceReply::AlreadyAttached { cause },
            No::Refused(cause) => ServiceReply::Refused { cause },
        })
    }

    fn finish(&mut self, id: &str, asker: Asker) -> Result<ServiceReply, No> {
        let claims = &mut self.claims;
        let hold = self.holds.get_mut(id).filter(|hold| hold.user == asker.uid);
        let hold = hold.ok_or_else(|| nothing(id))?;
        let On::Command(starter) = &mut hold.on else {
            return Err(nothing(id));
        };
        if starter
            .as_ref()
            .is_none_or(|it| Ok(it.pid) != u32::try_from(asker.pid))
        {
            return Err(nothing(id));
        }
        let summary = hold.summary(claims);
        hold.on = On::Command(None);
        if summary.processes_left == 0 || !hold.is_in_force() {
            hold.end(claims, true);
            self.holds.remove(id);
        }
        Ok(ServiceReply::Summary(Box::new(summary)))
    }

    fn records_for(&self, asker: Asker) -> Vec<HeldRecord> {
        let seen = self.holds.values().filter(|hold| hold.is_in_force());
        let mut records: Vec<HeldRecord> = seen
            .filter(|hold| may_ask(hold, asker))
            .map(Hold::record)
            .collect();
        records.sort_by_key(|held| held.record.since_unix_s);
        records
    }

    fn find(&self, mine: &Mine, asker: Asker) -> Vec<HeldRecord> {
        let number = match mine {
            Mine::Process { pid, .. } => self.claims.of_process(*pid),
            Mine::Cgroup { cgroup, number } => Cgroup::below_root(cgroup)
                .ok()
                .filter(|cgroup| cgroup.id() == *number)
                .and_then(|cgroup| self.claims.of_cgroup(&cgroup)),
            Mine::Command { .. } | Mine::Socket(_) | Mine::Sockets => None,
        };
        let is_it = |hold: &&Hold| {
            let own = hold.claim.as_ref().map(|claim| claim.number());
            own.is_some() && own == number && may_ask(hold, asker)
        };
        self.holds
            .values()
            .filter(is_it)
            .map(Hold::record)
            .collect()
    }

    fn ask(
        &mut self,
        id: &str,
        request: &Request,
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> Result<ServiceReply, No> {
        let asker = asking.asker;
        let seen = self.holds.get(id).filter(|it| may_look(it, asking));
        let hold = seen
            .filter(|hold| hold.is_in_force())
            .ok_or_else(|| nothing(id))?;
        let number = hold.claim.as_ref().map_or(0, |claim| claim.number());
        if *request == Request::Flows {
            let flows = flows_under(&mut self.look, hold, around);
            return Ok(ServiceReply::Answer(Reply::Flows(flows)));
        }
        if let Request::Switch {
            whose: Part::Process { pid },
            ..
        } = request
            && self.claims.of_process(*pid) != Some(number)
        {
            return Err(format!("process {pid} does not belong to it").into());
        }
        self.prepare_change(id, request)?;
        let Some(hold) = self.holds.get_mut(id) else {
            return Err(nothing(id));
        };
        let reply = obey(&mut hold.held, request);
        self.look.forget();
        if *request == Request::Detach {
            self.note_detached(id, asker);
        }
        reply.map(ServiceReply::Answer).map_err(No::from)
    }

    /// What is another user's is not told apart from what does not exist.
    fn flows_of(
        &mut self,
        cookies: &[u64],
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> ServiceReply {
        let wanted: HashSet<u64> = cookies.iter().copied().collect();
        let holds = self.holds.values().filter(|hold| hold.is_in_force());
        let mut told = Vec::new();
        for hold in holds.filter(|hold| may_look(hold, asking)) {
            let flows = flows_under(&mut self.look, hold, around);
            told.extend(flows.into_iter().filter(|it| wanted.contains(&it.cookie)));
        }
        ServiceReply::Answer(Reply::Flows(told))
    }

    /// Who attends to a command is to hear of it in the end.
    fn note_detached(&mut self, id: &str, asker: Asker) {
        let Some(hold) = self.holds.get_mut(id) else {
            return;
        };
        hold.end(&mut self.claims, false);
        let by = if asker.uid == hold.user {
            ""
        } else {
            " by root"
        };
        hold.ended = Some(format!("it was detached{by}"));
        if !matches!(hold.on, On::Command(Some(_))) {
            self.holds.remove(id);
        }
    }

    /// Loads the programs of policies that are about to come, within what users may have.
    fn prepare_change(&mut self, id: &str, request: &Request) -> Result<(), No> {
        let Some(hold) = self.holds.get(id) else {
            return Err(nothing(id));
        };
        let mut policies = hold.held.policies().clone();
        match request {
            Request::SetPolicy(text) => {
                policies.download = Policy::receiver(text).map_err(ebb_keeper::Error::from)?;
            }
            Request::SetUploadPolicy(text) => {
                let chosen = text.parse::<UploadPolicy>();
                let chosen = chosen.map_err(ebb_keeper::Error::from)?;
                policies.upload = chosen.policy().cloned();
                policies.needs_upload = policies.upload.is_some();
            }
            Request::Switch {
                to: Switch::Policy(_),
                ..
            } => {
                return Err(ebb_keeper::Error::OnePolicy.into());
            }
            _ => return Ok(()),
        }
        let user = hold.user;
        self.find_policies(&policies, user).map(drop)
    }
}

/// Whether programs that are loaded for one serve the other.
pub(crate) fn is_same(one: &Policies, other: &Policies) -> bool {
    one.download == other.download
        && one.upload == other.upload
        && one.keeps_code_point == other.keeps_code_point
}

fn may_ask(hold: &Hold, asker: Asker) -> bool {
    asker.uid == hold.user || asker.uid == 0
}

/// Whether who asks may hear of its connections.
pub(super) fn may_look(hold: &Hold, asking: Asking<'_>) -> bool {
    may_ask(hold, asking.asker) || has_its_sockets(hold, asking)
}

/// The connections under it, as they are told of.
fn flows_under(look: &mut Look, hold: &Hold, around: &Surroundings<'_>) -> Vec<FlowView> {
    let number = hold.claim.as_ref().map_or(0, |claim| claim.number());
    let mut flows = look.at(around.classifier, number);
    hold.held.mark(&mut flows);
    flows
}

/// Whether the sockets are of the process that asks, which may have changed its user since.
pub(super) fn has_its_sockets(hold: &Hold, asking: Asking<'_>) -> bool {
    let pid = asking.asker.pid;
    let owner = match &hold.on {
        On::Socket(socket) => socket.owner(),
        On::Sockets(sockets) => sockets.owner(),
        _ => return false,
    };
    // Two that live do not have one number.
    owner.is(pid) && peer::process_of(asking.connection, pid).is_ok_and(|it| !it.has_ended())
}

pub(super) fn nothing(id: &str) -> No {
    No::Refused(format!(
        "nothing of the name {id:?} is held for you: 'ebb status' tells what is"
    ))
}
