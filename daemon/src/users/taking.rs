// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who belongs to what is held: those that exist, and after a restart those that are left.

use ebb_algorithms::Policy;
use ebb_host::{Family, ProcessHandle, lives_still};
use ebb_keeper::kernel::rules::Networks;
use ebb_keeper::protocol::Due;
use ebb_keeper::registry::Attached;
use ebb_keeper::{Cgroup, Change, Held, Policies, UploadPolicy, Watch, describe};

use super::beginning::parse_minimum;
use super::hold::{Hold, On, Starter};
use super::no::No;
use super::own::OwnProcess;
use super::saved::{Saved, SavedHold};
use super::{Keeping, Surroundings};

/// No more processes are looked for: the kernel follows as many of one hold.
const MOST_PROCESSES: usize = 4_096;

impl Keeping {
    /// Makes a process a member.
    pub(super) fn join(&mut self, hold: &mut Hold, process: &OwnProcess) -> Result<(), No> {
        let Some(claim) = &hold.claim else {
            return Ok(());
        };
        let added = self.claims.add_process(claim, process.pid, &process.handle);
        hold.added.push((process.pid, process.started_ticks));
        let why = match added {
            Ok(true) => return Ok(()),
            Ok(false) => No::Refused(format!("process {} has ended", process.pid)),
            Err(error) => error.into(),
        };
        hold.end(&mut self.claims, true);
        Err(why)
    }

    /// Makes a process and its descendants members, with the sockets that they have.
    pub(super) fn join_family(&mut self, hold: &mut Hold, process: &OwnProcess) -> Result<(), No> {
        self.join(hold, process)?;
        let mut family = match Family::of(process.pid) {
            Ok(family) => family,
            Err(error) => {
                hold.end(&mut self.claims, true);
                return Err(No::Refused(error.to_string()));
            }
        };
        // Who is forked by a member is one; who was forked before its parent was is found next time.
        loop {
            family.update();
            let found = family.members().collect::<Vec<_>>();
            if found.len() > MOST_PROCESSES {
                hold.end(&mut self.claims, true);
                return Err(No::Refused(format!(
                    "process {} has more than {MOST_PROCESSES} descendants: name one of them",
                    process.pid
                )));
            }
            if !self.join_all(hold, &found)? {
                break;
            }
        }
        self.note_sockets(hold);
        Ok(())
    }

    /// Makes processes members that are the user's, and are none yet; answers whether there were any.
    fn join_all(&mut self, hold: &mut Hold, found: &[(u32, u64)]) -> Result<bool, No> {
        let mut has_new = false;
        for (pid, started_ticks) in found {
            if self.claims.of_process(*pid).is_some() {
                continue;
            }
            // What runs as somebody else is not the user's, nor what has ended meanwhile.
            if let Ok(process) = OwnProcess::find(*pid, *started_ticks, hold.user) {
                self.join(hold, &process)?;
                has_new = true;
            }
        }
        Ok(has_new)
    }

    fn note_sockets(&self, hold: &Hold) {
        for (pid, _) in &hold.added {
            if let Err(error) = self.claims.note_sockets(*pid) {
                tracing::warn!("process {pid}: {error}");
            }
        }
    }

    /// Takes over the connections in these networks that are claimed and not governed yet.
    pub(super) fn take_over(&mut self, networks: &Networks, around: &Surroundings<'_>) {
        if let Err(error) = around.classifier.take_over_in(networks) {
            tracing::warn!("while connections were taken over: {error}");
        }
    }

    /// Takes up again what the last service held, as far as it is left.
    pub(super) fn take_up(&mut self, around: &Surroundings<'_>) {
        let (_, saved) = Saved::open(around.records);
        for saved in saved {
            let (id, user) = (saved.id.clone(), saved.user);
            match self.take_up_one(saved) {
                Ok(None) => {}
                Ok(Some(hold)) => drop(self.holds.insert(hold.id.clone(), hold)),
                Err(No::Already(cause) | No::Refused(cause)) => {
                    tracing::warn!("{id} of user {user} is not taken up again: {cause}");
                }
            }
        }
        if !self.holds.is_empty() {
            self.take_over(&Networks::any(), around);
        }
    }

    /// None: nobody of it is left.
    fn take_up_one(&mut self, saved: SavedHold) -> Result<Option<Hold>, No> {
        self.refuse_barred_user(saved.user, &saved.groups)?;
        self.refuse_one_more(saved.user)?;
        let Some(left) = Left::of(&saved)? else {
            return Ok(None);
        };
        let policies = policies(&saved)?;
        let mut hold = self.hold(saved.id, saved.attached, &policies, saved.user)?;
        hold.groups = saved.groups;
        hold.since_unix_s = saved.since_unix_s;
        hold.is_taken_up = true;
        hold.watch = saved.is_watched.then(Watch::default);
        if let (Some(claim), On::Cgroup(cgroup)) = (&hold.claim, &left.on)
            && let Err(error) = self.claims.add_cgroup(claim, cgroup)
        {
            hold.end(&mut self.claims, true);
            return Err(error.into());
        }
        hold.on = left.on;
        // Twice: what is forked meanwhile is found the second time.
        for _ in 0..2 {
            self.join_all(
                &mut hold,
                &left.members.iter().flat_map(family).collect::<Vec<_>>(),
            )?;
        }
        self.note_sockets(&hold);
        if saved.is_observing
            && let Err(error) = hold.held.change(&Change::Observing(true))
        {
            tracing::warn!("{}: {}", hold.id, describe(&error));
        }
        Ok(Some(hold))
    }
}

/// What is left of a hold.
struct Left {
    on: On,
    members: Vec<(u32, u64)>,
}

impl Left {
    fn of(saved: &SavedHold) -> Result<Option<Self>, No> {
        if let (Attached::Cgroup { cgroup }, Some(number)) = (&saved.attached, saved.cgroup) {
            let cgroup = Cgroup::below_root(cgroup).ok();
            let cgroup = cgroup.filter(|cgroup| {
                cgroup.id() == number && cgroup.owner().is_ok_and(|owner| owner == saved.user)
            });
            return Ok(cgroup.map(|cgroup| Self {
                on: On::Cgroup(cgroup),
                members: Vec::new(),
            }));
        }
        let starter = match saved.starter {
            None => None,
            // Who attended to it has gone meanwhile: nothing may stay throttled on its account.
            Some((pid, started_ticks)) if !lives_still(pid, started_ticks) => return Ok(None),
            Some((pid, started_ticks)) => Some(Starter {
                pid,
                started_ticks,
                handle: ProcessHandle::open(pid).map_err(|error| error.to_string())?,
            }),
        };
        let mut members = saved.members.clone();
        members.extend(saved.starter);
        members.retain(|(pid, started_ticks)| lives_still(*pid, *started_ticks));
        let on = match &saved.attached {
            Attached::Run { .. } => On::Command(starter),
            _ => On::Processes,
        };
        Ok((!members.is_empty()).then_some(Self { on, members }))
    }
}

/// A process that was a member, and its descendants.
fn family((pid, started_ticks): &(u32, u64)) -> Vec<(u32, u64)> {
    let Ok(mut family) = Family::of(*pid) else {
        return Vec::new();
    };
    family.update();
    let members: Vec<(u32, u64)> = family.members().collect();
    match members.contains(&(*pid, *started_ticks)) {
        true => members,
        false => Vec::new(),
    }
}

fn policies(saved: &SavedHold) -> Result<Policies, No> {
    let download = Policy::receiver(&saved.policy).map_err(ebb_keeper::Error::from)?;
    let upload = saved
        .upload_policy
        .as_deref()
        .map(str::parse::<UploadPolicy>);
    let upload = upload.transpose().map_err(ebb_keeper::Error::from)?;
    Ok(Policies {
        download,
        upload: upload.and_then(|upload| upload.policy().cloned()),
        minimum: parse_minimum(saved.minimum.as_deref())?.0,
        deadline: saved.left_until.map(Due::deadline).transpose()?,
        keeps_code_point: saved.keeps_code_point,
        needs_upload: false,
    })
}
