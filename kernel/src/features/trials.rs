// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What BTF does not tell: the kernel is made to load a program that does it.

use super::kernel_types::KernelTypes;
use crate::layout::Config;
use crate::object::bytes_of;
use crate::skeleton::sender::SenderSkelBuilder;
use crate::skeleton::sender::types::tcp_congestion_ops;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use std::mem::MaybeUninit;
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
