// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws as congestion controls of the kernel, by the names that TCP_CONGESTION takes.

use crate::error::{Error, Result};
use crate::object::load_error;
use crate::programs::Purpose;
use ebb_algorithms::LawInfo;
use ebb_host::sysctl;
use libbpf_rs::{MapCore, Object, OpenObject};
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a name, the zero at its end included.
const NAME_BYTES: usize = 16;
/// `struct tcp_congestion_ops` as `bpf/kernel_types.h` has it: the name comes first.
const FLAGS_AT: usize = NAME_BYTES;
/// Any program may select it (TCP_CONG_NON_RESTRICTED).
const NON_RESTRICTED: u32 = 1;
/// The tables of the object, for laws without full control and with it.
const TABLES: [&str; 2] = ["ebb_ordinary", "ebb_in_control"];
/// The hooks of each of them.
const PROGRAMS: [&[&str]; 2] = [
    &[
        "ebb_pkts_acked",
        "ebb_cong_avoid",
        "ebb_ssthresh",
        "ebb_set_state",
        "ebb_cwnd_event",
        "ebb_undo_cwnd",
        "ebb_init",
        "ebb_done",
    ],
    &[
        "ebb_cong_control",
        "ebb_ssthresh",
        "ebb_set_state",
        "ebb_cwnd_event",
        "ebb_undo_cwnd",
        "ebb_init",
        "ebb_done",
    ],
];
/// Policies that can have the same sender law at the same time.
const LETTERS: &str = "123456789abcdefghijklmnopqrstuvwxyz";

/// The name of a sender law for TCP_CONGESTION while it is loaded for everybody: `ebb_` and
/// the law's name, `-` as `_` and `+` as `p`, since the kernel takes no other signs.
pub fn congestion_name(law: &LawInfo) -> String {
    format!("ebb_{}", in_kernel(law))
}

/// The law's name in the signs that the kernel takes in a name.
fn in_kernel(law: &LawInfo) -> String {
    law.name.replace('-', "_").replace('+', "p")
}

/// A law as a congestion control, selectable until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration(#[expect(dead_code, reason = "held open")] OwnedFd);

impl Registration {
    /// Registers the law of a loaded object.
    ///
    /// *Errors*: [`Error::NameTaken`]; [`Error::Load`].
    pub(crate) fn of(object: &mut Object, law: &LawInfo, name: &str) -> Result<Self> {
        let table = table_of(law);
        let found = object.maps_mut().find(|map| map.name() == table);
        let mut table = found.ok_or_else(|| missing(table))?;
        crate::messages::collect();
        let link = table.attach_struct_ops();
        crate::messages::take();
        let link = link.map_err(|error| match error.kind() {
            libbpf_rs::ErrorKind::AlreadyExists => Error::NameTaken {
                name: name.to_owned(),
            },
            _ => load_error(name, &error),
        })?;
        let held = link.as_fd().try_clone_to_owned();
        held.map(Self).map_err(|source| Error::Program {
            what: name.to_owned(),
            action: "hold",
            source,
        })
    }
}

/// Calls with names for the law that are not in use until one stays free.
pub(crate) fn with_free_name<T>(
    law: &LawInfo,
    mut load: impl FnMut(&str) -> Result<T>,
) -> Result<T> {
    let taken = names_in_use();
    let names = LETTERS
        .chars()
        .map(|letter| format!("ebb{letter}_{}", in_kernel(law)));
    let mut last = None;
    for name in names.filter(|name| !taken.contains(name)) {
        match load(&name) {
            // Another Ebb was faster.
            Err(Error::NameTaken { name }) => last = Some(name),
            other => return other,
        }
    }
    Err(Error::NameTaken {
        name: last.unwrap_or_else(|| format!("ebb?_{}", in_kernel(law))),
    })
}

/// The programs that run a sender law.
pub(crate) fn programs_of(law: &LawInfo) -> &'static [&'static str] {
    PROGRAMS[usize::from(law.has_full_control())]
}

/// All congestion controls of this kernel.
fn names_in_use() -> Vec<String> {
    sysctl("net.ipv4.tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

pub(crate) fn name_bytes(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

/// Fills in the table that is to be registered; the others are not made.
pub(crate) fn prepare(
    open: &mut OpenObject,
    purpose: &Purpose<'_>,
    name: Option<&str>,
) -> Result<()> {
    let wanted = match purpose {
        Purpose::Law(law) => Some((*law, table_of(law))),
        Purpose::Release(..) => None,
    };
    for mut map in open.maps_mut() {
        let Some(table) = TABLES.iter().find(|table| map.name() == **table) else {
            continue;
        };
        match (wanted, name) {
            (Some((law, wanted)), Some(name)) if wanted == *table => {
                let value = map.initial_value_mut().ok_or_else(|| missing(table))?;
                fill_in(value, law, name).ok_or_else(|| missing(table))?;
            }
            _ => map
                .set_autocreate(false)
                .map_err(|error| load_error(table, &error))?,
        }
    }
    Ok(())
}

fn fill_in(table: &mut [u8], law: &LawInfo, name: &str) -> Option<()> {
    let is_for_everybody = name == congestion_name(law);
    // Not TCP_CONG_NEEDS_ECN: it marks the SYN itself, which ordinary peers refuse.
    let flags = if is_for_everybody { NON_RESTRICTED } else { 0 };
    table
        .get_mut(..NAME_BYTES)?
        .copy_from_slice(&name_bytes(name));
    table
        .get_mut(FLAGS_AT..FLAGS_AT + 4)?
        .copy_from_slice(&flags.to_ne_bytes());
    Some(())
}

fn table_of(law: &LawInfo) -> &'static str {
    TABLES[usize::from(law.has_full_control())]
}

fn missing(table: &str) -> Error {
    Error::Load {
        what: table.to_owned(),
        reason: "not in the compiled object".to_owned(),
    }
}
