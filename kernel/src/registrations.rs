// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion controls whose owners were killed. Before Linux 6.4 they are no links, so they stay
//! registered, and can be selected, until somebody takes them off.

use crate::congestion;
use crate::features;
use crate::layout::{Config, ControlHead, beginning, only_element};
use crate::names;
use crate::sys;
use ebb_host::is_first_pid_namespace;
use std::collections::HashMap;
use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// BPF_STRUCT_OPS_STATE_INUSE, and where `struct bpf_struct_ops_…` has it.
const IN_USE: u32 = 1;
const STATE_AT: usize = 4;

/// Takes off the congestion controls of owners that were killed; gives their number. Connections
/// that use one go on.
pub(crate) fn sweep() -> usize {
    let form = features::sender_form();
    // Elsewhere the numbers of owners mean nothing.
    if !form.is_offered || form.is_link || !is_first_pid_namespace() {
        return 0;
    }
    let owners = owners();
    let left = tables().filter(|(name, _)| owners.get(name) == Some(&Owner::Gone));
    left.filter(|(_, table)| congestion::take_off(table.as_fd()).is_ok())
        .count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Alive,
    Gone,
}

/// The registered ones of any Ebb: their names, and what holds them.
fn tables() -> impl Iterator<Item = (String, OwnedFd)> {
    let name_at = features::congestion_name_at();
    sys::map_ids().filter_map(move |id| {
        let table = sys::map_by_id(id).ok()?;
        let info = sys::map_info(table.as_fd()).ok()?;
        if !names::TABLES.contains(&info.name.as_str()) {
            return None;
        }
        let mut value = vec![0; info.value_bytes as usize];
        sys::lookup(table.as_fd(), &congestion::ONLY_KEY, &mut value).ok()?;
        let state = value.get(STATE_AT..STATE_AT + 4)?;
        if u32::from_ne_bytes(state.try_into().ok()?) != IN_USE {
            return None;
        }
        let name = CStr::from_bytes_until_nul(value.get(name_at?..)?).ok()?;
        Some((name.to_str().ok()?.to_owned(), table))
    })
}

/// By the names of their congestion controls.
fn owners() -> HashMap<String, Owner> {
    let programs = sys::program_ids().filter_map(|id| sys::program_by_id(id).ok());
    programs
        .filter_map(|program| owner_of(program.as_fd()))
        .collect()
}

/// The name that a law's first hook was loaded for, and whether its owner lives.
fn owner_of(program: BorrowedFd<'_>) -> Option<(String, Owner)> {
    let info = sys::program_info(program).ok()?;
    if info.name != names::INIT {
        return None;
    }
    let (mut name, mut owner) = (None, None);
    for map in info.map_ids {
        let map = sys::map_by_id(map).ok()?;
        let info = sys::map_info(map.as_fd()).ok()?;
        match info.name.as_str() {
            names::CONFIG_MAP => {
                let config: Config = only_element(map.as_fd(), info.value_bytes)?;
                name = Some(congestion::name_in(&config.congestion_name));
            }
            names::CONTROL_MAP => {
                owner = beginning(map.as_fd(), info.value_bytes).map(judge);
            }
            _ => {}
        }
    }
    Some((name?, owner?))
}

/// One that is stopped has no lease either, and will go on.
fn judge(control: ControlHead) -> Owner {
    let is_leased = control.lease_until_ns > ebb_host::clock::monotonic_ns();
    let has_process = || fs::exists(format!("/proc/{}", control.owner_pid)).unwrap_or(true);
    match is_leased || has_process() {
        true => Owner::Alive,
        false => Owner::Gone,
    }
}
