// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs of `bpf/control.h`, `bpf/rules.h` and `bpf/maps.h`, generated from the compiled
//! programs' type information.

use crate::skeleton::{gateway, layouts};
use ebb_algorithms::MAX_PARAMS;

pub(crate) use layouts::types::{
    ebb_gateway_config as Config, ebb_gateway_control as Control,
    ebb_gateway_counters as RawCounters, ebb_half_head as HalfHead, ebb_layout as Layout,
    ebb_rule as RawRule, ebb_rule_counters as RawRuleCounters, ebb_subject as RawSubject,
    ebb_verdict as RawVerdict,
};

/// A struct of integers, without padding: any bytes are one.
///
/// # Safety
/// It is what its name says.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: all are, see control.h, rules.h and maps.h.
unsafe impl Plain for Config {}
// SAFETY: as above.
unsafe impl Plain for HalfHead {}
// SAFETY: as above.
unsafe impl Plain for RawCounters {}
// SAFETY: as above.
unsafe impl Plain for RawRuleCounters {}
// SAFETY: as above.
unsafe impl Plain for RawRule {}

/// Its bytes, as the programs read them.
pub(crate) fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: plain integers without padding, which live as long as what is borrowed.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// What bytes begin with; none if they are too few.
pub(crate) fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, and any bytes are one.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

const _: () = assert!(size_of::<Control>() == size_of::<gateway::types::ebb_gateway_control>());
const _: () = assert!(size_of::<Config>() == size_of::<gateway::types::ebb_gateway_config>());
const _: () = assert!(std::mem::size_of::<[u32; MAX_PARAMS]>() == 4 * MAX_PARAMS);
