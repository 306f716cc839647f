// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whom nothing is held for, and what others act on already.

use std::fs;
use std::path::Path;

use ebb_keeper::registry::{Attached, Record};
use ebb_keeper::{Cgroup, Policies};

use super::hold::{Hold, On};
use super::no::No;
use super::own::elsewhere;
use super::requests::is_same;
use super::{Keeping, Surroundings};
use crate::groups::Barred;

/// One user may have so many policies beside that of the service.
const DIFFERENT_OF_ONE: usize = 4;

impl Keeping {
    /// Whether a user may have policies at all.
    pub(super) fn refuse_barred_user(&self, user: u32, groups: &[u32]) -> Result<(), No> {
        match self.settings.refusal(user, groups) {
            Some(why) => Err(why.into()),
            None => Ok(()),
        }
    }

    /// Whether a user may have one more policy in force.
    pub(super) fn refuse_one_more(&self, user: u32) -> Result<(), No> {
        let most = self.settings.policies;
        // Also what has ended for who attends to a command still: that is remembered for it.
        let all = self.holds.values().filter(|hold| hold.user == user);
        match all.count() < most {
            true => Ok(()),
            false => Err(No::Refused(format!(
                "you have {most} policies here already, which is the most: 'ebb status' lists those \
                 in force, 'ebb detach' ends one; that of a command goes with the command"
            ))),
        }
    }

    /// One user is not to have all the room that there is for policies.
    pub(super) fn refuse_many_policies(&self, wanted: &Policies, user: u32) -> Result<(), No> {
        let mut different: Vec<&Policies> = Vec::new();
        let own = self.holds_of(user).map(|hold| hold.held.policies());
        for policies in own.filter(|policies| !self.anchors.is_own(policies)) {
            if !different.iter().any(|other| is_same(other, policies)) {
                different.push(policies);
            }
        }
        let is_known =
            self.anchors.is_own(wanted) || different.iter().any(|it| is_same(it, wanted));
        match is_known || different.len() < DIFFERENT_OF_ONE {
            true => Ok(()),
            false => Err(No::Refused(format!(
                "you have {DIFFERENT_OF_ONE} different policies in force already, which is the most \
                 here: take one of them, or leave --policy and --upload-policy away"
            ))),
        }
    }

    fn holds_of(&self, user: u32) -> impl Iterator<Item = &Hold> {
        let holds = self.holds.values();
        holds.filter(move |hold| hold.user == user && hold.is_in_force())
    }

    /// Whether something acts on a process of a user's already, or may not.
    pub(super) fn refuse_overlap(
        &self,
        pid: u32,
        user: u32,
        around: &Surroundings<'_>,
    ) -> Result<(), No> {
        self.refuse_claimed(self.claims.of_process(pid), user)?;
        let cgroup = Cgroup::of_process(pid)?;
        if !cgroup.path().starts_with(self.below.path()) {
            return Err(elsewhere(cgroup.path(), &self.below).into());
        }
        self.refuse_claimed(self.claims.of_cgroup(&cgroup), user)?;
        refuse_barred(&cgroup, user, around)?;
        match held_by_hand(around.records, pid) {
            None => Ok(()),
            Some(record) => Err(No::Already(format!("root holds it already: {record}"))),
        }
    }

    /// The same for a cgroup of a user's.
    pub(super) fn refuse_overlap_of_cgroup(
        &self,
        cgroup: &Cgroup,
        user: u32,
        around: &Surroundings<'_>,
    ) -> Result<(), No> {
        self.refuse_claimed(self.claims.of_cgroup(cgroup), user)?;
        let is_inside = |hold: &&Hold| match &hold.on {
            On::Cgroup(held) => held.path().starts_with(cgroup.path()),
            On::Command(_) | On::Processes | On::Socket(_) | On::Sockets(_) => false,
        };
        if let Some(hold) = self.holds_of(user).find(is_inside) {
            return Err(already(hold));
        }
        refuse_barred(cgroup, user, around)
    }

    fn refuse_claimed(&self, number: Option<u32>, user: u32) -> Result<(), No> {
        let is_it = |hold: &&Hold| hold.claim.as_ref().map(|claim| claim.number()) == number;
        let number_is_known = number.is_some();
        let mut own = self.holds_of(user);
        match own.find(|hold| number_is_known && is_it(hold)) {
            None => Ok(()),
            Some(hold) => Err(already(hold)),
        }
    }
}

fn already(hold: &Hold) -> No {
    No::Already(format!(
        "it is part of what yields already: {}; 'ebb detach' ends that",
        hold.attached
    ))
}

fn refuse_barred(cgroup: &Cgroup, user: u32, around: &Surroundings<'_>) -> Result<(), No> {
    let path = cgroup.path().display();
    match around.groups.bars(around.classifier, cgroup.id(), user) {
        None => Ok(()),
        Some(Barred::ByHand) => Err(No::Already(format!(
            "root holds cgroup {path} by hand, or has started it under 'ebb run'"
        ))),
        Some(Barred::ByRule(name)) => Err(No::Already(format!(
            "the rule {name} of this machine holds for all that you run in cgroup {path}"
        ))),
    }
}

/// What root has attached to a process that is the one of this number, or above it.
fn held_by_hand(records: &Path, pid: u32) -> Option<Attached> {
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    let of_processes = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("process-") && name.ends_with(".json")
    });
    let read = of_processes.filter_map(|entry| {
        let record: Record = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
        Some(record).filter(|record| ebb_host::exists(record.keeper_pid))
    });
    let mut attached = read.map(|record| record.attached);
    attached.find(|attached| match attached {
        Attached::Process { pid: held } => {
            *held == pid || ebb_host::descendants_of(*held).contains(&pid)
        }
        _ => false,
    })
}
