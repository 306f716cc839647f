// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The names by which the kernel tells of programs and maps, which may be another process's:
//! those of the skeletons, so that one which does not exist does not compile.

use crate::skeleton::claims::types as claims;
use crate::skeleton::receiver::{ReceiverProgs, types as receiver};
use crate::skeleton::sender::{SenderMaps, SenderProgs, types as sender};
use ebb_algorithms::Side;
use std::mem::offset_of;

/// The name of a program or map, which is a field of the given struct of a skeleton.
macro_rules! name {
    ($of:ty, $field:ident) => {{
        const _: usize = offset_of!($of, $field);
        whole(stringify!($field))
    }};
}

/// What the names of all our programs begin with.
pub(crate) const PROGRAM_PREFIX: &str = "ebb_";

pub(crate) const INGRESS: &str = name!(ReceiverProgs<'static>, ebb_ingress);
pub(crate) const EGRESS: &str = name!(ReceiverProgs<'static>, ebb_egress);
pub(crate) const SOCK_OPS: &str = name!(ReceiverProgs<'static>, ebb_sockops);
pub(crate) const SOCK_CREATE: &str = name!(ReceiverProgs<'static>, ebb_sock_create);

/// The processes that an attachment to chosen ones acts on, by their numbers.
pub(crate) const PROCESSES_MAP: &str = name!(receiver::maps, ebb_processes);

/// The cgroups that concern rules.
pub(crate) const GROUPS_MAP: &str = name!(receiver::maps, ebb_groups);

/// What users have claimed, and the cgroups and processes that belong to it.
pub(crate) const CLAIMS_MAP: &str = name!(receiver::maps, ebb_claims);
pub(crate) const CLAIMED_GROUPS_MAP: &str = name!(receiver::maps, ebb_claimed_cg);
pub(crate) const MEMBERS_MAP: &str = name!(claims::maps, ebb_members);

/// The live control.
pub(crate) const CONTROL_MAP: &str = {
    const _: usize = offset_of!(receiver::data_control, control);
    whole(".data.control")
};

/// What is fixed before loading.
pub(crate) const CONFIG_MAP: &str = {
    const _: usize = offset_of!(sender::maps, ebb_origins);
    whole(".rodata.config")
};

/// The first hook of every sender law.
pub(crate) const INIT: &str = name!(SenderProgs<'static>, ebb_init);

/// The tables that sender laws are registered by.
pub(crate) const TABLES: [&str; 2] = [
    name!(SenderMaps<'static>, ebb_ordinary),
    name!(SenderMaps<'static>, ebb_in_control),
];

/// The governed connections, by the end whose programs act on them.
const FLOWS_MAPS: [(&str, Side); 2] = [
    (name!(receiver::maps, ebb_flows), Side::Receiver),
    (name!(sender::maps, ebb_origins), Side::Sender),
];

// The sender's are called the same, and all begin as they must.
const _: () = {
    assert!(offset_of!(SenderProgs<'static>, ebb_sockops) < size_of::<SenderProgs<'static>>());
    assert!(offset_of!(SenderProgs<'static>, ebb_sock_create) < size_of::<SenderProgs<'static>>());
    assert!(offset_of!(sender::maps, ebb_processes) < size_of::<sender::maps>());
    assert!(offset_of!(sender::data_control, control) == 0);
    assert!(is_ours(INGRESS) && is_ours(EGRESS) && is_ours(SOCK_OPS) && is_ours(SOCK_CREATE));
};

/// The end at which programs act on the connections that a map holds, by its name.
pub(crate) fn side_of_flows(map: &str) -> Option<Side> {
    let found = FLOWS_MAPS.iter().find(|(name, _)| *name == map);
    found.map(|(_, side)| *side)
}

/// The kernel keeps 15 letters of a name.
const fn whole(name: &str) -> &str {
    assert!(name.len() < 16);
    name
}

const fn is_ours(name: &str) -> bool {
    let (name, prefix) = (name.as_bytes(), PROGRAM_PREFIX.as_bytes());
    let mut at = 0;
    while at < prefix.len() {
        if name[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}
