// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two policies on one connection would undo each other's windows: the second is refused.

use crate::cgroup::Cgroup;
use crate::error::{Error, Result};
use crate::layout::{Constant, Control};
use crate::rules::EXEMPT;
use crate::selection::Selection;
use crate::sweep::{Found, find};
use crate::sys;
use ebb_algorithms::{Side, laws};
use ebb_host::with_descendants;
use std::collections::HashSet;
use std::os::fd::AsFd;

mod claimed;

/// Refuses to act on connections that another Ebb acts on, at the same end: each end has
/// windows of its own.
///
/// *Errors*: [`Error::AlreadyAttached`]; [`Error::OtherVersion`], of which it is not known at which
/// end and for whom it acts.
pub(crate) fn refuse(cgroup: &Cgroup, side: Side, selection: &Selection) -> Result<()> {
    // A rule leaves alone what is held by hand; that there is one service is the service's affair.
    if matches!(selection, Selection::Rule(_)) {
        return Ok(());
    }
    let mut groups: Vec<Cgroup> = cgroup.ancestors();
    groups.push(cgroup.clone());
    // Chosen processes have their connections in their own group.
    if *selection == Selection::WholeCgroup {
        groups.extend(cgroup.descendants());
    }
    for group in &groups {
        let all = find(group);
        for found in all.iter().filter(|found| found.is_alive()) {
            let head = &found.head;
            let Some(control) = &found.control else {
                return Err(Error::OtherVersion {
                    cgroup: group.path().to_path_buf(),
                    owner_pid: head.owner_pid,
                    theirs: head.version,
                    ours: Constant::EBB_CONTROL_VERSION.0,
                });
            };
            if found.side_among(&all).is_none_or(|its| its == side)
                && overlaps(group, (found, control), cgroup, selection)
            {
                return Err(refusal(cgroup, group, (found, control)));
            }
        }
    }
    Ok(())
}

fn refusal(cgroup: &Cgroup, group: &Cgroup, (found, control): (&Found, &Control)) -> Error {
    let (law, owner_pid) = (law_name(control.law_number), control.owner_pid);
    let path = cgroup.path().to_path_buf();
    match control.is_ruled {
        0 => Error::AlreadyAttached {
            cgroup: group.path().to_path_buf(),
            law,
            owner_pid,
        },
        _ if rules_of(cgroup, found) & control.rules[0] == 0 => Error::Claimed {
            cgroup: path,
            law,
            owner_pid,
        },
        _ => Error::Ruled {
            cgroup: path,
            law,
            owner_pid,
        },
    }
}

/// A law of Ebb's of this number, by its name. Whose own law another process has is not known.
pub(crate) fn law_name(number: u32) -> String {
    let known = laws().iter().find(|law| law.number == number);
    known.map_or_else(|| format!("number {number}"), |law| law.name.to_owned())
}

/// Whether what is on `theirs`, a group above or below ours or ours itself, acts on a process
/// that we are to act on.
fn overlaps(
    theirs: &Cgroup,
    (found, control): (&Found, &Control),
    ours: &Cgroup,
    selection: &Selection,
) -> bool {
    if control.is_ruled != 0 {
        return rules_of(ours, found) & control.rules[0] != 0
            || claimed::overlaps(ours, found, selection);
    }
    if control.is_marked_only == 0 {
        return true;
    }
    // Attachments to chosen processes share a cgroup: each acts on its own.
    let chosen = found
        .processes
        .as_ref()
        .map(|map| sys::numbers_in(map.as_fd()));
    let chosen = family(&chosen.unwrap_or_default());
    match selection {
        // One of an attachment's programs has the processes; all of /proc is read for ours.
        Selection::Processes(pids) => !chosen.is_empty() && !family(pids).is_disjoint(&chosen),
        Selection::WholeCgroup | Selection::Rule(_) => {
            let is_above = theirs.path() != ours.path() && ours.path().starts_with(theirs.path());
            let inside = ours.processes().unwrap_or_default();
            !is_above || inside.iter().any(|pid| chosen.contains(pid))
        }
    }
}

/// The rules whose condition on cgroups holds for ours.
fn rules_of(ours: &Cgroup, found: &Found) -> u64 {
    let mut value = [0; size_of::<u64>()];
    let read = found.groups.as_ref().map(|groups| {
        let key = ours.id().to_ne_bytes();
        sys::lookup(groups.as_fd(), &key, &mut value)
    });
    let rules = match read {
        Some(Ok(())) => u64::from_ne_bytes(value),
        _ => 0,
    };
    if rules & EXEMPT == 0 { rules } else { 0 }
}

/// The processes and their descendants; of those that have ended nothing is known.
pub(crate) fn family(pids: &[u32]) -> HashSet<u32> {
    let of_one = |pid: &u32| with_descendants(&[*pid]).unwrap_or_default();
    pids.iter().flat_map(of_one).collect()
}
