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
    pub default_value: u32,
    pub min: u32,
    pub max: u32,
}

#[repr(C)]
pub(crate) struct NativeReceiverLaw {
    pub number: u32,
    pub state_bytes: u32,
    pub param_count: u32,
    pub sees_counters: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub params: *const NativeParam,
    pub init: unsafe extern "C" fn(*mut c_void, *const Start, *const c_void),
    pub on_segment: unsafe extern "C" fn(*mut c_void, *const Segment, *const c_void),
    pub rwnd_bytes: unsafe extern "C" fn(*const c_void) -> u32,
    // Not every law has these.
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, *const Ack, *const c_void)>,
    pub ack_delay_us: Option<unsafe extern "C" fn(*const c_void) -> u32>,
    pub estimate_bytes: Option<unsafe extern "C" fn(*const c_void) -> u32>,
    pub pairs: Option<&'static NativePairs>,
    pub bundle: Option<&'static NativeBundle>,
}

/// All connections of a policy as one.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct NativeBundle {
    pub state_bytes: u32,
    pub reserved: u32,
    pub init: unsafe extern "C" fn(*mut c_void, *mut c_void, *const Start, *const c_void),
    pub on_segment: unsafe extern "C" fn(*mut c_void, *mut c_void, *const Segment, *const c_void),
    pub on_ack: unsafe extern "C" fn(*mut c_void, *mut c_void, *const Ack, *const c_void),
    pub wait_us: unsafe extern "C" fn(*const c_void) -> u32,
}

/// The packet interval variations that a law goes by, by themselves.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct NativePairs {
    pub state_bytes: u32,
    pub reserved: u32,
    pub on_segment: unsafe extern "C" fn(*mut c_void, u64, u32, *const c_void),
    pub end_round: unsafe extern "C" fn(*mut c_void, *mut Variations),
}

#[repr(C)]
pub(crate) struct NativeSenderLaw {
    pub number: u32,
    pub state_bytes: u32,
    pub param_count: u32,
    pub sees_counters: u32,
    pub has_full_control: u32,
    pub needs_ecn: u32,
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

/// What a shared object with laws of one's own exports.
#[cfg(feature = "own")]
#[repr(C)]
pub(crate) struct NativeOwn {
    pub layout: u64,
    pub receiver_count: u32,
    pub sender_count: u32,
    pub receivers: *const NativeReceiverLaw,
    pub senders: *const NativeSenderLaw,
}

pub(crate) type NativeEventHook =
    unsafe extern "C" fn(*mut c_void, *const SenderEvent, *const c_void);

impl std::fmt::Debug for NativeReceiverLaw {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NativeReceiverLaw({})", self.number)
    }
}

impl std::fmt::Debug for NativeSenderLaw {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NativeSenderLaw({})", self.number)
    }
}

// SAFETY: constant tables with static strings and functions; nothing is ever written.
unsafe impl Sync for NativeReceiverLaw {}
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
    static ebb_native_receiver_laws: NativeReceiverLaw;
    static ebb_native_receiver_law_count: u32;
    static ebb_native_sender_laws: NativeSenderLaw;
    static ebb_native_sender_law_count: u32;
}

/// The receiver laws that were compiled in, in the order of `receiver_laws.h`.
pub(crate) fn native_receiver_laws() -> &'static [NativeReceiverLaw] {
    // SAFETY: constants of native.c; the count belongs to the array.
    unsafe {
        std::slice::from_raw_parts(
            &raw const ebb_native_receiver_laws,
            ebb_native_receiver_law_count as usize,
        )
    }
}

/// The sender laws that were compiled in, in the order of `sender_laws.h`.
pub(crate) fn native_sender_laws() -> &'static [NativeSenderLaw] {
    // SAFETY: constants of native.c; the count belongs to the array.
    unsafe {
        std::slice::from_raw_parts(
            &raw const ebb_native_sender_laws,
            ebb_native_sender_law_count as usize,
        )
    }
}
