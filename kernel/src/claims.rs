// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims: a user's own connections come under a policy because the user says so, those of
//! processes and whatever they fork, or of cgroups.
//!
//! As with rules, the kernel itself judges each connection when it is made, and the programs of one
//! policy serve all claims. Who belongs to a claim is handed on as a process forks, before the child
//! runs. A claim concerns sockets of its user alone, whoever has made a process or a cgroup a member;
//! where a rule holds the claim does not.

use crate::cgroup::Cgroup;
use crate::error::{Error, Result};
use crate::layout::{Claimed, Constant, Member};
use crate::object::{held, load_error};
use crate::programs::Programs;
use crate::rules::{Classifier, RuleMaps, trace};
use crate::selection::{RuleSelection, Selection};
use crate::skeleton::claims::{ClaimsSkel, ClaimsSkelBuilder};
use crate::sys;
use crate::tables::{keys_of, table};
use ebb_host::clock::monotonic_ns;
use ebb_host::{ProcessHandle, SharedMemory, is_first_pid_namespace, started_ticks};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod sockets;

/// There are no more claims at a time.
pub const MAX_CLAIMS: usize = Constant::EBB_MAX_CLAIMS.0 as usize;

/// Follows what users have claimed, for as long as it lives.
pub struct Claims {
    maps: Arc<RuleMaps>,
    members: OwnedFd,
    note_files: OwnedFd,
    table: SharedMemory<[Claimed; MAX_CLAIMS]>,
    /// The last that was given.
    turn: u64,
    free: VecDeque<u32>,
    /// Numbers of claims that have ended: connections may still have them.
    left: Vec<u32>,
    _links: [OwnedFd; 5],
}

/// A claim that stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    number: u32,
    turn: u64,
}

/// Who belongs to a claim, as far as it can be said in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Processes that live.
    pub members: u32,
    /// Processes that are not followed: there were too many.
    pub missed: u32,
}

impl Claim {
    /// Its number, as [`Glance`](crate::Glance) has it.
    pub fn number(&self) -> u32 {
        Constant::EBB_FIRST_CLAIM.0 + self.number
    }
}

impl Claims {
    /// Loads the programs that follow processes, for sockets that are made below the cgroup of the
    /// classifier.
    ///
    /// *Errors*: [`Error::InnerPidNamespace`]; the kernel refuses them; [`Error::NotPermitted`].
    pub fn load(classifier: &Classifier) -> Result<Self> {
        if !is_first_pid_namespace() {
            return Err(Error::InnerPidNamespace);
        }
        let mut storage = MaybeUninit::uninit();
        let loaded = load(&classifier.maps, &mut storage)?;
        let programs = &loaded.progs;
        let note_claim =
            sys::link_to_cgroup(programs.ebb_note_claim.as_fd(), classifier.below.as_fd());
        let links = [
            trace(programs.ebb_fork.as_fd(), "ebb_fork")?,
            trace(programs.ebb_exit.as_fd(), "ebb_exit")?,
            trace(programs.ebb_mkdir_below.as_fd(), "ebb_mkdir_below")?,
            trace(programs.ebb_rmdir_below.as_fd(), "ebb_rmdir_below")?,
            note_claim.map_err(|source| Error::Program {
                what: "ebb_note_claim".to_owned(),
                action: "attach",
                source,
            })?,
        ];
        // SAFETY: an array that can be mapped, with as many claims.
        let mapped = unsafe { SharedMemory::map(classifier.maps.claims.as_fd()) };
        Ok(Self {
            maps: Arc::clone(&classifier.maps),
            members: held(loaded.maps.ebb_members.as_fd(), "ebb_members")?,
            note_files: held(programs.ebb_note_files.as_fd(), "ebb_note_files")?,
            table: mapped.map_err(|source| Error::Program {
                what: "ebb_claims".to_owned(),
                action: "map",
                source,
            })?,
            // No two that live have turns in common.
            turn: monotonic_ns(),
            free: (0..MAX_CLAIMS as u32).collect(),
            left: Vec::new(),
            _links: links,
        })
    }

    /// A new claim of a user, to which nobody belongs yet.
    ///
    /// *Errors*: [`Error::TooManyClaims`]; as [`Self::forget_left`].
    pub fn begin(&mut self, user: u32) -> Result<Claim> {
        if self.free.is_empty() {
            self.forget_left()?;
        }
        let number = self
            .free
            .pop_front()
            .ok_or(Error::TooManyClaims { most: MAX_CLAIMS })?;
        self.turn += 1;
        let of = |offset| self.word(number, offset);
        of(offset_of!(Claimed, user)).store(user, Ordering::Relaxed);
        of(offset_of!(Claimed, members)).store(0, Ordering::Relaxed);
        of(offset_of!(Claimed, missed)).store(0, Ordering::Relaxed);
        self.set_turn(number, self.turn);
        Ok(Claim {
            number,
            turn: self.turn,
        })
    }

    /// The connections of a claim, for an attachment to the cgroup that all are below.
    pub fn selection(&self, claim: &Claim) -> Selection {
        Selection::Rule(RuleSelection {
            maps: Arc::clone(&self.maps),
            rule: claim.number(),
        })
    }

    /// Makes a process a member: what it forks, and every socket that it makes, from now on. Its
    /// handle makes sure that it is still the one of that number. Answers whether it lives.
    ///
    /// *Errors*: [`Error::Program`]: there are too many.
    pub fn add_process(&self, claim: &Claim, pid: u32, process: &ProcessHandle) -> Result<bool> {
        let Some(started_ticks) = started_ticks(pid) else {
            return Ok(false);
        };
        let member = self.noted(claim, started_ticks);
        let members = self.word(claim.number, offset_of!(Claimed, members));
        members.fetch_add(1, Ordering::AcqRel);
        let map = self.members.as_fd();
        let before = self.member(pid);
        sys::update(map, &pid.to_ne_bytes(), bytes_of(&member)).map_err(|source| {
            members.fetch_sub(1, Ordering::AcqRel);
            table("ebb_members", source)
        })?;
        self.note_taken_away(before, started_ticks);
        let has_ended = process.has_ended();
        if has_ended {
            self.remove(claim, pid);
        }
        Ok(!has_ended)
    }

    /// A claim has one member less, if this was one of it and lives.
    fn note_taken_away(&self, member: Option<Member>, started_ticks: u64) {
        if let Some(member) = member.filter(|member| member.started_ticks == started_ticks)
            && self.standing(&member).is_some()
        {
            let members = self.word(member.claim, offset_of!(Claimed, members));
            members.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Takes a member off if it has ended: one that was about to when it was made one is not taken
    /// off by the kernel. Those that members fork always are.
    pub fn forget_ended(&self, claim: &Claim, pid: u32, started_ticks: u64) {
        let is_it =
            |member: Member| member.turn == claim.turn && member.started_ticks == started_ticks;
        if self.member(pid).is_some_and(is_it) && !ebb_host::lives_still(pid, started_ticks) {
            self.remove(claim, pid);
        }
    }

    fn remove(&self, claim: &Claim, pid: u32) {
        // Whoever takes it off counts it; it may be the kernel.
        if sys::delete(self.members.as_fd(), &pid.to_ne_bytes()).is_ok() {
            let members = self.word(claim.number, offset_of!(Claimed, members));
            members.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The number of the claim that a process belongs to, if it stands.
    pub fn of_process(&self, pid: u32) -> Option<u32> {
        let member = self.member(pid)?;
        let is_it = Some(member.started_ticks) == started_ticks(pid);
        is_it.then(|| self.standing(&member)).flatten()
    }

    /// The number of the claim that a cgroup belongs to, if it stands.
    pub fn of_cgroup(&self, cgroup: &Cgroup) -> Option<u32> {
        let key = cgroup.id().to_ne_bytes();
        let noted = self.lookup(self.maps.claimed_groups.as_fd(), &key)?;
        self.standing(&noted)
    }

    /// The processes that belong to claims which stand, by their numbers; each with the moment at
    /// which it started, in ticks.
    pub fn members(&self) -> BTreeMap<u32, Vec<(u32, u64)>> {
        let mut members: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
        for pid in sys::numbers_in(self.members.as_fd()) {
            if let Some(member) = self.member(pid)
                && let Some(number) = self.standing(&member)
            {
                let of_claim = members.entry(number).or_default();
                of_claim.push((pid, member.started_ticks));
            }
        }
        members
    }

    /// How many belong to a claim.
    pub fn crowd(&self, claim: &Claim) -> Crowd {
        let count = |offset| self.word(claim.number, offset).load(Ordering::Acquire);
        Crowd {
            members: count(offset_of!(Claimed, members)),
            missed: count(offset_of!(Claimed, missed)),
        }
    }

    /// Makes what is in a cgroup, and in those below it, the claim's: sockets belong to the cgroup
    /// in which they were made.
    ///
    /// *Errors*: [`Error::Program`]: there are too many.
    pub fn add_cgroup(&self, claim: &Claim, cgroup: &Cgroup) -> Result<()> {
        let noted = self.noted(claim, 0);
        // First itself: what is made below from then on inherits it.
        let above = std::iter::once(cgroup.id());
        let groups = above.chain(cgroup.descendants().into_iter().map(|group| group.id()));
        for id in groups {
            let map = self.maps.claimed_groups.as_fd();
            sys::update(map, &id.to_ne_bytes(), bytes_of(&noted))
                .map_err(|source| table("ebb_claimed_cg", source))?;
        }
        Ok(())
    }

    /// Makes the sockets that a member has already the claim's.
    ///
    /// *Errors*: [`Error::Program`]: the walk over their files failed.
    pub fn note_sockets(&self, pid: u32) -> Result<()> {
        let walked = sys::iterate_files_of(self.note_files.as_fd(), pid)
            .and_then(|walk| io::copy(&mut std::fs::File::from(walk), &mut io::sink()));
        walked.map(drop).map_err(|source| Error::Program {
            what: "the walk over the files of processes".to_owned(),
            action: "run",
            source,
        })
    }

    /// Ends a claim: nobody belongs to it any more. What is attached for it is for the caller to
    /// release, before or after.
    pub fn end(&mut self, claim: Claim) {
        self.set_turn(claim.number, 0);
        let groups = self.maps.claimed_groups.as_fd();
        for key in keys_of(groups, size_of::<u64>()) {
            let noted = self.lookup(groups, &key);
            if noted.is_some_and(|noted| noted.turn == claim.turn) {
                let _ = sys::delete(groups, &key);
            }
        }
        self.left.push(claim.number);
    }

    /// How many claims have ended whose numbers cannot be given again yet.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Lets go every connection that still has the number of a claim which has ended, so that these
    /// numbers can be given again. It is one walk over the connections for each policy.
    ///
    /// *Errors*: [`Error::Program`] if the connections could not be walked over.
    pub fn forget_left(&mut self) -> Result<()> {
        self.maps.sets.each(Programs::leave)?;
        self.free.extend(self.left.drain(..));
        Ok(())
    }

    fn noted(&self, claim: &Claim, started_ticks: u64) -> Member {
        Member {
            turn: claim.turn,
            started_ticks,
            claim: claim.number,
            process: 0,
        }
    }

    fn member(&self, pid: u32) -> Option<Member> {
        self.lookup(self.members.as_fd(), &pid.to_ne_bytes())
    }

    fn lookup(&self, map: BorrowedFd<'_>, key: &[u8]) -> Option<Member> {
        let mut value = [0; size_of::<Member>()];
        sys::lookup(map, key, &mut value).ok()?;
        // SAFETY: the value is as long as the struct, and any bytes are one.
        Some(unsafe { value.as_ptr().cast::<Member>().read_unaligned() })
    }

    fn standing(&self, noted: &Member) -> Option<u32> {
        let number = noted.claim;
        let stands = (number as usize) < MAX_CLAIMS && {
            let at = place(number) + offset_of!(Claimed, turn);
            self.table.double_word(at).load(Ordering::Acquire) == noted.turn
        };
        stands.then_some(Constant::EBB_FIRST_CLAIM.0 + number)
    }

    fn set_turn(&self, number: u32, turn: u64) {
        let at = place(number) + offset_of!(Claimed, turn);
        self.table.double_word(at).store(turn, Ordering::Release);
    }

    fn word(&self, number: u32, offset: usize) -> &AtomicU32 {
        self.table.word(place(number) + offset)
    }
}

/// Where a claim stands in the table.
fn place(number: u32) -> usize {
    number as usize * size_of::<Claimed>()
}

fn bytes_of(member: &Member) -> &[u8] {
    // SAFETY: plain integers without padding, which live as long as what is borrowed.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(member).cast(), size_of::<Member>()) }
}

fn load<'object>(
    maps: &RuleMaps,
    storage: &'object mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<ClaimsSkel<'object>> {
    const WHAT: &str = "the programs that follow processes";
    let failed = |error: libbpf_rs::Error| load_error(WHAT, &error);
    crate::messages::collect();
    let mut opened = ClaimsSkelBuilder::default().open(storage).map_err(failed)?;
    let reused = [
        (&mut opened.maps.ebb_groups, &maps.groups),
        (&mut opened.maps.ebb_users, &maps.users),
        (&mut opened.maps.ebb_ports, &maps.ports),
        (&mut opened.maps.ebb_makers, &maps.makers),
        (&mut opened.maps.ebb_ruling, &maps.ruling),
        (&mut opened.maps.ebb_claims, &maps.claims),
        (&mut opened.maps.ebb_claimed_sk, &maps.claimed_sockets),
        (&mut opened.maps.ebb_claimed_cg, &maps.claimed_groups),
    ];
    for (map, shared) in reused {
        map.reuse_fd(shared.as_fd()).map_err(failed)?;
    }
    opened.load().map_err(|error| {
        let said = crate::messages::take();
        Error::Load {
            what: WHAT.to_owned(),
            reason: format!("{error}{}", crate::messages::tail(&said)),
        }
    })
}

impl fmt::Debug for Claims {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Claims").finish_non_exhaustive()
    }
}
