// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C side, as `native.c` exports it.

use crate::receiver_contract::{Ack, Segment, Start};
use crate::sender_contract::{SenderAck, SenderEvent, SenderStart};
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

#[repr(C)]
pub(crate) struct NativeSenderLaw {
    pub number: u32,
    pub state_bytes: u32,
    pub param_count: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub params: *const NativeParam,
    pub init: unsafe extern "C" fn(*mut c_void, *const SenderStart, *const c_void),
    pub on_ack: unsafe extern "C" fn(*mut c_void, *const SenderAck, *const c_void),
    pub on_loss: NativeEventHook,
    pub on_timeout: NativeEventHook,
    pub on_undo: NativeEventHook,
    pub on_idle: NativeEventHook,
}

pub(crate) type NativeEventHook =
    unsafe extern "C" fn(*mut c_void, *const SenderEvent, *const c_void);

impl std::fmt::Debug for NativeLaw {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NativeLaw({})", self.number)
    }
}

impl std::fmt::Debug for NativeSenderLaw {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NativeSenderLaw({})", self.number)
    }
}

// SAFETY: constant tables with static strings and functions; nothing is ever written.
unsafe impl Sync for NativeLaw {}
// SAFETY: as above.
unsafe impl Sync for NativeSenderLaw {}

/// What a round trip's packet interval variations amount to.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variations {
    /// Their sum. *Units:* jiffies of the policy.
    pub sum_jiffies: i64,
    /// How many there were.
    pub all: u32,
    /// How many of them were positive.
    pub positive: u32,
}

unsafe extern "C" {
    pub(crate) fn ebb_native_pairs_on_segment(
        pairs: *mut c_void,
        now_us: u64,
        tsval: u32,
        params: *const c_void,
    );
    pub(crate) fn ebb_native_pairs_end_round(pairs: *mut c_void, variations: *mut Variations);
    pub(crate) static ebb_native_pairs_bytes: u32;
    pub(crate) fn ebb_native_vulture_estimate_bytes(state: *const c_void) -> u32;
    fn ebb_native_ack_delay_us(number: u32, state: *const c_void) -> u32;
    static ebb_native_laws: NativeLaw;
    static ebb_native_law_count: u32;
    static ebb_native_sender_laws: NativeSenderLaw;
    static ebb_native_sender_law_count: u32;
    static ebb_native_sender_start_bytes: u32;
    static ebb_native_sender_ack_bytes: u32;
    static ebb_native_sender_event_bytes: u32;
    static ebb_native_start_bytes: u32;
    static ebb_native_segment_bytes: u32;
    static ebb_native_ack_bytes: u32;
}

/// How long the law of a number wants acknowledgements held back.
///
/// # Safety
/// The state is one of that law.
pub(crate) unsafe fn native_ack_delay_us(number: u32, state: *const c_void) -> u32 {
    // SAFETY: the caller's.
    unsafe { ebb_native_ack_delay_us(number, state) }
}

/// The receiver laws that were compiled in, in the order of `receiver_laws.h`.
pub(crate) fn native_laws() -> &'static [NativeLaw] {
    // SAFETY: constants of native.c; the count belongs to the array.
    unsafe {
        assert_eq!(ebb_native_start_bytes as usize, size_of::<Start>());
        assert_eq!(ebb_native_segment_bytes as usize, size_of::<Segment>());
        assert_eq!(ebb_native_ack_bytes as usize, size_of::<Ack>());
        std::slice::from_raw_parts(&raw const ebb_native_laws, ebb_native_law_count as usize)
    }
}

/// The sender laws that were compiled in, in the order of `sender_laws.h`.
pub(crate) fn native_sender_laws() -> &'static [NativeSenderLaw] {
    // SAFETY: constants of native.c; the count belongs to the array.
    unsafe {
        assert_eq!(
            ebb_native_sender_start_bytes as usize,
            size_of::<SenderStart>()
        );
        assert_eq!(ebb_native_sender_ack_bytes as usize, size_of::<SenderAck>());
        assert_eq!(
            ebb_native_sender_event_bytes as usize,
            size_of::<SenderEvent>()
        );
        std::slice::from_raw_parts(
            &raw const ebb_native_sender_laws,
            ebb_native_sender_law_count as usize,
        )
    }
}
