// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether users have claimed what somebody else is to act on.

use super::family;
use crate::cgroup::Cgroup;
use crate::layout::{Claimed, Member, Plain};
use crate::names::MEMBERS_MAP;
use crate::selection::Selection;
use crate::sweep::Found;
use crate::sys;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Whether one of the cgroups or processes that we are to act on belongs to a claim that stands.
pub(super) fn overlaps(ours: &Cgroup, found: &Found, selection: &Selection) -> bool {
    let (Some(claims), Some(groups)) = (&found.claims, &found.claimed_groups) else {
        return false;
    };
    let mut ids = vec![ours.id()];
    let pids = match selection {
        Selection::Processes(pids) => family(pids).into_iter().collect(),
        Selection::WholeCgroup | Selection::Rule(_) => {
            ids.extend(ours.descendants().iter().map(Cgroup::id));
            ours.processes().unwrap_or_default()
        }
    };
    let stands = |member: &Member| {
        let claim: Option<Claimed> = value_of(claims.as_fd(), &member.claim.to_ne_bytes());
        claim.is_some_and(|claim| claim.turn == member.turn)
    };
    let is_claimed =
        |map: &OwnedFd, key: &[u8]| value_of(map.as_fd(), key).is_some_and(|it| stands(&it));
    let mut members = members_maps();
    ids.iter().any(|id| is_claimed(groups, &id.to_ne_bytes()))
        || members.any(|map| pids.iter().any(|pid| is_claimed(&map, &pid.to_ne_bytes())))
}

/// Of whatever Ebb: no program that is on a cgroup has its own.
fn members_maps() -> impl Iterator<Item = OwnedFd> {
    let maps = sys::map_ids().filter_map(|id| sys::map_by_id(id).ok());
    maps.filter(|map| {
        sys::map_info(map.as_fd()).is_ok_and(|info| {
            info.name == MEMBERS_MAP && info.value_bytes as usize == size_of::<Member>()
        })
    })
}

fn value_of<T: Plain>(map: BorrowedFd<'_>, key: &[u8]) -> Option<T> {
    // The values of a table that can be mapped may be longer in other versions: not in ours.
    let mut value = vec![0; size_of::<T>()];
    sys::lookup(map, key, &mut value).ok()?;
    // SAFETY: the value is as long as the struct, and any bytes are one.
    Some(unsafe { value.as_ptr().cast::<T>().read_unaligned() })
}
