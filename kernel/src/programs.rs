// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of one end, loaded: their descriptors, their maps, the live control.

use crate::congestion::{self, Registration};
use crate::control::ControlMapping;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::layout::{Config, Constant, Peer, Wish};
use crate::namespaces::Namespaces;
use crate::object::{Registered, load_receiver, load_sender};
use crate::peers;
use crate::rules::RuleMaps;
use crate::run_times::RunTime;
use crate::sys::{self, Hook};
use crate::walk::{walk, walk_here, walk_in, walk_storage};
use ebb_algorithms::{LawInfo, Policy, Side};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex, PoisonError};

const MAX_CHOICES: usize = Constant::EBB_MAX_CHOICES.0 as usize;

/// Stands for every connection.
pub(crate) const EVERY_COOKIE: u64 = Constant::EBB_EVERY_COOKIE.0 as u64;

/// What is fixed before loading.
pub(crate) struct LoadOptions<'a> {
    /// What to act on; [`Programs::load`] fills in what follows from the law.
    pub config: Config,
    /// What to load the programs for.
    pub purpose: Purpose<'a>,
    /// Keeps marks, chosen processes and counts of the programs that are replaced.
    pub predecessor: Option<&'a Programs>,
    /// The tables by which a rule is judged, where the programs act for one.
    pub rules: Option<&'a RuleMaps>,
}

/// What programs are loaded for.
pub(crate) enum Purpose<'a> {
    /// To run a law.
    Law(&'static LawInfo),
    /// To let go the connections in this storage, whose owner died.
    Release(Side, BorrowedFd<'a>),
}

impl Purpose<'_> {
    fn side(&self) -> Side {
        match self {
            Self::Law(law) => law.side(),
            Self::Release(side, _) => *side,
        }
    }
}

/// The loaded programs; they vanish with this unless they are attached.
pub(crate) struct Programs {
    pub(crate) hooks: Hooks,
    pub(crate) walks: Walks,
    pub(crate) maps: Maps,
    /// The hooks of a sender law, by their names.
    pub(crate) law_hooks: Vec<(&'static str, OwnedFd)>,
    /// Keeps a sender law selectable.
    pub(crate) registration: Option<Registration>,
    pub(crate) control: Arc<ControlMapping>,
    /// Held while a walk goes over the connections that were said before.
    pub(crate) walking: Mutex<()>,
}

/// What is attached to a cgroup: a program for each place that it needs.
pub(crate) struct Hooks {
    pub(crate) ingress: Option<OwnedFd>,
    pub(crate) egress: Option<OwnedFd>,
    pub(crate) sockops: OwnedFd,
    pub(crate) sock_create: Option<OwnedFd>,
}

/// What walks over connections.
pub(crate) struct Walks {
    pub(crate) adopt: OwnedFd,
    pub(crate) switch: OwnedFd,
    pub(crate) release: OwnedFd,
    pub(crate) show: OwnedFd,
    /// Where they act for a rule.
    pub(crate) leave: Option<OwnedFd>,
    /// Of the receiving end: what connections send is given back by the law's own hooks.
    pub(crate) left: Option<Left>,
}

/// What looks for connections that are limited still.
pub(crate) enum Left {
    /// Over the storage, wherever they are.
    InStorage(OwnedFd),
    /// Over the descriptors of processes.
    Open(OwnedFd),
}

/// What the programs share with their owner.
pub(crate) struct Maps {
    pub(crate) marks: OwnedFd,
    pub(crate) processes: OwnedFd,
    pub(crate) counters: OwnedFd,
    pub(crate) choices: OwnedFd,
    pub(crate) wishes: OwnedFd,
    pub(crate) trace: OwnedFd,
    /// The governed connections.
    pub(crate) flows: OwnedFd,
    /// Whom they were with, at the receiving end.
    pub(crate) peers: Option<OwnedFd>,
}

impl Programs {
    /// Loads the programs; nothing is attached yet.
    pub(crate) fn load(options: &LoadOptions<'_>) -> Result<Self> {
        match options.purpose {
            Purpose::Law(law) if law.side() == Side::Sender => {
                congestion::with_free_name(law, |name| {
                    let policy = None;
                    Self::load_as(options, Some(Registered { law, name, policy }))
                })
            }
            _ => Self::load_as(options, None),
        }
    }

    /// Loads a sender law that any program may select by this name.
    pub(crate) fn load_for_everybody(
        options: &LoadOptions<'_>,
        policy: &Policy,
        name: &str,
    ) -> Result<Self> {
        let registered = Registered {
            law: policy.law(),
            name,
            policy: Some(policy),
        };
        Self::load_as(options, Some(registered))
    }

    /// Loads them, a sender law under the name that it is to have as a congestion control;
    /// its parameters are in place before anybody can select it.
    fn load_as(options: &LoadOptions<'_>, registered: Option<Registered<'_>>) -> Result<Self> {
        let mut config = options.config;
        if let Purpose::Law(law) = options.purpose {
            config.law_number = law.number;
            config.needs_ecn = law.needs_ecn().into();
        }
        let name = registered.map_or("", |registered| registered.name);
        config.congestion_name = congestion::name_bytes(name);
        match options.purpose.side() {
            Side::Receiver => load_receiver(options, &config),
            Side::Sender => load_sender(options, &config, registered),
        }
    }

    /// Tries whether sockets keep the state of a connection here, with one that is nobody's.
    ///
    /// *Errors*: [`Error::NoStorage`]; [`Error::Program`] if memory or descriptors ran out.
    pub(crate) fn try_storage(&self) -> Result<()> {
        let flows = self.maps.flows.as_fd();
        let tried = sys::map_info(flows).and_then(|info| {
            let socket = UnixDatagram::unbound()?;
            let state = vec![0; info.value_bytes as usize];
            sys::update(flows, &socket.as_raw_fd().to_ne_bytes(), &state)
        });
        tried.map_err(|source| match ebb_host::what_ran_out(&source) {
            Some(_) => Error::Program {
                what: "the state of a connection".to_owned(),
                action: "try",
                source,
            },
            None => Error::NoStorage { source },
        })
    }

    /// Attaches to a cgroup, each program instead of the predecessor's if there is one.
    pub(crate) fn attach(&self, cgroup: BorrowedFd<'_>, predecessor: Option<&Self>) -> Result<()> {
        for (hook, program) in self.hooks() {
            let replaced = predecessor.and_then(|old| old.hooks.at(hook));
            if let Err(source) = sys::attach(program, cgroup, hook, replaced) {
                if predecessor.is_none() {
                    self.detach(cgroup);
                }
                return Err(program_error(hook, "attach", source));
            }
        }
        Ok(())
    }

    /// Takes the programs off; those that are off already are passed over.
    pub(crate) fn detach(&self, cgroup: BorrowedFd<'_>) {
        for (hook, program) in self.hooks() {
            let _ = sys::detach(program, cgroup, hook);
        }
    }

    /// Whether every program is still where [`Self::attach`] put it.
    pub(crate) fn are_attached(&self, cgroup: BorrowedFd<'_>) -> bool {
        self.hooks().all(|(hook, program)| {
            let id = sys::program_info(program).map(|info| info.id);
            let attached = sys::attached(cgroup, hook);
            matches!((id, attached), (Ok(id), Ok(attached)) if attached.contains(&id))
        })
    }

    /// Takes over the connections that exist in the namespaces.
    pub(crate) fn adopt_existing(&self, namespaces: &Namespaces) -> Result<()> {
        walk(self.walks.adopt.as_fd(), namespaces).map(drop)
    }

    /// Lets the connections in the namespaces go that are not under the rule any more.
    pub(crate) fn leave(&self, namespaces: &Namespaces) -> Result<()> {
        let leave = self.walks.leave.as_ref();
        leave.map_or(Ok(()), |leave| walk(leave.as_fd(), namespaces).map(drop))
    }

    /// Lets every connection in the namespaces go, or those of a rule; answers how many are
    /// limited still, since they are in none of these.
    pub(crate) fn release_existing(
        &self,
        namespaces: &Namespaces,
        rule: Option<u32>,
    ) -> Result<usize> {
        let _alone = self.walking.lock().unwrap_or_else(PoisonError::into_inner);
        self.control.walk_only(rule);
        walk(self.walks.release.as_fd(), namespaces)?;
        let Some(left) = &self.walks.left else {
            return Ok(0);
        };
        let left = match left {
            Left::InStorage(program) => walk_storage(program.as_fd(), self.maps.flows.as_fd()),
            Left::Open(program) => walk_here(program.as_fd()),
        };
        left.map(|left| left.len())
    }

    /// Switches connections in the namespaces, those of a rule where there are rules, by their
    /// cookies; answers how many there are.
    pub(crate) fn switch(
        &self,
        cookies: &[u64],
        wish: Wish,
        namespaces: &Namespaces,
        rule: Option<u32>,
    ) -> Result<usize> {
        let _alone = self.walking.lock().unwrap_or_else(PoisonError::into_inner);
        self.control.walk_only(rule);
        let mut switched = 0;
        for some in cookies.chunks(MAX_CHOICES) {
            let walked = self
                .choose(some, wish)
                .and_then(|()| walk(self.walks.switch.as_fd(), namespaces));
            for cookie in some {
                let _ = sys::delete(self.maps.choices.as_fd(), &cookie.to_ne_bytes());
            }
            switched += walked?.len();
        }
        Ok(switched)
    }

    fn choose(&self, cookies: &[u64], wish: Wish) -> Result<()> {
        let value = wish.0.to_ne_bytes();
        let mut updates = cookies
            .iter()
            .map(|cookie| sys::update(self.maps.choices.as_fd(), &cookie.to_ne_bytes(), &value));
        updates
            .try_for_each(|updated| updated)
            .map_err(|source| Error::Program {
                what: "ebb_choices".to_owned(),
                action: "write",
                source,
            })
    }

    /// One `struct ebb_flow_record` and the law's state per connection.
    pub(crate) fn show(&self, namespaces: &Namespaces) -> Result<Vec<u8>> {
        walk(self.walks.show.as_fd(), namespaces)
    }

    /// Whether connections of ours are in a namespace, as far as can be told.
    pub(crate) fn has_any_in(&self, namespace: &File) -> bool {
        let shown = walk_in(self.walks.show.as_fd(), namespace);
        shown.map_or(true, |shown| !shown.is_empty())
    }

    /// Marks a socket, given any descriptor of it; other descriptors are passed over.
    pub(crate) fn mark_socket(&self, socket: BorrowedFd<'_>) {
        let key = socket.as_raw_fd().to_ne_bytes();
        let _ = sys::update(self.maps.marks.as_fd(), &key, &1u32.to_ne_bytes());
    }

    /// From now on, new sockets of these processes and their descendants are marked, and of no
    /// others. Of very many the last ones count by their ancestors alone.
    pub(crate) fn mark_processes(&self, processes: &[(u32, u64)]) -> Result<()> {
        let map = self.maps.processes.as_fd();
        let is_member = |pid: u32| processes.iter().any(|(member, _)| *member == pid);
        for pid in sys::numbers_in(map)
            .into_iter()
            .filter(|pid| !is_member(*pid))
        {
            let _ = sys::delete(map, &pid.to_ne_bytes());
        }
        for (pid, started_ticks) in processes {
            let marked = sys::update(map, &pid.to_ne_bytes(), &started_ticks.to_ne_bytes());
            match marked {
                Err(error) if error.raw_os_error() == Some(libc::E2BIG) => break,
                marked => marked.map_err(|source| Error::Program {
                    what: format!("process {pid}"),
                    action: "mark",
                    source,
                })?,
            }
        }
        Ok(())
    }

    /// The sum of the counts of all CPUs, of a rule; without rules that is 0.
    pub(crate) fn counters(&self, rule: u32) -> Result<Counters> {
        let counted = Counters::read(self.maps.counters.as_fd(), rule);
        counted.map_err(|source| counts_error("read", source))
    }

    /// Begins to count for a rule, and knows nobody whom it was with.
    pub(crate) fn forget_counts(&self, rule: u32) -> Result<()> {
        let cleared = Counters::clear(self.maps.counters.as_fd(), rule);
        cleared.map_err(|source| counts_error("clear", source))?;
        if let Some(map) = &self.maps.peers {
            peers::forget(map.as_fd(), rule);
        }
        Ok(())
    }

    /// Whom connections were with; at most 1,024, those of all rules together.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let map = self.maps.peers.as_ref();
        map.map_or_else(Vec::new, |map| peers::all(map.as_fd()))
    }

    /// Nanoseconds and calls of each hook while the kernel keeps statistics.
    pub(crate) fn run_times(&self) -> Result<Vec<RunTime>> {
        let of_cgroup = self
            .hooks()
            .map(|(hook, program)| (hook.program_name(), program));
        let of_law = self
            .law_hooks
            .iter()
            .map(|(name, hook)| (*name, hook.as_fd()));
        of_cgroup
            .chain(of_law)
            .map(|(name, program)| RunTime::of(name, program))
            .collect()
    }

    pub(crate) fn trace_map(&self) -> BorrowedFd<'_> {
        self.maps.trace.as_fd()
    }

    fn hooks(&self) -> impl Iterator<Item = (Hook, BorrowedFd<'_>)> {
        let programs = Hook::ALL.map(|hook| (hook, self.hooks.at(hook)));
        let present = programs.into_iter();
        present.filter_map(|(hook, program)| Some((hook, program?)))
    }
}

impl Hooks {
    /// The program for a place on a cgroup, if it needs one there.
    fn at(&self, hook: Hook) -> Option<BorrowedFd<'_>> {
        match hook {
            Hook::Ingress => self.ingress.as_ref().map(AsFd::as_fd),
            Hook::Egress => self.egress.as_ref().map(AsFd::as_fd),
            Hook::SockOps => Some(self.sockops.as_fd()),
            Hook::SockCreate => self.sock_create.as_ref().map(AsFd::as_fd),
        }
    }
}

fn counts_error(action: &'static str, source: io::Error) -> Error {
    Error::Program {
        what: "ebb_counters".to_owned(),
        action,
        source,
    }
}

fn program_error(hook: Hook, action: &'static str, source: io::Error) -> Error {
    let what = hook.program_name();
    if source.kind() == io::ErrorKind::PermissionDenied {
        return Error::NotPermitted {
            what: format!("{action} {what}"),
        };
    }
    Error::Program {
        what: what.to_owned(),
        action,
        source,
    }
}
