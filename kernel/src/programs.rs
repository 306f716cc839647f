// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of one end, loaded: their descriptors, their maps, the live control.

use crate::congestion::{self, Registration};
use crate::control::{CONTROL_MAP, ControlMapping};
use crate::error::{Error, Result};
use crate::layout::{Config, Counters, Peer};
use crate::namespaces::Namespaces;
use crate::object::{PROCESSES_MAP, flows_map, load_object, map, open_object, prepare, program};
use crate::run_times::RunTime;
use crate::sys::{self, Hook};
use crate::walk::walk;
use ebb_algorithms::{LawInfo, Policy, Side};
use libbpf_rs::Object;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What the names of all our programs begin with.
pub(crate) const PROGRAM_PREFIX: &str = "ebb_";

/// `EBB_MAX_PEERS`.
const MAX_PEERS: usize = 1024;
/// `EBB_MAX_CHOICES`.
const MAX_CHOICES: usize = 1024;

/// What connections are switched to by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Wish {
    /// `EBB_AS_ALL`
    AsAll = 0,
    /// `EBB_FREE`
    Free = 1,
    /// `EBB_HELD`
    Held = 2,
}

/// `EBB_EVERY_COOKIE`: stands for every connection.
pub(crate) const EVERY_COOKIE: u64 = 0;

/// What is fixed before loading.
pub(crate) struct LoadOptions<'a> {
    /// What to act on; [`Programs::load`] fills in what follows from the law.
    pub config: Config,
    /// What to load the programs for.
    pub purpose: Purpose<'a>,
    /// Keeps marks, chosen processes and counts of the programs that are replaced.
    pub predecessor: Option<&'a Programs>,
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
    ingress: Option<OwnedFd>,
    egress: Option<OwnedFd>,
    sockops: OwnedFd,
    sock_create: Option<OwnedFd>,
    adopt: OwnedFd,
    switch: OwnedFd,
    release: OwnedFd,
    show: OwnedFd,
    marks: OwnedFd,
    processes: OwnedFd,
    counters: OwnedFd,
    choices: OwnedFd,
    wishes: OwnedFd,
    trace: OwnedFd,
    /// The governed connections.
    flows: OwnedFd,
    /// Whom they were with, at the receiving end.
    peers: Option<OwnedFd>,
    /// The hooks of a sender law.
    law_hooks: Vec<(&'static str, OwnedFd)>,
    /// Keeps a sender law selectable.
    registration: Option<Registration>,
    pub(crate) control: ControlMapping,
}

impl Programs {
    /// Loads the programs; nothing is attached yet.
    pub(crate) fn load(options: &LoadOptions<'_>) -> Result<Self> {
        match options.purpose {
            Purpose::Law(law) if law.side() == Side::Sender => {
                congestion::with_free_name(law, |name| Self::load_as(options, Some((name, None))))
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
        Self::load_as(options, Some((name, Some(policy))))
    }

    /// Loads them, a sender law under the name that it is to have as a congestion control;
    /// its parameters are in place before anybody can select it.
    fn load_as(
        options: &LoadOptions<'_>,
        registered: Option<(&str, Option<&Policy>)>,
    ) -> Result<Self> {
        let name = registered.map(|(name, _)| name);
        let side = options.purpose.side();
        let mut config = options.config;
        if let Purpose::Law(law) = options.purpose {
            config.law_number = law.number;
            config.needs_ecn = law.needs_ecn().into();
        }
        config.congestion_name = congestion::name_bytes(name.unwrap_or_default());
        let mut open = open_object(side)?;
        prepare(&mut open, options, &config)?;
        if side == Side::Sender {
            congestion::prepare(&mut open, &options.purpose, name)?;
        }
        let mut object = load_object(open, side)?;
        let mut programs = Self::of(&object, side, config.is_marked_only != 0)?;
        if let (Purpose::Law(law), Some((name, policy))) = (&options.purpose, registered) {
            if let Some(policy) = policy {
                programs.control.initialise(policy, false, false);
            }
            for hook in congestion::programs_of(law) {
                programs.law_hooks.push((hook, program(&object, hook)?));
            }
            programs.registration = Some(Registration::of(&mut object, law, name)?);
        }
        Ok(programs)
    }

    fn of(object: &Object, side: Side, is_marked_only: bool) -> Result<Self> {
        let is_receiver = side == Side::Receiver;
        let of_receiver = |name| is_receiver.then(|| program(object, name)).transpose();
        Ok(Self {
            ingress: of_receiver("ebb_ingress")?,
            egress: of_receiver("ebb_egress")?,
            peers: is_receiver.then(|| map(object, "ebb_peers")).transpose()?,
            sockops: program(object, "ebb_sockops")?,
            sock_create: is_marked_only
                .then(|| program(object, "ebb_sock_create"))
                .transpose()?,
            adopt: program(object, "ebb_adopt")?,
            switch: program(object, "ebb_switch")?,
            release: program(object, "ebb_release")?,
            show: program(object, "ebb_show")?,
            marks: map(object, "ebb_marks")?,
            processes: map(object, PROCESSES_MAP)?,
            counters: map(object, "ebb_counters")?,
            choices: map(object, "ebb_choices")?,
            wishes: map(object, "ebb_wishes")?,
            trace: map(object, "ebb_trace")?,
            flows: map(object, flows_map(side))?,
            law_hooks: Vec::new(),
            registration: None,
            control: ControlMapping::of(map(object, CONTROL_MAP)?)?,
        })
    }

    /// Attaches to a cgroup, each program instead of the predecessor's if there is one.
    pub(crate) fn attach(&self, cgroup: BorrowedFd<'_>, predecessor: Option<&Self>) -> Result<()> {
        for (hook, program) in self.hooks() {
            let replaced = predecessor.and_then(|old| old.program_of(hook));
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
        walk(self.adopt.as_fd(), namespaces).map(drop)
    }

    /// Lets every connection in the namespaces go.
    pub(crate) fn release_existing(&self, namespaces: &Namespaces) -> Result<()> {
        walk(self.release.as_fd(), namespaces).map(drop)
    }

    /// Switches connections in the namespaces, by their cookies; answers how many there are.
    pub(crate) fn switch(
        &self,
        cookies: &[u64],
        wish: Wish,
        namespaces: &Namespaces,
    ) -> Result<usize> {
        let mut switched = 0;
        for some in cookies.chunks(MAX_CHOICES) {
            let walked = self
                .choose(some, wish)
                .and_then(|()| walk(self.switch.as_fd(), namespaces));
            for cookie in some {
                let _ = sys::delete(self.choices.as_fd(), &cookie.to_ne_bytes());
            }
            switched += walked?.len();
        }
        Ok(switched)
    }

    fn choose(&self, cookies: &[u64], wish: Wish) -> Result<()> {
        let value = (wish as u32).to_ne_bytes();
        let mut updates = cookies
            .iter()
            .map(|cookie| sys::update(self.choices.as_fd(), &cookie.to_ne_bytes(), &value));
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
        walk(self.show.as_fd(), namespaces)
    }

    /// Marks a socket, given any descriptor of it; other descriptors are passed over.
    pub(crate) fn mark_socket(&self, socket: BorrowedFd<'_>) {
        let key = socket.as_raw_fd().to_ne_bytes();
        let _ = sys::update(self.marks.as_fd(), &key, &1u32.to_ne_bytes());
    }

    /// From now on, new sockets of this process and its descendants are marked.
    pub(crate) fn mark_process(&self, pid: u32) -> Result<()> {
        sys::update(
            self.processes.as_fd(),
            &pid.to_ne_bytes(),
            &1u32.to_ne_bytes(),
        )
        .map_err(|source| Error::Program {
            what: format!("process {pid}"),
            action: "mark",
            source,
        })
    }

    /// The sum of the counts of all CPUs.
    pub(crate) fn counters(&self) -> Result<Counters> {
        let failed = |source| Error::Program {
            what: "ebb_counters".to_owned(),
            action: "read",
            source,
        };
        let cpus =
            libbpf_rs::num_possible_cpus().map_err(|error| failed(io::Error::other(error)))?;
        let mut values = vec![0u8; size_of::<Counters>() * cpus];
        sys::lookup(self.counters.as_fd(), &0u32.to_ne_bytes(), &mut values).map_err(failed)?;
        let mut sum = Counters::default();
        for value in values.chunks_exact(size_of::<Counters>()) {
            // SAFETY: the chunk has the struct's size; any bytes are valid integers.
            sum.add(&unsafe { value.as_ptr().cast::<Counters>().read_unaligned() });
        }
        Ok(sum)
    }

    /// Whom connections were with; at most 1,024.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let mut peers = Vec::new();
        let Some(map) = &self.peers else {
            return peers;
        };
        let mut key: Option<[u8; size_of::<Peer>()]> = None;
        let mut next = [0; size_of::<Peer>()];
        // A connection that begins meanwhile may send the walk back to the start.
        while peers.len() < MAX_PEERS
            && sys::next_key(
                map.as_fd(),
                key.as_ref().map(<[u8; _]>::as_slice),
                &mut next,
            )
            .is_some()
        {
            // SAFETY: the bytes are as many as the struct has; any are valid integers.
            peers.push(unsafe { next.as_ptr().cast::<Peer>().read_unaligned() });
            key = Some(next);
        }
        peers
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

    /// A map that a successor goes on with.
    pub(crate) fn kept_map(&self, name: &str) -> Option<BorrowedFd<'_>> {
        match name {
            "ebb_marks" => Some(self.marks.as_fd()),
            PROCESSES_MAP => Some(self.processes.as_fd()),
            "ebb_counters" => Some(self.counters.as_fd()),
            "ebb_wishes" => Some(self.wishes.as_fd()),
            "ebb_peers" => self.peers.as_ref().map(AsFd::as_fd),
            "ebb_origins" => Some(self.flows.as_fd()),
            _ => None,
        }
    }

    pub(crate) fn trace_map(&self) -> BorrowedFd<'_> {
        self.trace.as_fd()
    }

    fn hooks(&self) -> impl Iterator<Item = (Hook, BorrowedFd<'_>)> {
        Hook::ALL
            .into_iter()
            .filter_map(|hook| Some((hook, self.program_of(hook)?)))
    }

    fn program_of(&self, hook: Hook) -> Option<BorrowedFd<'_>> {
        match hook {
            Hook::Ingress => self.ingress.as_ref().map(AsFd::as_fd),
            Hook::Egress => self.egress.as_ref().map(AsFd::as_fd),
            Hook::SockOps => Some(self.sockops.as_fd()),
            Hook::SockCreate => self.sock_create.as_ref().map(AsFd::as_fd),
        }
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
