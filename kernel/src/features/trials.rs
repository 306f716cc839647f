// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What BTF does not tell: the kernel is made to load a program that does it.

use super::kernel_types::KernelTypes;
use crate::layout::Config;
use crate::object::bytes_of;
use crate::skeleton::receiver::ReceiverSkelBuilder;
use crate::skeleton::sender::SenderSkelBuilder;
use crate::skeleton::sender::types::tcp_congestion_ops;
use libbpf_rs::libbpf_sys::bpf_btf_load;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::OnceLock;

/// Whether the kernel lets a congestion control set a socket's pace (6.0).
pub(super) fn sets_pace(types: KernelTypes) -> bool {
    static TRIED: OnceLock<bool> = OnceLock::new();
    match types.cong_control_parameters {
        None => false,
        // Since it passes four it does, so nothing has to be tried and nobody has to wait.
        Some(4..) => true,
        Some(_) => *TRIED.get_or_init(|| {
            // The kernel's refusal is the answer, not a message for anybody.
            crate::messages::collect();
            let is_loaded = load_pace_setter().is_ok();
            crate::messages::take();
            is_loaded
        }),
    }
}

/// Whether the kernel lets programs walk over the elements of a map: some are built to refuse it.
pub(crate) fn walks_over_maps() -> bool {
    static TRIED: OnceLock<bool> = OnceLock::new();
    *TRIED.get_or_init(|| {
        crate::messages::collect();
        let is_loaded = load_storage_walk().is_ok();
        crate::messages::take();
        is_loaded
    })
}

/// The kernel's refusal of type information (BTF_LOAD), if it refuses it. libbpf does not tell of
/// that: it goes on without, and the kernel then says of storage in sockets, which needs types,
/// that there is no such thing.
pub(crate) fn refusal_of_types() -> Option<io::Error> {
    // SAFETY: the types are read through the call, and are as long as is said; options may be none.
    let loaded = unsafe {
        bpf_btf_load(
            AN_INTEGER.as_ptr().cast(),
            AN_INTEGER.len() as u64,
            std::ptr::null_mut(),
        )
    };
    if loaded < 0 {
        return Some(io::Error::from_raw_os_error(-loaded));
    }
    // SAFETY: nobody else has this descriptor.
    drop(unsafe { OwnedFd::from_raw_fd(loaded) });
    None
}

/// Type information of one type, `int`, as linux/btf.h lays it out in the host's order: a
/// header of 24 bytes, the type, and the names.
static AN_INTEGER: [u8; 45] = {
    let words = [
        // The header's length; where the type begins behind it, its length; the names likewise.
        24u32,
        0,
        16,
        16,
        5, // Its name, its kind in the upper bits, its length in bytes.
        1,
        1 << 24,
        4, // It has a sign, and 32 bits.
        1 << 24 | 32,
    ];
    let mut bytes = [0; 45];
    let [first, second] = 0xeb9f_u16.to_ne_bytes();
    (bytes[0], bytes[1], bytes[2]) = (first, second, 1);
    let mut index = 0;
    while index < words.len() * 4 {
        bytes[4 + index] = words[index / 4].to_ne_bytes()[index % 4];
        index += 1;
    }
    let names = *b"\0int\0";
    let mut index = 0;
    while index < names.len() {
        bytes[40 + index] = names[index];
        index += 1;
    }
    bytes
};

/// Loads, of all programs, the one that walks over a storage.
fn load_storage_walk() -> libbpf_rs::Result<()> {
    let mut storage = MaybeUninit::uninit();
    let mut open = ReceiverSkelBuilder::default().open(&mut storage)?;
    for mut program in open.open_object_mut().progs_mut() {
        let is_it = program.name() == "ebb_left";
        program.set_autoload(is_it);
    }
    for mut map in open.open_object_mut().maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let is_used = name == "ebb_flows" || name.contains(".data") || name.contains(".rodata");
        map.set_autocreate(is_used)?;
    }
    open.load().map(drop)
}

/// Loads, of all programs, the one that ends a pace, in a table of its own.
fn load_pace_setter() -> libbpf_rs::Result<()> {
    let mut storage = MaybeUninit::uninit();
    let mut open = SenderSkelBuilder::default().open(&mut storage)?;
    for mut program in open.open_object_mut().progs_mut() {
        program.set_autoload(false);
    }
    let config = Config {
        sets_pace: 1,
        ..Config::default()
    };
    open.maps
        .rodata_config
        .set_initial_value(bytes_of(&config))?;
    open.maps.ebb_in_control.set_autocreate(false)?;
    open.maps.ebb_ordinary.set_map_flags(0)?;
    let release = open.struct_ops.ebb_ordinary().release;
    *open.struct_ops.ebb_ordinary_mut() = tcp_congestion_ops {
        release,
        ..tcp_congestion_ops::default()
    };
    open.load().map(drop)
}
