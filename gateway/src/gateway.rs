// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A gateway at work: the loaded programs, their rules and their table.

use crate::attach::{Hook, Stand};
use crate::bundles::Bundles;
use crate::control::ControlMapping;
use crate::error::{Error, Result};
use crate::flows::{Flow, Way};
use crate::interface::Interface;
use crate::layout::{Config, HalfHead, bytes_of, read};
use crate::rule::{MAX_RULES, Rule};
use crate::skeleton::gateway::{GatewaySkel, GatewaySkelBuilder};
use crate::trial::{self, Tried};
use ebb_algorithms::{Policy, Side};
use ebb_host::clock::monotonic_ns;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

mod counted;
mod ruled;

/// How often the lease is to be renewed, which lasts for 2 s.
pub const RENEW_EVERY: Duration = Duration::from_millis(500);
/// What has ended is forgotten after so long without a packet, ...
const FORGET_ENDED_AFTER: Duration = Duration::from_secs(10);
/// ... and what has not, after so long; should it go on, its law begins anew.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// How a gateway is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// Behind which clients are; all of one kind.
    pub interfaces: Vec<Interface>,
    /// The receiver law and its parameters.
    pub policy: Policy,
    /// Laws learn, and nothing is changed.
    pub is_observing: bool,
    /// How programs are put on interfaces; none: as well as the kernel can.
    pub hook: Option<Hook>,
    /// Connections that are known at once, governed or not.
    pub connections: u32,
    /// Interfaces may come and go: a rule that names one which is not there is for nothing.
    pub is_patient: bool,
}

/// A gateway at work. Dropped, it lets everything go.
pub struct Gateway {
    // Taken off first.
    stands: Vec<Stand>,
    control: ControlMapping,
    /// For packets from clients, and for those to them.
    programs: [OwnedFd; 2],
    halves: MapHandle,
    counters: MapHandle,
    counters_of_rules: MapHandle,
    /// Connections that were set free since the lease was over, by the bundles of their rules.
    lapsed: [u64; MAX_RULES],
    bundles: Bundles,
    policy: Policy,
    /// One whose kind all others have.
    first: Option<Interface>,
    hook: Option<Hook>,
    is_patient: bool,
    /// What is wrong with network namespaces that rules name.
    unknown: BTreeSet<String>,
    notices: Vec<String>,
    is_released: bool,
}

impl Gateway {
    /// Begins; call [`Self::renew`] every [`RENEW_EVERY`].
    ///
    /// *Errors:* the interface is another's, or hardware forwards its packets; the law is for
    /// another host; the kernel refuses the programs.
    pub fn start(options: &Options, rules: &[Rule]) -> Result<Self> {
        let law = options.policy.law();
        if law.side() != Side::Receiver || law.is_for_counters() {
            return Err(Error::NotForGateways { law: law.name });
        }
        let stands: Result<Vec<_>> = options.interfaces.iter().map(Stand::claim).collect();
        let stands = stands?;
        let mut gateway = Self::load(options)?;
        gateway.control.set_params(options.policy.values());
        gateway.control.set_observing(options.is_observing);
        gateway.set_rules(rules)?;
        gateway.renew();
        for stand in stands {
            gateway.put_on(stand)?;
        }
        Ok(gateway)
    }

    /// Stands on this interface, too.
    ///
    /// *Errors:* as [`Self::start`]; it is of another kind.
    pub fn take(&mut self, interface: &Interface) -> Result<()> {
        self.put_on(Stand::claim(interface)?)?;
        self.renumber()
    }

    /// Stands on this interface no more, whether or not it is still there.
    ///
    /// *Errors:* as [`Self::set_rules`].
    pub fn leave(&mut self, name: &str) -> Result<()> {
        self.stands.retain(|stand| stand.interface().name() != name);
        self.renumber()
    }

    fn put_on(&mut self, mut stand: Stand) -> Result<()> {
        let other = stand.interface();
        if let Some(first) = &self.first
            && first.has_macs() != other.has_macs()
        {
            return Err(Error::OtherKind {
                first: first.to_string(),
                other: other.to_string(),
            });
        }
        let programs = [self.programs[0].as_fd(), self.programs[1].as_fd()];
        stand.put(programs, self.hook)?;
        self.stands.push(stand);
        Ok(())
    }

    /// Has the kernel take the programs, which are nowhere yet.
    fn load(options: &Options) -> Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let skeleton = load(options, &mut storage)?;
        let handle = |map: &libbpf_rs::MapMut<'_>| {
            MapHandle::try_from(map).map_err(|error| refused("a table", &error))
        };
        Ok(Self {
            stands: Vec::new(),
            control: ControlMapping::of(skeleton.maps.data_control.as_fd())?,
            programs: [
                held(skeleton.progs.ebb_from_lan.as_fd())?,
                held(skeleton.progs.ebb_to_lan.as_fd())?,
            ],
            halves: handle(&skeleton.maps.ebb_halves)?,
            counters: handle(&skeleton.maps.ebb_counters)?,
            counters_of_rules: handle(&skeleton.maps.ebb_counters_of_rules)?,
            lapsed: [0; MAX_RULES],
            bundles: Bundles::default(),
            policy: options.policy.clone(),
            first: options.interfaces.first().cloned(),
            hook: options.hook,
            is_patient: options.is_patient,
            unknown: BTreeSet::new(),
            notices: Vec::new(),
            is_released: false,
        })
    }

    /// Whether the programs have stopped, since nobody renewed their lease in time: what they know is
    /// to be forgotten ([`Self::lapse`]) before they act again.
    pub fn has_lapsed(&self) -> bool {
        !self.is_released && self.control.has_lapsed()
    }

    /// Lets the programs act for another two seconds.
    pub fn renew(&self) {
        if !self.is_released {
            self.control.renew();
        }
    }

    /// How its programs stand on the interfaces.
    pub fn hook(&self) -> Option<Hook> {
        self.stands.first().and_then(Stand::hook)
    }

    /// The law and its parameters.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The interface that is not there any more, or that others have taken the programs off.
    pub fn lost(&self) -> Option<&Interface> {
        let mut lost = self.stands.iter().filter(|stand| !stand.is_whole());
        lost.next().map(Stand::interface)
    }

    /// The interfaces that it stands on.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.stands.iter().map(Stand::interface)
    }

    /// Other parameters of the same law.
    ///
    /// *Errors:* [`Error::OtherLaw`].
    pub fn set_policy(&mut self, policy: &Policy) -> Result<()> {
        let law = self.policy.law().name;
        if policy.law().name != law {
            return Err(Error::OtherLaw { law });
        }
        self.control.set_params(policy.values());
        self.policy = policy.clone();
        Ok(())
    }

    /// Only learns from now on, or acts again.
    pub fn set_observing(&mut self, is_observing: bool) {
        self.control.set_observing(is_observing);
    }

    /// Every governed connection, one for each way.
    pub fn flows(&self) -> Vec<Flow> {
        let of_key = |key: Vec<u8>| {
            let value = self.halves.lookup(&key, MapFlags::ANY).ok()??;
            Flow::read(&value, |number| self.bundles.place(number))
        };
        self.halves.keys().filter_map(of_key).collect()
    }

    /// Makes room: forgets what has ended, and what has been silent for long.
    pub fn forget_silent(&self) {
        let now_ns = monotonic_ns();
        for key in self.keys() {
            let Ok(Some(value)) = self.halves.lookup(&key, MapFlags::ANY) else {
                continue;
            };
            let Some(head) = read::<HalfHead>(&value) else {
                continue;
            };
            let patience = match head.is_ending {
                0 => FORGET_AFTER,
                _ => FORGET_ENDED_AFTER,
            };
            if now_ns.saturating_sub(head.heard_ns) > patience.as_nanos() as u64 {
                // It may have gone by itself.
                let _ = self.halves.delete(&key);
            }
        }
    }

    /// Notes that the lease was over, and forgets all of it: each connection begins anew with what
    /// it was granted meanwhile.
    pub fn lapse(&mut self) {
        for flow in self.flows() {
            let bundle = self.bundles.numbers()[flow.rule];
            self.lapsed[usize::from(bundle)] += u64::from(flow.way == Way::Download);
        }
        self.forget_all();
    }

    fn forget_all(&self) {
        for key in self.keys() {
            let _ = self.halves.delete(&key);
        }
    }

    /// All of them at once: behind one that was deleted the kernel begins again with the first.
    fn keys(&self) -> Vec<Vec<u8>> {
        self.halves.keys().collect()
    }

    /// Runs a program so often on a packet that nobody sent, with its link's header: from a client,
    /// or to one.
    ///
    /// *Errors:* those of the kernel; it may run no program so.
    pub fn try_packet(&self, is_from_client: bool, packet: &[u8], times: u32) -> io::Result<Tried> {
        trial::run(
            self.programs[usize::from(!is_from_client)].as_fd(),
            packet,
            times,
        )
    }

    /// The kernel's numbers for the programs, as bpftool shows them: for packets from clients, and
    /// for those to them.
    ///
    /// *Errors:* those of the kernel.
    pub fn program_numbers(&self) -> io::Result<[u32; 2]> {
        let [from_lan, to_lan] = &self.programs;
        Ok([
            trial::number(from_lan.as_fd())?,
            trial::number(to_lan.as_fd())?,
        ])
    }

    /// Lets everything go and takes the programs off.
    pub fn release(&mut self) {
        self.is_released = true;
        self.control.release();
        self.stands.clear();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gateway")
            .field("interfaces", &self.stands)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A descriptor that outlives libbpf's.
fn held(program: BorrowedFd<'_>) -> Result<OwnedFd> {
    program
        .try_clone_to_owned()
        .map_err(|source| Error::Program {
            what: "the gateway's programs".to_owned(),
            action: "hold",
            source,
        })
}

fn load<'object>(
    options: &Options,
    storage: &'object mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<GatewaySkel<'object>> {
    let what = "the gateway's programs";
    let opened = GatewaySkelBuilder::default().open(storage);
    let mut open = opened.map_err(|error| refused(what, &error))?;
    let config = Config {
        law_number: options.policy.law().number,
        link_bytes: options.interfaces.first().map_or(0, Interface::link_bytes),
        jiffies_per_s: jiffies_per_s(),
        secret: secret()?,
        reserved: 0,
    };
    let prepared = open
        .maps
        .rodata_config
        .set_initial_value(bytes_of(&config))
        .and_then(|()| {
            open.maps
                .ebb_connections
                .set_max_entries(options.connections)
        });
    prepared.map_err(|error| refused(what, &error))?;
    open.load().map_err(|error| refused(what, &error))
}

fn refused(what: &str, error: &libbpf_rs::Error) -> Error {
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return Error::NotPermitted {
            what: format!("load {what}"),
        };
    }
    Error::Load {
        what: what.to_owned(),
        reason: format!("{error:#}"),
    }
}

/// What connections' numbers are made with: nobody can choose two of the same number.
fn secret<const WORDS: usize>() -> Result<[u32; WORDS]> {
    let mut words = [0; WORDS];
    let bytes = size_of_val(&words);
    // SAFETY: as many bytes are written as the words have.
    let filled = unsafe { libc::getrandom(words.as_mut_ptr().cast(), bytes, 0) };
    if usize::try_from(filled) == Ok(bytes) {
        return Ok(words);
    }
    Err(Error::Program {
        what: "the gateway's programs".to_owned(),
        action: "find a secret for",
        source: io::Error::last_os_error(),
    })
}

/// The kernel's slow clock: the coarse clocks advance with it.
fn jiffies_per_s() -> u32 {
    // SAFETY: plain data for which zero bytes are valid.
    let mut tick: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the answer is written to what lives through the call.
    let asked = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    let nanos = if asked < 0 { 0 } else { tick.tv_nsec };
    u32::try_from(1_000_000_000 / nanos.max(1))
        .unwrap_or(250)
        .clamp(1, 1_000)
}
