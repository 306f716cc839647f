// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Something is to be held for a user.

use std::os::fd::AsFd;

use ebb_algorithms::Policy;
use ebb_host::clock::unix_time;
use ebb_keeper::kernel::features;
use ebb_keeper::kernel::rules::Networks;
use ebb_keeper::protocol::{Due, Held as Active, Mine, Order, Socket, peer};
use ebb_keeper::registry::Attached;
use ebb_keeper::{
    Backend, Cgroup, Change, CopiedSocket, Held as _, KernelHeld, Minimum, Policies, UploadPolicy,
    Wanted, Watch,
};

use super::hold::{Hold, On, Starter};
use super::named::NamedSockets;
use super::no::No;
use super::own::{OwnProcess, OwnSocket, find_cgroup, same_numbers};
use super::requests::{Asking, has_its_sockets, is_same};
use super::{Keeping, Surroundings};

impl Keeping {
    /// Holds policies on what is the asker's own.
    pub(super) fn begin(
        &mut self,
        order: &Order,
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> Result<Active, No> {
        let user = asking.asker.uid;
        let mut groups = peer::groups_of(asking.connection)
            .map_err(|error| format!("your groups cannot be told: {error}"))?;
        groups.push(asking.asker.gid);
        // A program has no other way to it than this.
        let is_of_sockets = matches!(order.whose, Mine::Socket(_) | Mine::Sockets);
        if user == 0 && !is_of_sockets {
            return Err(No::Refused(
                "root has the kernel backend without ebbd".to_owned(),
            ));
        }
        self.refuse_barred_user(user, &groups)?;
        let wanted = wanted(order)?;
        let before = match &order.whose {
            Mine::Sockets => self.named_by(&asking),
            Mine::Socket(socket) => self.singly(socket, &asking),
            _ => None,
        };
        if let Some(id) = before.map(|hold| hold.id.clone()) {
            return self.again(id, &wanted);
        }
        self.refuse_one_more(user)?;
        let hold = self.hold_whose(&order.whose, asking, &wanted, around)?;
        Ok(self.add(hold, groups, order.is_watched, &wanted, around))
    }

    fn hold_whose(
        &mut self,
        whose: &Mine,
        asking: Asking<'_>,
        wanted: &Policies,
        around: &Surroundings<'_>,
    ) -> Result<Hold, No> {
        let user = asking.asker.uid;
        match whose {
            Mine::Command { words } => {
                let starter = OwnProcess::who_asks(&asking.asker, asking.connection)?;
                self.refuse_overlap(starter.pid, user, around)?;
                self.hold_command(starter, words.clone(), wanted, user)
            }
            Mine::Process { pid, started_ticks } => {
                same_numbers(&asking.asker)?;
                let process = OwnProcess::find(*pid, *started_ticks, user)?;
                self.refuse_overlap(process.pid, user, around)?;
                self.hold_process(process, wanted, user)
            }
            Mine::Cgroup { cgroup, number } => {
                let cgroup = find_cgroup(cgroup, *number, user, &self.below)?;
                self.refuse_overlap_of_cgroup(&cgroup, user, around)?;
                self.hold_cgroup(cgroup, wanted, user)
            }
            Mine::Socket(socket) => {
                let process = OwnProcess::who_asks(&asking.asker, asking.connection)?;
                self.refuse_overlap(process.pid, user, around)?;
                let (socket, copy) = OwnSocket::find(process, *socket, user)?;
                self.hold_socket(socket, &copy, wanted, user)
            }
            Mine::Sockets => {
                let process = OwnProcess::who_asks(&asking.asker, asking.connection)?;
                self.refuse_overlap(process.pid, user, around)?;
                self.hold_sockets(process, wanted, user)
            }
        }
    }

    fn add(
        &mut self,
        mut hold: Hold,
        groups: Vec<u32>,
        is_watched: bool,
        wanted: &Policies,
        around: &Surroundings<'_>,
    ) -> Active {
        hold.groups = groups;
        hold.watch = is_watched.then(Watch::default);
        let mut networks = Networks::default();
        match &hold.on {
            // It has none yet.
            On::Command(_) | On::Sockets(_) => {}
            On::Socket(socket) => networks.add(socket.copy().as_ref().map(AsFd::as_fd)),
            On::Processes | On::Cgroup(_) => networks = Networks::any(),
        }
        self.take_over(&networks, around);
        let active = Active {
            id: hold.id.clone(),
            notices: self.anchors.notices(wanted),
        };
        self.look.forget();
        self.holds.insert(hold.id.clone(), hold);
        active
    }

    fn hold_command(
        &mut self,
        starter: OwnProcess,
        words: Vec<String>,
        wanted: &Policies,
        user: u32,
    ) -> Result<Hold, No> {
        let attached = Attached::Run {
            command: words,
            cgroup: None,
        };
        self.forget_former(&starter);
        let id = format!("run-{}", starter.pid);
        let mut hold = self.hold(id, attached, wanted, user)?;
        self.join(&mut hold, &starter)?;
        hold.on = On::Command(Some(Starter {
            pid: starter.pid,
            started_ticks: starter.started_ticks,
            handle: starter.handle,
        }));
        Ok(hold)
    }

    fn hold_process(
        &mut self,
        process: OwnProcess,
        wanted: &Policies,
        user: u32,
    ) -> Result<Hold, No> {
        refuse_what_cannot_be_taken_over()?;
        let attached = Attached::Process { pid: process.pid };
        let id = format!("process-{}", process.pid);
        let mut hold = self.hold(id, attached, wanted, user)?;
        self.join_family(&mut hold, &process)?;
        Ok(hold)
    }

    fn hold_cgroup(&mut self, cgroup: Cgroup, wanted: &Policies, user: u32) -> Result<Hold, No> {
        refuse_what_cannot_be_taken_over()?;
        let attached = Attached::Cgroup {
            cgroup: cgroup.path().to_path_buf(),
        };
        let id = format!("cgroup-{}", cgroup.id());
        let mut hold = self.hold(id, attached, wanted, user)?;
        if let Some(claim) = &hold.claim
            && let Err(error) = self.claims.add_cgroup(claim, &cgroup)
        {
            hold.end(&mut self.claims, true);
            return Err(error.into());
        }
        hold.on = On::Cgroup(cgroup);
        Ok(hold)
    }

    fn hold_socket(
        &mut self,
        socket: OwnSocket,
        copy: &CopiedSocket,
        wanted: &Policies,
        user: u32,
    ) -> Result<Hold, No> {
        refuse_what_cannot_be_taken_over()?;
        let attached = socket.attached();
        let Attached::Socket { cookie, .. } = attached else {
            unreachable!("a socket is attached as one");
        };
        let mut hold = self.hold(format!("socket-{cookie}"), attached, wanted, user)?;
        let Some(claim) = &hold.claim else {
            return Ok(hold);
        };
        let why = match self.claims.add_socket(claim, copy.as_fd()) {
            Ok(true) => {
                hold.on = On::Socket(socket);
                return Ok(hold);
            }
            Ok(false) => No::Already("this socket is under a policy already".to_owned()),
            Err(error) => error.into(),
        };
        hold.end(&mut self.claims, true);
        Err(why)
    }

    fn hold_sockets(
        &mut self,
        process: OwnProcess,
        wanted: &Policies,
        user: u32,
    ) -> Result<Hold, No> {
        refuse_what_cannot_be_taken_over()?;
        let attached = Attached::Sockets { pid: process.pid };
        let id = format!("sockets-{}", process.pid);
        let mut hold = self.hold(id, attached, wanted, user)?;
        hold.on = On::Sockets(NamedSockets::of(process));
        Ok(hold)
    }

    /// What is held for one socket of who asks, if there is anything.
    fn singly(&self, socket: &Socket, asking: &Asking<'_>) -> Option<&Hold> {
        let mut holds = self.holds.values().filter(|hold| hold.is_in_force());
        let is_it = |hold: &&Hold| match &hold.on {
            On::Socket(own) => own.is(socket) && has_its_sockets(hold, *asking),
            _ => false,
        };
        holds.find(is_it)
    }

    /// Who asks has it held already: whoever asked for it heard of it too late, or was executed over.
    /// What it has at the least is what was asked for last.
    fn again(&mut self, id: String, wanted: &Policies) -> Result<Active, No> {
        let hold = self.holds.get_mut(&id);
        let hold = hold.filter(|hold| is_same(hold.held.policies(), wanted));
        let Some(hold) = hold else {
            return Err(No::Already(format!(
                "you have that held by another policy: {id}; detach that first"
            )));
        };
        if hold.held.policies().minimum != wanted.minimum {
            hold.held.change(&Change::Minimum(wanted.minimum))?;
        }
        let notices = self.anchors.notices(wanted);
        Ok(Active { id, notices })
    }

    /// Who starts another command hears no more of the one before, whose policy has ended.
    fn forget_former(&mut self, starter: &OwnProcess) {
        let is_former = |hold: &Hold| match &hold.on {
            On::Command(Some(of)) => {
                !hold.is_in_force()
                    && (of.pid, of.started_ticks) == (starter.pid, starter.started_ticks)
            }
            _ => false,
        };
        self.holds.retain(|_, hold| !is_former(hold));
    }

    /// Numbers of processes are used again, while what a former process has left may be held still,
    /// and be another user's.
    fn free_id(&self, id: String) -> String {
        let others = (2..).map(|number: u32| format!("{id}-{number}"));
        let mut all = std::iter::once(id.clone()).chain(others);
        let free = all.find(|id| !self.holds.contains_key(id));
        free.unwrap_or(id)
    }

    /// The policies as the kernel can have them, loaded.
    pub(crate) fn find_policies(&mut self, wanted: &Policies, user: u32) -> Result<Policies, No> {
        let holds = &self.holds;
        self.refuse_many_policies(wanted, user)?;
        let has = |policies: &Policies| {
            let mut all = holds.values().filter(|hold| hold.is_in_force());
            all.any(|hold| is_same(hold.held.policies(), policies))
        };
        let loaded = Policies {
            minimum: None,
            deadline: None,
            ..wanted.clone()
        };
        let anchor = self.anchors.find(&loaded, &mut self.claims, has)?;
        Ok(Policies {
            minimum: wanted.minimum,
            deadline: wanted.deadline,
            ..anchor.policies.clone()
        })
    }

    pub(super) fn hold(
        &mut self,
        id: String,
        attached: Attached,
        wanted: &Policies,
        user: u32,
    ) -> Result<Hold, No> {
        let id = self.free_id(id);
        let policies = self.find_policies(wanted, user)?;
        let claim = self.claims.begin(user)?;
        let selection = self.claims.selection(&claim);
        let held = KernelHeld::hold_claim(&self.below, selection, &policies, true);
        let held = match held {
            Ok(held) => held,
            Err(error) => {
                self.claims.end(claim);
                return Err(error.into());
            }
        };
        Ok(Hold {
            id,
            user,
            groups: Vec::new(),
            attached,
            since_unix_s: unix_time().as_secs(),
            held,
            claim: Some(claim),
            on: On::Processes,
            added: Vec::new(),
            watch: None,
            is_taken_up: false,
            ended: None,
        })
    }
}

/// What connections are to have at the least.
pub(super) fn parse_minimum(text: Option<&str>) -> Result<Minimum, No> {
    Ok(text.map_or(Ok(Minimum(None)), str::parse)?)
}

/// What an order asks for.
fn wanted(order: &Order) -> Result<Policies, No> {
    let download = order.policy.as_deref().map(Policy::receiver).transpose();
    let upload = order
        .upload_policy
        .as_deref()
        .map(str::parse::<UploadPolicy>);
    let wanted = Wanted {
        download: download.map_err(ebb_keeper::Error::from)?,
        upload: upload.transpose().map_err(ebb_keeper::Error::from)?,
        keeps_code_point: order.keeps_code_point,
        minimum: parse_minimum(order.minimum.as_deref())?.0,
        deadline: order.deadline.map(Due::deadline).transpose()?,
    };
    Ok(Policies::new(&wanted, Backend::Kernel)?)
}

fn refuse_what_cannot_be_taken_over() -> Result<(), No> {
    match features::takes_over_downloads() {
        true => Ok(()),
        false => Err(No::Refused(
            "this kernel cannot have downloads taken over that run already, which takes Linux 6.12: \
             the user backend can (--backend user), and 'ebb run' holds what it starts"
                .to_owned(),
        )),
    }
}
