// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attachments of others: finding them, and clearing up after the dead.

use crate::cgroup::Cgroup;
use crate::conflict;
use crate::control::ControlMapping;
use crate::error::{Error, Result};
use crate::layout::{Config, Control, ControlHead, beginning, only_element};
use crate::names::{
    CLAIMED_GROUPS_MAP, CLAIMS_MAP, CONTROL_MAP, GROUPS_MAP, PROCESSES_MAP, PROGRAM_PREFIX,
    side_of_flows,
};
use crate::namespaces::Namespaces;
use crate::programs::{LoadOptions, Programs, Purpose};
use crate::registrations;
use crate::sys::{self, Hook};
use ebb_algorithms::Side;
use ebb_host::clock::monotonic_ns;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a living owner has to clear up after itself when asked.
const OWNER_CLEARS_WITHIN: Duration = Duration::from_millis(1500);

/// One program of an Ebb on a cgroup, perhaps another process's, perhaps of another version.
pub(crate) struct Found {
    hook: Hook,
    program: OwnedFd,
    pub(crate) head: ControlHead,
    /// None: of another version, with another layout.
    pub(crate) control: Option<Control>,
    control_map: OwnedFd,
    flows: Option<(Side, OwnedFd)>,
    /// The processes whose connections it acts on, unless on all.
    pub(crate) processes: Option<OwnedFd>,
    /// The cgroups that concern rules.
    pub(crate) groups: Option<OwnedFd>,
    /// What users have claimed.
    pub(crate) claims: Option<OwnedFd>,
    /// The cgroups that belong to it.
    pub(crate) claimed_groups: Option<OwnedFd>,
}

impl Found {
    /// The end that its attachment is at, by any of the attachment's programs among these that knows
    /// connections. The number of the law does not tell: a law of one's own may have another's in
    /// another process.
    pub(crate) fn side_among(&self, all: &[Self]) -> Option<Side> {
        let control = |it: &Self| Some(sys::map_info(it.control_map.as_fd()).ok()?.id);
        let ours = control(self);
        let mut programs = all.iter().filter(|it| control(it) == ours);
        programs.find_map(|it| it.flows.as_ref().map(|(side, _)| *side))
    }

    /// Its owner renews the lease.
    pub(crate) fn is_alive(&self) -> bool {
        self.head.is_released == 0 && self.head.lease_until_ns > monotonic_ns()
    }
}

/// Lets go whatever attachments of dead owners still hold on this cgroup and takes
/// their programs off. Gives the number of programs taken off. Those of another version of Ebb
/// stay: what they hold cannot be read, and past their lease they let it go by themselves.
///
/// *Errors*: [`Error::Program`] if a program cannot be taken off.
pub fn sweep(cgroup: &Cgroup) -> Result<usize> {
    registrations::sweep();
    let is_dead = |found: &Found| !found.is_alive() && found.head.is_ours();
    let dead = find(cgroup).into_iter().filter(is_dead);
    take_off(cgroup, dead.collect())
}

/// Ends every attachment on this cgroup, whoever owns it, and gives the number of
/// programs taken off. Living owners are asked first, and learn of it
/// ([`crate::Ending::ReleasedByOther`]).
///
/// *Errors*: as [`sweep`].
pub fn detach_all(cgroup: &Cgroup) -> Result<usize> {
    let found = find(cgroup);
    let count = found.len();
    for found in found {
        ControlMapping::of(found.control_map.as_fd())?.set_released();
    }
    let deadline = Instant::now() + OWNER_CLEARS_WITHIN;
    while !find(cgroup).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let left = find(cgroup).into_iter();
    take_off(cgroup, left.filter(|found| found.head.is_ours()).collect())?;
    registrations::sweep();
    Ok(count)
}

/// The living owner of a policy on exactly this cgroup: process and law's name.
pub fn owner_of(cgroup: &Cgroup) -> Option<(u32, String)> {
    let found = find(cgroup).into_iter().find(Found::is_alive)?;
    let head = found.head;
    Some((head.owner_pid, conflict::law_name(head.law_number)))
}

/// Every program of an Ebb on the cgroup itself: by its name, and by the control that each has.
/// Whatever has no control is somebody else's, however it is called.
pub(crate) fn find(cgroup: &Cgroup) -> Vec<Found> {
    Hook::ALL
        .into_iter()
        .flat_map(|hook| {
            let ids = sys::attached(cgroup.as_fd(), hook).unwrap_or_default();
            ids.into_iter().filter_map(move |id| describe(hook, id))
        })
        .collect()
}

fn describe(hook: Hook, id: u32) -> Option<Found> {
    let program = sys::program_by_id(id).ok()?;
    let info = sys::program_info(program.as_fd()).ok()?;
    if !info.name.starts_with(PROGRAM_PREFIX) {
        return None;
    }
    let maps = info.map_ids.into_iter().filter_map(|map| {
        let map = sys::map_by_id(map).ok()?;
        Some((sys::map_info(map.as_fd()).ok()?, map))
    });
    let mut maps: HashMap<String, (u32, OwnedFd)> = maps
        .map(|(info, map)| (info.name, (info.value_bytes, map)))
        .collect();
    let (value_bytes, control_map) = maps.remove(CONTROL_MAP)?;
    let head: ControlHead = beginning(control_map.as_fd(), value_bytes)?;
    let control = only_element(control_map.as_fd(), value_bytes);
    let flows = maps
        .keys()
        .find_map(|name| Some((side_of_flows(name)?, name.clone())));
    let mut taken = |name: &str| maps.remove(name).map(|(_, map)| map);
    Some(Found {
        hook,
        program,
        head,
        control: control.filter(|_| head.is_ours()),
        control_map,
        flows: flows.and_then(|(side, name)| Some((side, taken(&name)?))),
        processes: taken(PROCESSES_MAP),
        groups: taken(GROUPS_MAP),
        claims: taken(CLAIMS_MAP),
        claimed_groups: taken(CLAIMED_GROUPS_MAP),
    })
}

fn take_off(cgroup: &Cgroup, dead: Vec<Found>) -> Result<usize> {
    let mut released = Vec::new();
    for (side, flows) in dead.iter().filter_map(|found| found.flows.as_ref()) {
        // Connections without traffic have not been let go by the programs.
        let id = sys::map_info(flows.as_fd())
            .map(|info| info.id)
            .unwrap_or(0);
        if !released.contains(&id) {
            released.push(id);
            // Past their lease the programs only let go: they stay until they have.
            match release_left(cgroup, *side, flows) {
                Ok(0) => {}
                Ok(left) => {
                    tracing::info!("{left} connections of a dead Ebb go at their next segment");
                    return Ok(0);
                }
                Err(error) => {
                    tracing::warn!("connections of a dead Ebb go at their next segment: {error}");
                    return Ok(0);
                }
            }
        }
    }
    for found in &dead {
        let done = sys::detach(found.program.as_fd(), cgroup.as_fd(), found.hook);
        match done {
            // Its owner, or somebody else, was faster.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(source) => {
                return Err(Error::Program {
                    what: "a program left behind".to_owned(),
                    action: "take off",
                    source,
                });
            }
            Ok(()) => {}
        }
    }
    Ok(dead.len())
}

/// Walks over the connections with our own iterator on the dead one's storage; answers how many
/// are limited still.
fn release_left(cgroup: &Cgroup, side: Side, flows: &OwnedFd) -> Result<usize> {
    let mut namespaces = Namespaces::default();
    namespaces.add_all();
    Programs::load(&LoadOptions {
        rules: None,
        config: Config {
            cgroup_id: cgroup.id(),
            ..Default::default()
        },
        purpose: Purpose::Release(side, flows.as_fd()),
        predecessor: None,
    })
    .and_then(|programs| programs.release_existing(&namespaces, None))
}

#[cfg(test)]
mod tests;
