// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws as congestion controls of the kernel, by the names that TCP_CONGESTION takes.

use crate::error::{Error, Result};
use crate::object::{Registered, held, load_error};
use crate::skeleton::sender::{OpenSenderSkel, SenderMaps, SenderProgs};
use ebb_algorithms::LawInfo;
use ebb_host::sysctl;
use std::ffi::c_char;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a name, the zero at its end included.
const NAME_BYTES: usize = 16;
/// Any program may select it (TCP_CONG_NON_RESTRICTED).
const NON_RESTRICTED: u32 = 1;
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
    /// Registers a law whose programs are loaded.
    ///
    /// *Errors*: [`Error::NameTaken`]; [`Error::Load`].
    pub(crate) fn of(maps: &mut SenderMaps<'_>, registered: Registered<'_>) -> Result<Self> {
        let table = match registered.law.has_full_control() {
            true => &mut maps.ebb_in_control,
            false => &mut maps.ebb_ordinary,
        };
        crate::messages::collect();
        let link = table.attach_struct_ops();
        crate::messages::take();
        let name = registered.name;
        let link = link.map_err(|error| match error.kind() {
            libbpf_rs::ErrorKind::AlreadyExists => Error::NameTaken {
                name: name.to_owned(),
            },
            _ => load_error(name, &error),
        })?;
        held(link.as_fd(), name).map(Self)
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

/// The named programs of a skeleton, with their names.
macro_rules! hooks {
    ($programs:ident, [$($program:ident),* $(,)?]) => {
        vec![$((stringify!($program), held($programs.$program.as_fd(), stringify!($program))?)),*]
    };
}

/// The programs that run a sender law, by their names.
pub(crate) fn hooks_of(
    law: &LawInfo,
    programs: &SenderProgs<'_>,
) -> Result<Vec<(&'static str, OwnedFd)>> {
    let mut found = hooks!(
        programs,
        [
            ebb_ssthresh,
            ebb_set_state,
            ebb_cwnd_event,
            ebb_undo_cwnd,
            ebb_init,
            ebb_done
        ]
    );
    found.extend(match law.has_full_control() {
        true => hooks!(programs, [ebb_cong_control, ebb_sndbuf_expand]),
        false => hooks!(programs, [ebb_pkts_acked, ebb_cong_avoid]),
    });
    Ok(found)
}

/// All congestion controls of this kernel.
fn names_in_use() -> Vec<String> {
    sysctl("net.ipv4.tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// A name as the kernel's structs have it, cut to its length.
pub(crate) fn name_bytes(name: &str) -> [c_char; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    // The last stays zero.
    for (byte, letter) in bytes[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        *byte = letter as c_char;
    }
    bytes
}

/// Fills in the table that is to be registered; others are not made.
pub(crate) fn prepare(
    open: &mut OpenSenderSkel<'_>,
    registered: Option<Registered<'_>>,
) -> libbpf_rs::Result<()> {
    let has_full_control = registered.map(|registered| registered.law.has_full_control());
    let maps = &mut open.maps;
    (maps.ebb_ordinary).set_autocreate(has_full_control == Some(false))?;
    (maps.ebb_in_control).set_autocreate(has_full_control == Some(true))?;
    let Some(Registered { law, name, .. }) = registered else {
        return Ok(());
    };
    let table = match law.has_full_control() {
        true => open.struct_ops.ebb_in_control_mut(),
        false => open.struct_ops.ebb_ordinary_mut(),
    };
    let is_for_everybody = name == congestion_name(law);
    table.name = name_bytes(name);
    // Not TCP_CONG_NEEDS_ECN: it marks the SYN itself, which ordinary peers refuse.
    table.flags = if is_for_everybody { NON_RESTRICTED } else { 0 };
    Ok(())
}
