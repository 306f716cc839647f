// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled programs of each end: opened, prepared, loaded, and held without libbpf.

use crate::congestion::{self, Registration};
use crate::control::ControlMapping;
use crate::error::{Error, Result};
use crate::features;
use crate::layout::Config;
use crate::lease;
use crate::names;
use crate::own;
use crate::programs::{Hooks, Left, LoadOptions, Maps, Programs, Purpose, Walks};
use crate::rules::{MAX_HELD, RuleMaps};
use crate::skeleton::receiver::ReceiverSkelBuilder;
use crate::skeleton::sender::SenderSkelBuilder;
use ebb_algorithms::{LawInfo, Policy, Side};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenMapMut, OpenProgramMut};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

const TRACE_BUFFER_BYTES: u32 = 16 << 20;

/// What a sender law is registered as.
#[derive(Clone, Copy)]
pub(crate) struct Registered<'a> {
    pub law: &'static LawInfo,
    pub name: &'a str,
    /// Its parameters, if they are to be in place before anybody can select it.
    pub policy: Option<&'a Policy>,
}

/// What the objects of both ends have, open.
struct Opened<'a, 'object> {
    config: &'a mut OpenMapMut<'object>,
    marks: &'a mut OpenMapMut<'object>,
    processes: &'a mut OpenMapMut<'object>,
    counters: &'a mut OpenMapMut<'object>,
    wishes: &'a mut OpenMapMut<'object>,
    trace: &'a mut OpenMapMut<'object>,
    sock_create: &'a mut OpenProgramMut<'object>,
    leave: &'a mut OpenProgramMut<'object>,
    groups: &'a mut OpenMapMut<'object>,
    users: &'a mut OpenMapMut<'object>,
    ports: &'a mut OpenMapMut<'object>,
    makers: &'a mut OpenMapMut<'object>,
    ruling: &'a mut OpenMapMut<'object>,
    claims: &'a mut OpenMapMut<'object>,
    claimed_sockets: &'a mut OpenMapMut<'object>,
    claimed_groups: &'a mut OpenMapMut<'object>,
}

/// [`Opened`], of either skeleton.
macro_rules! opened {
    ($skeleton:ident) => {
        Opened {
            config: &mut $skeleton.maps.rodata_config,
            marks: &mut $skeleton.maps.ebb_marks,
            processes: &mut $skeleton.maps.ebb_processes,
            counters: &mut $skeleton.maps.ebb_counters,
            wishes: &mut $skeleton.maps.ebb_wishes,
            trace: &mut $skeleton.maps.ebb_trace,
            sock_create: &mut $skeleton.progs.ebb_sock_create,
            leave: &mut $skeleton.progs.ebb_leave,
            groups: &mut $skeleton.maps.ebb_groups,
            users: &mut $skeleton.maps.ebb_users,
            ports: &mut $skeleton.maps.ebb_ports,
            makers: &mut $skeleton.maps.ebb_makers,
            ruling: &mut $skeleton.maps.ebb_ruling,
            claims: &mut $skeleton.maps.ebb_claims,
            claimed_sockets: &mut $skeleton.maps.ebb_claimed_sk,
            claimed_groups: &mut $skeleton.maps.ebb_claimed_cg,
        }
    };
}

/// [`Programs`], of either skeleton, loaded; what only one end has is given.
macro_rules! programs {
    ($skeleton:ident, $config:ident, flows: $flows:ident, peers: $peers:expr,
     ingress: $ingress:expr, egress: $egress:expr, left: $left:expr $(,)?) => {
        Programs {
            hooks: Hooks {
                ingress: $ingress,
                egress: $egress,
                sockops: held($skeleton.progs.ebb_sockops.as_fd(), stringify!(ebb_sockops))?,
                sock_create: ($config.is_marked_only != 0)
                    .then(|| held($skeleton.progs.ebb_sock_create.as_fd(), "ebb_sock_create"))
                    .transpose()?,
            },
            walks: Walks {
                adopt: held($skeleton.progs.ebb_adopt.as_fd(), stringify!(ebb_adopt))?,
                switch: held($skeleton.progs.ebb_switch.as_fd(), stringify!(ebb_switch))?,
                release: held($skeleton.progs.ebb_release.as_fd(), stringify!(ebb_release))?,
                show: held($skeleton.progs.ebb_show.as_fd(), stringify!(ebb_show))?,
                leave: ($config.is_ruled != 0)
                    .then(|| held($skeleton.progs.ebb_leave.as_fd(), "ebb_leave"))
                    .transpose()?,
                left: $left,
            },
            maps: Maps {
                marks: held($skeleton.maps.ebb_marks.as_fd(), stringify!(ebb_marks))?,
                processes: held(
                    $skeleton.maps.ebb_processes.as_fd(),
                    stringify!(ebb_processes),
                )?,
                counters: held(
                    $skeleton.maps.ebb_counters.as_fd(),
                    stringify!(ebb_counters),
                )?,
                choices: held($skeleton.maps.ebb_choices.as_fd(), stringify!(ebb_choices))?,
                wishes: held($skeleton.maps.ebb_wishes.as_fd(), stringify!(ebb_wishes))?,
                trace: held($skeleton.maps.ebb_trace.as_fd(), stringify!(ebb_trace))?,
                flows: held($skeleton.maps.$flows.as_fd(), stringify!($flows))?,
                peers: $peers,
            },
            law_hooks: Vec::new(),
            registration: None,
            control: Arc::new(ControlMapping::of($skeleton.maps.data_control.as_fd())?),
            walking: Mutex::new(()),
        }
    };
}

/// Loads the programs of the receiving end.
pub(crate) fn load_receiver(options: &LoadOptions<'_>, config: &Config) -> Result<Programs> {
    let mut storage = MaybeUninit::uninit();
    let builder = ReceiverSkelBuilder {
        data: own::programs_for(&options.purpose)?,
        ..Default::default()
    };
    let opened = builder.open(&mut storage);
    let mut open = opened.map_err(|error| load_error(COMPILED, &error))?;
    prepare(opened!(open), options, config).map_err(|error| load_error(COMPILED, &error))?;
    let walks_over_maps = features::walks_over_maps();
    open.progs.ebb_left.set_autoload(walks_over_maps);
    open.progs.ebb_left_open.set_autoload(!walks_over_maps);
    let maps = &mut open.maps;
    if options.rules.is_some() {
        let resized = maps.ebb_bundles.set_max_entries(MAX_HELD);
        resized.map_err(|error| load_error(COMPILED, &error))?;
    }
    match (&options.purpose, options.predecessor) {
        (Purpose::Law(_), None) => Ok(()),
        (Purpose::Law(_), Some(old)) => reuse(&mut maps.ebb_peers, old.maps.peers.as_ref()),
        (Purpose::Release(_, flows), _) => maps.ebb_flows.reuse_fd(*flows),
    }
    .map_err(|error| load_error(COMPILED, &error))?;
    let loaded = load(open, Side::Receiver)?;
    Ok(programs!(
        loaded,
        config,
        flows: ebb_flows,
        peers: Some(held(loaded.maps.ebb_peers.as_fd(), "ebb_peers")?),
        ingress: Some(held(loaded.progs.ebb_ingress.as_fd(), names::INGRESS)?),
        egress: Some(held(loaded.progs.ebb_egress.as_fd(), names::EGRESS)?),
        left: Some(match walks_over_maps {
            true => Left::InStorage(held(loaded.progs.ebb_left.as_fd(), "ebb_left")?),
            false => Left::Open(held(loaded.progs.ebb_left_open.as_fd(), "ebb_left_open")?),
        }),
    ))
}

/// Loads those of the sending end, and registers the law if it is to be one that connections
/// can select.
pub(crate) fn load_sender(
    options: &LoadOptions<'_>,
    config: &Config,
    registered: Option<Registered<'_>>,
) -> Result<Programs> {
    let form = features::sender_form();
    let config = &Config {
        sets_pace: form.sets_pace.into(),
        ..*config
    };
    let mut storage = MaybeUninit::uninit();
    let builder = SenderSkelBuilder {
        data: own::programs_for(&options.purpose)?,
        ..Default::default()
    };
    let opened = builder.open(&mut storage);
    let mut open = opened.map_err(|error| load_error(COMPILED, &error))?;
    prepare(opened!(open), options, config).map_err(|error| load_error(COMPILED, &error))?;
    let origins = &mut open.maps.ebb_origins;
    match (&options.purpose, options.predecessor) {
        (Purpose::Law(_), None) => Ok(()),
        // Whose a connection was before is to be remembered through a change of the law.
        (Purpose::Law(_), Some(old)) => reuse(origins, Some(&old.maps.flows)),
        (Purpose::Release(_, origins_left), _) => origins.reuse_fd(*origins_left),
    }
    .map_err(|error| load_error(COMPILED, &error))?;
    congestion::prepare(&mut open, registered, form)
        .map_err(|error| load_error(COMPILED, &error))?;
    let mut loaded = load(open, Side::Sender)?;
    let mut programs = programs!(loaded, config, flows: ebb_origins, peers: None, ingress: None, egress: None, left: None);
    if let Some(registered) = registered {
        if let Some(policy) = registered.policy {
            programs.control.initialise(policy, false, config);
        }
        programs.control.claim(lease::next_end_ns());
        programs.law_hooks = congestion::hooks_of(registered.law, &loaded.progs, form)?;
        programs.registration = Some(Registration::of(&mut loaded.maps, registered, form)?);
    }
    Ok(programs)
}

/// What cannot be opened or prepared.
const COMPILED: &str = "the compiled programs";

/// Fills in what is fixed before loading.
fn prepare(
    mut open: Opened<'_, '_>,
    options: &LoadOptions<'_>,
    config: &Config,
) -> libbpf_rs::Result<()> {
    open.config.set_initial_value(bytes_of(config))?;
    if config.is_tracing != 0 {
        open.trace.set_max_entries(TRACE_BUFFER_BYTES)?;
    }
    if config.is_marked_only == 0 {
        open.sock_create.set_autoload(false);
    }
    match options.rules {
        Some(rules) => share(&mut open, rules)?,
        None => {
            open.leave.set_autoload(false);
            // Nobody looks at them: they need no room.
            open.groups.set_max_entries(1)?;
            open.users.set_max_entries(1)?;
            open.ports.set_max_entries(1)?;
            open.claims.set_max_entries(1)?;
        }
    }
    if let (Purpose::Law(_), Some(old)) = (&options.purpose, options.predecessor) {
        reuse(open.marks, Some(&old.maps.marks))?;
        reuse(open.processes, Some(&old.maps.processes))?;
        reuse(open.counters, Some(&old.maps.counters))?;
        reuse(open.wishes, Some(&old.maps.wishes))?;
    }
    Ok(())
}

/// Has the tables of rules and claims in common with those of all other policies.
fn share(open: &mut Opened<'_, '_>, rules: &RuleMaps) -> libbpf_rs::Result<()> {
    open.counters.set_max_entries(MAX_HELD)?;
    reuse(open.groups, Some(&rules.groups))?;
    reuse(open.users, Some(&rules.users))?;
    reuse(open.ports, Some(&rules.ports))?;
    reuse(open.makers, Some(&rules.makers))?;
    reuse(open.ruling, Some(&rules.ruling))?;
    reuse(open.claims, Some(&rules.claims))?;
    reuse(open.claimed_sockets, Some(&rules.claimed_sockets))?;
    reuse(open.claimed_groups, Some(&rules.claimed_groups))
}

/// What is fixed before loading, as the programs read it.
pub(crate) fn bytes_of(config: &Config) -> &[u8] {
    // SAFETY: plain integers without padding, which live as long as what is borrowed.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(config).cast(), size_of::<Config>()) }
}

/// Has a map of a predecessor take the place of one of the object's.
fn reuse(map: &mut OpenMapMut<'_>, old: Option<&OwnedFd>) -> libbpf_rs::Result<()> {
    old.map_or(Ok(()), |old| map.reuse_fd(old.as_fd()))
}

/// Has the kernel verify and take the programs.
fn load<'object, S: OpenSkel<'object>>(open: S, side: Side) -> Result<S::Output> {
    crate::messages::collect();
    let loaded = open.load();
    let said = crate::messages::take();
    loaded.map_err(|error| {
        let what = format!("the {side}'s programs");
        match what_ran_out(&format!("{error:#} {said}")) {
            Some(ran_out) => Error::RanOut {
                what,
                ran_out,
                reason: format!("{error:#}"),
            },
            None => crate::features::explain().err().unwrap_or(Error::Load {
                what,
                reason: format!("{error}{}", crate::messages::tail(&said)),
            }),
        }
    })
}

/// What libbpf says has run out: of its errors there is nothing but the words.
fn what_ran_out(said: &str) -> Option<&'static str> {
    let numbers = [
        (libc::ENOMEM, "-ENOMEM"),
        (libc::EMFILE, "-EMFILE"),
        (libc::ENFILE, "-ENFILE"),
    ];
    let is_said = |(number, name): &&(i32, &str)| {
        said.contains(*name) || said.contains(&format!("(os error {number})"))
    };
    let (number, _) = numbers.iter().find(is_said)?;
    ebb_host::what_ran_out(&io::Error::from_raw_os_error(*number))
}

/// A descriptor of a loaded program or map that outlives libbpf's.
pub(crate) fn held(object: BorrowedFd<'_>, name: &str) -> Result<OwnedFd> {
    let held = object.try_clone_to_owned();
    held.map_err(|source| Error::Program {
        what: name.to_owned(),
        action: "hold",
        source,
    })
}

/// An error of libbpf, on what.
pub(crate) fn load_error(what: &str, error: &libbpf_rs::Error) -> Error {
    let (what, reason) = (what.to_owned(), format!("{error:#}"));
    match what_ran_out(&reason) {
        Some(ran_out) => Error::RanOut {
            what,
            ran_out,
            reason,
        },
        None => Error::Load { what, reason },
    }
}
