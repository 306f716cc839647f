// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules: which policy a connection is under is decided in the kernel, by tables, when it is made.
//!
//! A rule is a bit. [`Attachment`](crate::Attachment)s with [`Selection::Rule`] share the tables,
//! and those of one policy the programs: each acts, below the root of the hierarchy or another
//! cgroup, on the connections for which its rule is the first that holds. Cgroups are judged by
//! their paths while they are being made, before any process can be in them.

use crate::cgroup::Cgroup;
use crate::error::{Error, Result};
use crate::layout::{Constant, NewGroup as Told, Ruling as KernelRuling};
use crate::object::{held, load_error};
use crate::paths::PathRules;
use crate::programs::Programs;
use crate::selection::{RuleSelection, Selection};
use crate::sets::Sets;
use crate::skeleton::rules::{RulesMaps, RulesSkelBuilder};
use crate::sys;
use crate::tables::{keys_of, replace, table};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use crate::namespaces::Networks;

/// There are no more rules at a time.
pub const MAX_RULES: usize = Constant::EBB_MAX_RULES.0 as usize;
/// Numbers of what programs act for: of rules, and behind them of claims.
pub(crate) const MAX_HELD: u32 = Constant::EBB_MAX_HELD.0;
/// Of a cgroup: it is a container's.
pub const IN_CONTAINER: u64 = 1 << Constant::EBB_CONTAINER_BIT.0;
/// Of a container's cgroup: which rules on containers hold is not known yet, so all of them do.
pub const UNDECIDED: u64 = 1 << Constant::EBB_UNDECIDED_BIT.0;
/// Of a cgroup: no rule acts there.
pub const EXEMPT: u64 = 1 << Constant::EBB_EXEMPT_BIT.0;

const NAME_BYTES: usize = Constant::EBB_NAME_BYTES.0 as usize;

/// What the programs of all rules share.
#[derive(Debug)]
pub struct RuleMaps {
    pub(crate) groups: OwnedFd,
    pub(crate) users: OwnedFd,
    pub(crate) ports: OwnedFd,
    pub(crate) makers: OwnedFd,
    pub(crate) ruling: OwnedFd,
    pub(crate) claims: OwnedFd,
    pub(crate) claimed_sockets: OwnedFd,
    pub(crate) claimed_groups: OwnedFd,
    /// The programs that act for rules, one for each policy.
    pub(crate) sets: Sets,
}

impl RuleMaps {
    fn of(maps: &RulesMaps<'_>) -> Result<Self> {
        Ok(Self {
            groups: held(maps.ebb_groups.as_fd(), "ebb_groups")?,
            users: held(maps.ebb_users.as_fd(), "ebb_users")?,
            ports: held(maps.ebb_ports.as_fd(), "ebb_ports")?,
            makers: held(maps.ebb_makers.as_fd(), "ebb_makers")?,
            ruling: held(maps.ebb_ruling.as_fd(), "ebb_ruling")?,
            claims: held(maps.ebb_claims.as_fd(), "ebb_claims")?,
            claimed_sockets: held(maps.ebb_claimed_sk.as_fd(), "ebb_claimed_sk")?,
            claimed_groups: held(maps.ebb_claimed_cg.as_fd(), "ebb_claimed_cg")?,
            sets: Sets::default(),
        })
    }
}

/// How rules are judged. Of those without a condition of one kind the bit is in `any_…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Rules without a condition on cgroups.
    pub any_group: u64,
    /// Rules without a condition on users.
    pub any_user: u64,
    /// Rules without a condition on ports.
    pub any_port: u64,
    /// Rules without a condition on programs.
    pub any_executable: u64,
    /// Rules that have a condition on containers.
    pub container_rules: u64,
    /// For each rule those that go before it, where several hold.
    pub before: [u64; MAX_RULES],
    /// By the number of a user.
    pub users: BTreeMap<u32, u64>,
    /// By a TCP port at either end.
    pub ports: BTreeMap<u16, u64>,
    /// By the name of a program's file, of 63 bytes at the most.
    pub executables: BTreeMap<String, u64>,
    /// By the path of a cgroup; what is below inherits what holds. [`IN_CONTAINER`],
    /// [`UNDECIDED`] and [`EXEMPT`] may be among the bits, the last of which counts only for what
    /// root makes.
    pub paths: PathRules,
}

/// A cgroup that was made, and that concerns a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGroup {
    /// The kernel's number for it ([`Cgroup::id`]).
    pub id: u64,
    /// The bits of what was found to hold.
    pub rules: u64,
    /// From the root of the hierarchy.
    pub path: PathBuf,
}

/// Judges cgroups and sockets as they are made, for as long as it lives.
pub struct Classifier {
    pub(crate) maps: Arc<RuleMaps>,
    paths: OwnedFd,
    executables: OwnedFd,
    untold: OwnedFd,
    told: RingBuffer<'static>,
    heard: Arc<Mutex<Vec<NewGroup>>>,
    maker: OwnedFd,
    /// While a rule has a condition on programs.
    maker_link: Option<OwnedFd>,
    pub(crate) below: Cgroup,
    paths_index: u64,
    _links: [OwnedFd; 2],
}

impl Classifier {
    /// Loads the programs; no rule holds for anything yet.
    ///
    /// *Errors*: the kernel refuses them; [`Error::NotPermitted`].
    ///
    /// Whatever programs make sockets is noted below `below`; its attachments belong there, too.
    pub fn load(below: &Cgroup) -> Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let failed =
            |error: libbpf_rs::Error| load_error("the programs that judge cgroups", &error);
        crate::messages::collect();
        let opened = RulesSkelBuilder::default().open(&mut storage);
        let loaded = opened.map_err(failed)?.load().map_err(|error| {
            let said = crate::messages::take();
            Error::Load {
                what: "the programs that judge cgroups".to_owned(),
                reason: format!("{error}{}", crate::messages::tail(&said)),
            }
        })?;
        let maps = &loaded.maps;
        let heard = Arc::default();
        let told = listen(maps.ebb_new_groups.as_fd(), &heard)?;
        let links = [
            trace(loaded.progs.ebb_mkdir.as_fd(), "ebb_mkdir")?,
            trace(loaded.progs.ebb_rmdir.as_fd(), "ebb_rmdir")?,
        ];
        Ok(Self {
            maps: Arc::new(RuleMaps::of(maps)?),
            paths: held(maps.ebb_paths.as_fd(), "ebb_paths")?,
            executables: held(maps.ebb_executables.as_fd(), "ebb_executables")?,
            untold: held(maps.ebb_untold.as_fd(), "ebb_untold")?,
            told,
            heard,
            maker: held(loaded.progs.ebb_note_maker.as_fd(), "ebb_note_maker")?,
            maker_link: None,
            below: below.clone(),
            paths_index: 0,
            _links: links,
        })
    }

    /// The connections of a rule, from 0 on, for an attachment to the cgroup that all are below.
    pub fn selection(&self, rule: u32) -> Selection {
        Selection::Rule(RuleSelection {
            maps: Arc::clone(&self.maps),
            rule,
        })
    }

    /// Lets go what is not under its rule any more: the first step after rules have changed. It is
    /// one walk over the connections for all rules of a policy.
    ///
    /// *Errors*: [`Error::Program`] if the connections could not be walked over.
    pub fn leave_others(&self) -> Result<()> {
        self.maps.sets.each(Programs::leave)
    }

    /// Takes over what exists and is not governed yet, as where a rule has come to hold, or is new:
    /// the second step. What a kernel cannot take over stays free, and is counted.
    ///
    /// *Errors*: as [`Self::leave_others`].
    pub fn take_over(&self) -> Result<()> {
        self.maps.sets.each(Programs::adopt_existing)
    }

    /// As [`Self::leave_others`], where what may have to go is in these networks.
    ///
    /// *Errors*: as there.
    pub fn leave_others_in(&self, networks: &Networks) -> Result<()> {
        self.maps.sets.each_in(networks, Programs::leave)
    }

    /// As [`Self::take_over`], where what has come is in these networks.
    ///
    /// *Errors*: as there.
    pub fn take_over_in(&self, networks: &Networks) -> Result<()> {
        self.maps.sets.each_in(networks, Programs::adopt_existing)
    }

    /// Lets everything go that is under a rule, at once: who holds the rules one by one has nothing
    /// left to let go.
    ///
    /// *Errors*: [`Error::Program`] if the connections could not be walked over (they go at their
    /// next segment all the same).
    pub fn release_all(&self) -> Result<()> {
        self.maps.sets.end_all()
    }

    /// Judges so what is made from now on. What exists is for the caller to judge: cgroups
    /// ([`Self::set_group`]), then connections ([`Self::leave_others`], [`Self::take_over`]).
    ///
    /// *Errors*: [`Error::Program`]: a table is full, or cannot be written.
    pub fn set_ruling(&mut self, ruling: &Ruling) -> Result<()> {
        let index = self.paths_index ^ 1;
        let key = (index as u32).to_ne_bytes();
        sys::update(self.paths.as_fd(), &key, &ruling.paths.bytes())
            .map_err(|source| table("ebb_paths", source))?;
        let users = ruling.users.iter();
        let users = users.map(|(user, rules)| (user.to_ne_bytes().to_vec(), *rules));
        replace(&self.maps.users, "ebb_users", users)?;
        let ports = ruling.ports.iter();
        let ports = ports.map(|(port, rules)| (u32::from(*port).to_ne_bytes().to_vec(), *rules));
        replace(&self.maps.ports, "ebb_ports", ports)?;
        let names = ruling.executables.iter();
        let names = names.map(|(name, rules)| (name_key(name), *rules));
        replace(&self.executables, "ebb_executables", names)?;
        self.note_makers(!ruling.executables.is_empty())?;
        let bytes = ruling.bytes(index);
        sys::update(self.maps.ruling.as_fd(), &0u32.to_ne_bytes(), &bytes)
            .map_err(|source| table("ebb_ruling", source))?;
        self.paths_index = index;
        Ok(())
    }

    /// The bits of a cgroup.
    pub fn group(&self, id: u64) -> u64 {
        let mut value = [0; 8];
        match sys::lookup(self.maps.groups.as_fd(), &id.to_ne_bytes(), &mut value) {
            Ok(()) => u64::from_ne_bytes(value),
            Err(_) => 0,
        }
    }

    /// Sets the bits of a cgroup.
    ///
    /// *Errors*: [`Error::Program`]: there are too many.
    pub fn set_group(&self, id: u64, rules: u64) -> Result<()> {
        let (map, key) = (self.maps.groups.as_fd(), id.to_ne_bytes());
        if rules == 0 {
            let _ = sys::delete(map, &key);
            return Ok(());
        }
        sys::update(map, &key, &rules.to_ne_bytes()).map_err(|source| table("ebb_groups", source))
    }

    /// The cgroups that have any bits.
    pub fn groups(&self) -> Vec<u64> {
        let keys = keys_of(self.maps.groups.as_fd(), size_of::<u64>());
        let number = |key: Vec<u8>| key.try_into().map(u64::from_ne_bytes).unwrap_or(0);
        keys.into_iter().map(number).collect()
    }

    /// The cgroups that were made since, as far as they have bits.
    pub fn new_groups(&mut self) -> Vec<NewGroup> {
        if let Err(error) = self.told.consume() {
            tracing::debug!("new cgroups: {error}");
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *heard)
    }

    /// How many new cgroups were not told of, for want of room: then all have to be looked at.
    pub fn untold_groups(&self) -> u64 {
        let mut value = [0; 8];
        let read = sys::lookup(self.untold.as_fd(), &0u32.to_ne_bytes(), &mut value);
        read.map_or(0, |()| u64::from_ne_bytes(value))
    }

    fn note_makers(&mut self, is_wanted: bool) -> Result<()> {
        if !is_wanted {
            self.maker_link = None;
        } else if self.maker_link.is_none() {
            let link = sys::link_to_cgroup(self.maker.as_fd(), self.below.as_fd());
            self.maker_link = Some(link.map_err(|source| Error::Program {
                what: "ebb_note_maker".to_owned(),
                action: "attach",
                source,
            })?);
        }
        Ok(())
    }
}

impl AsFd for Classifier {
    /// Can be read when cgroups were made ([`Self::new_groups`]).
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the ring buffer's, which lives as long as this.
        unsafe { BorrowedFd::borrow_raw(self.told.epoll_fd()) }
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Classifier").finish_non_exhaustive()
    }
}

impl Ruling {
    fn bytes(&self, paths_index: u64) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<KernelRuling>()];
        let mut put = |at: usize, value: u64| {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        };
        put(offset_of!(KernelRuling, any_group), self.any_group);
        put(offset_of!(KernelRuling, any_user), self.any_user);
        put(offset_of!(KernelRuling, any_port), self.any_port);
        put(
            offset_of!(KernelRuling, any_executable),
            self.any_executable,
        );
        put(
            offset_of!(KernelRuling, container_rules),
            self.container_rules,
        );
        put(offset_of!(KernelRuling, paths_index), paths_index);
        for (rule, before) in self.before.iter().enumerate() {
            put(offset_of!(KernelRuling, before) + rule * 8, *before);
        }
        bytes
    }
}

/// Hears of new cgroups.
fn listen(map: BorrowedFd<'_>, heard: &Arc<Mutex<Vec<NewGroup>>>) -> Result<RingBuffer<'static>> {
    let failed = |error| load_error("ebb_new_groups", &error);
    let info = sys::map_info(map).map_err(|source| table("ebb_new_groups", source))?;
    let map = MapHandle::from_map_id(info.id).map_err(failed)?;
    let heard = Arc::clone(heard);
    let mut builder = RingBufferBuilder::new();
    let hear = move |bytes: &[u8]| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.extend(parse(bytes));
        0
    };
    builder.add(&map, hear).map_err(failed)?;
    builder.build().map_err(failed)
}

fn parse(bytes: &[u8]) -> Option<NewGroup> {
    let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let path = CStr::from_bytes_until_nul(bytes.get(offset_of!(Told, path)..)?).ok()?;
    Some(NewGroup {
        id: number(offset_of!(Told, id))?,
        rules: number(offset_of!(Told, rules))?,
        path: path.to_str().ok()?.into(),
    })
}

/// Has a program called at its tracepoint.
pub(crate) fn trace(program: BorrowedFd<'_>, name: &'static str) -> Result<OwnedFd> {
    sys::link_to_tracepoint(program).map_err(|source| Error::Program {
        what: name.to_owned(),
        action: "attach",
        source,
    })
}

fn name_key(name: &str) -> Vec<u8> {
    let mut key = vec![0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    key[..length].copy_from_slice(&name.as_bytes()[..length]);
    key
}
