// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C side, as `native.c` exports it.

use crate::contract::{Ack, Segment, Start};
use std::ffi::{c_char, c_void};

#[repr(C)]
pub(crate) struct NativeParam {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub source: *const c_char,
    pub what: *const c_char,
    pub default: u32,
    pub min: u32,
    pub max: u32,
}

#[repr(C)]
pub(crate) struct NativeLaw {
    pub number: u32,
    pub state_bytes: u32,
    pub param_count: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub params: *const NativeParam,
    pub init: unsafe extern "C" fn(*mut c_void, *const Start, *const c_void),
    pub on_segment: unsafe extern "C" fn(*mut c_void, *const Segment, *const c_void),
    pub on_ack: unsafe extern "C" fn(*mut c_void, *const Ack, *const c_void),
    pub rwnd_bytes: unsafe extern "C" fn(*const c_void) -> u32,
}

// SAFETY: constant tables with static strings and functions; nothing is ever written.
unsafe impl Sync for NativeLaw {}

unsafe extern "C" {
    static ebb_native_laws: NativeLaw;
    static ebb_native_law_count: u32;
    static ebb_native_start_bytes: u32;
    static ebb_native_segment_bytes: u32;
    static ebb_native_ack_bytes: u32;
}

/// The laws that were compiled in, in the order of `laws.h`.
pub(crate) fn native_laws() -> &'static [NativeLaw] {
    // SAFETY: constants of native.c; the count belongs to the array.
    unsafe {
        assert_eq!(ebb_native_start_bytes as usize, size_of::<Start>());
        assert_eq!(ebb_native_segment_bytes as usize, size_of::<Segment>());
        assert_eq!(ebb_native_ack_bytes as usize, size_of::<Ack>());
        std::slice::from_raw_parts(&raw const ebb_native_laws, ebb_native_law_count as usize)
    }
}
