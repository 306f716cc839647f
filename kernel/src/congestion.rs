// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws as congestion controls of the kernel, by the names that TCP_CONGESTION takes.

use crate::error::{Error, Result};
use crate::features::SenderForm;
use crate::object::{Registered, held, load_error};
use crate::skeleton::sender::types::tcp_congestion_ops;
use crate::skeleton::sender::{OpenSenderProgs, OpenSenderSkel, SenderMaps, SenderProgs};
use crate::sys;
use ebb_algorithms::LawInfo;
use ebb_host::sysctl;
use libbpf_rs::AsRawLibbpf;
use std::ffi::c_char;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

/// Bytes of a name, the zero at its end included.
const NAME_BYTES: usize = 16;
/// A table's map has one element.
pub(crate) const ONLY_KEY: [u8; 4] = [0; 4];
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
pub(crate) enum Registration {
    /// The kernel ends it when nobody holds the link any more.
    Link(#[expect(dead_code, reason = "held open")] OwnedFd),
    /// It lasts until it is taken out of this table.
    Table(OwnedFd),
}

impl Registration {
    /// Registers a law whose programs are loaded.
    ///
    /// *Errors*: [`Error::NameTaken`]; [`Error::Load`].
    pub(crate) fn of(
        maps: &mut SenderMaps<'_>,
        registered: Registered<'_>,
        form: SenderForm,
    ) -> Result<Self> {
        let table = match registered.law.has_full_control() {
            true => &mut maps.ebb_in_control,
            false => &mut maps.ebb_ordinary,
        };
        crate::messages::collect();
        let link = table.attach_struct_ops();
        crate::messages::take();
        let name = registered.name;
        let mut link = link.map_err(|error| match error.kind() {
            libbpf_rs::ErrorKind::AlreadyExists => Error::NameTaken {
                name: name.to_owned(),
            },
            _ => load_error(name, &error),
        })?;
        if form.is_link {
            return held(link.as_fd(), name).map(Self::Link);
        }
        // What libbpf calls a link here is the table, and it would take the law out of it.
        link.disconnect();
        held(table.as_fd(), name).map(Self::Table)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Self::Table(table) = self
            && let Err(error) = take_off(table.as_fd())
        {
            tracing::warn!("a congestion control stays registered: {error}");
        }
    }
}

/// Ends a registration that is no link; connections that use it go on.
pub(crate) fn take_off(table: BorrowedFd<'_>) -> std::io::Result<()> {
    sys::delete(table, &ONLY_KEY)
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
    form: SenderForm,
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
    found.extend(match (law.has_full_control(), form.has_short_control) {
        (true, true) => hooks!(programs, [ebb_cong_short, ebb_sndbuf_expand]),
        (true, false) => hooks!(programs, [ebb_cong_control, ebb_sndbuf_expand]),
        (false, _) => hooks!(programs, [ebb_pkts_acked, ebb_cong_avoid]),
    });
    if form.has_start_hook {
        found.extend(hooks!(programs, [ebb_start]));
    }
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

/// The name in one of the kernel's structs.
pub(crate) fn name_in(bytes: &[c_char; NAME_BYTES]) -> String {
    let letters = bytes.iter().take_while(|letter| **letter != 0);
    letters.map(|letter| *letter as u8 as char).collect()
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
    form: SenderForm,
) -> libbpf_rs::Result<()> {
    let has_full_control = registered.map(|registered| registered.law.has_full_control());
    let maps = &mut open.maps;
    (maps.ebb_ordinary).set_autocreate(has_full_control == Some(false))?;
    (maps.ebb_in_control).set_autocreate(has_full_control == Some(true))?;
    if !form.is_link {
        maps.ebb_ordinary.set_map_flags(0)?;
        maps.ebb_in_control.set_map_flags(0)?;
    }
    let Some(Registered { law, name, .. }) = registered else {
        return Ok(());
    };
    let table = match law.has_full_control() {
        true => open.struct_ops.ebb_in_control_mut(),
        false => open.struct_ops.ebb_ordinary_mut(),
    };
    fit(table, &open.progs, form);
    let is_for_everybody = name == congestion_name(law);
    table.name = name_bytes(name);
    // Not TCP_CONG_NEEDS_ECN: it marks the SYN itself, which ordinary peers refuse.
    table.flags = if is_for_everybody { NON_RESTRICTED } else { 0 };
    Ok(())
}

/// Leaves in a table what the kernel has a place for.
fn fit(table: &mut tcp_congestion_ops, programs: &OpenSenderProgs<'_>, form: SenderForm) {
    if !form.has_start_hook {
        table.cwnd_event_tx_start = ptr::null_mut();
    }
    if form.has_short_control && !table.cong_control.is_null() {
        table.cong_control = programs.ebb_cong_short.as_libbpf_object().as_ptr();
    }
}
