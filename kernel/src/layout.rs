// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs and numbers of `bpf/control.h`, which says what each of them means; generated
//! from the compiled programs' type information.

use crate::skeleton::{layouts, receiver, sender};
use crate::sys;
use ebb_algorithms::{Ack, MAX_PARAMS, Segment, SenderAck, SenderEvent, SenderStart, Start};
use std::mem::offset_of;
use std::os::fd::BorrowedFd;

pub(crate) use layouts::types::{
    ebb_claim as Claimed, ebb_claimed as Member, ebb_config as Config, ebb_constant as Constant,
    ebb_control as Control, ebb_counters, ebb_flow_record as FlowRecord, ebb_new_group as NewGroup,
    ebb_param_set as ParamSet, ebb_paths as Paths, ebb_peer as Peer, ebb_ruling as Ruling,
    ebb_sender_trace_record as SenderTraceRecord, ebb_trace_kind as TraceKind,
    ebb_trace_record as TraceRecord, ebb_wish as Wish,
};

/// A struct of integers, without padding: any bytes are one.
///
/// # Safety
/// It is what its name says.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: all are, see control.h.
unsafe impl Plain for Control {}
// SAFETY: as above.
unsafe impl Plain for Claimed {}
// SAFETY: as above.
unsafe impl Plain for Member {}
// SAFETY: as above.
unsafe impl Plain for Config {}
// SAFETY: as above.
unsafe impl Plain for ControlHead {}

/// What every version's control begins with.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct ControlHead {
    pub(crate) lease_until_ns: u64,
    pub(crate) version: u32,
    pub(crate) owner_pid: u32,
    pub(crate) law_number: u32,
    pub(crate) is_released: u32,
}

impl ControlHead {
    /// Whether this program can read the rest, and what its programs keep of connections.
    pub(crate) fn is_ours(&self) -> bool {
        self.version == Constant::EBB_CONTROL_VERSION.0
    }
}

const _: () =
    assert!(offset_of!(ControlHead, lease_until_ns) == offset_of!(Control, lease_until_ns));
const _: () = assert!(offset_of!(ControlHead, version) == offset_of!(Control, version));
const _: () = assert!(offset_of!(ControlHead, owner_pid) == offset_of!(Control, owner_pid));
const _: () = assert!(offset_of!(ControlHead, law_number) == offset_of!(Control, law_number));
const _: () = assert!(offset_of!(ControlHead, is_released) == offset_of!(Control, is_released));
/// The control's parameters are written word by word.
const _: () = assert!(size_of::<ParamSet>() == MAX_PARAMS * size_of::<u32>());
const _: () = assert!(offset_of!(ParamSet, values) == 0);

/// What a map of one element holds; none if that is no such struct, but another version's.
pub(crate) fn only_element<T: Plain>(map: BorrowedFd<'_>, value_bytes: u32) -> Option<T> {
    (value_bytes as usize == size_of::<T>()).then(|| beginning(map, value_bytes))?
}

/// What the value of a map of one element begins with; none if it is shorter.
pub(crate) fn beginning<T: Plain>(map: BorrowedFd<'_>, value_bytes: u32) -> Option<T> {
    let mut value = vec![0u8; value_bytes as usize];
    if value.len() < size_of::<T>() {
        return None;
    }
    sys::lookup(map, &0u32.to_ne_bytes(), &mut value).ok()?;
    // SAFETY: the value is as long as the struct at the least, and any bytes are one.
    Some(unsafe { value.as_ptr().cast::<T>().read_unaligned() })
}

// Both ends were compiled with these structs, and every law's parameters fit.
const _: () = assert!(size_of::<Control>() == size_of::<receiver::types::ebb_control>());
const _: () = assert!(size_of::<Control>() == size_of::<sender::types::ebb_control>());
const _: () = assert!(size_of::<Config>() == size_of::<receiver::types::ebb_config>());
const _: () = assert!(size_of::<Config>() == size_of::<sender::types::ebb_config>());
const _: () = assert!(size_of::<layouts::types::ebb_param_set>() == size_of::<u32>() * MAX_PARAMS);

/// Holds that a struct of `ebb_algorithms` is one of the programs, field by field.
macro_rules! same {
    ($ours:ty, $theirs:ident, [$($field:ident),* $(,)?]) => {
        const _: () = {
            assert!(size_of::<$ours>() == size_of::<layouts::types::$theirs>());
            $(assert!(
                offset_of!($ours, $field) == offset_of!(layouts::types::$theirs, $field)
            );)*
        };
    };
}

same!(
    Start,
    ebb_start,
    [now_us, mss_bytes, rcv_nxt, has_timestamps, tsval]
);
same!(
    Segment,
    ebb_segment,
    [
        now_us,
        seq,
        payload_bytes,
        segments,
        tsval,
        tsecr,
        local_ts,
        local_tick_us,
        rcv_nxt,
        right_edge_seq,
        mss_bytes,
        kernel_rtt_us,
        has_timestamps,
        is_ce,
        is_observing,
        can_delay_acks
    ]
);
same!(
    Ack,
    ebb_ack,
    [
        now_us,
        ack_seq,
        local_ts,
        local_tick_us,
        right_edge_seq,
        mss_bytes,
        has_timestamps,
        is_observing
    ]
);
same!(
    SenderStart,
    ebb_sender_start,
    [now_us, mss_bytes, cwnd_pkts, local_tick_us, has_timestamps]
);
same!(
    SenderAck,
    ebb_sender_ack,
    [
        now_us,
        delivered_pkts,
        rate_prior_delivered_pkts,
        rate_delivered_pkts,
        rate_interval_us,
        ack_seq,
        snd_nxt,
        acked_pkts,
        acked_bytes,
        delivered_now_pkts,
        lost_now_pkts,
        prior_inflight_pkts,
        inflight_pkts,
        cwnd_pkts,
        ssthresh_pkts,
        rtt_us,
        srtt_us,
        tsval,
        tsecr,
        local_ts,
        local_tick_us,
        mss_bytes,
        random,
        phase,
        is_cwnd_limited,
        is_app_limited,
        is_ece,
        has_timestamps
    ]
);
same!(
    SenderEvent,
    ebb_sender_event,
    [
        now_us,
        ack_seq,
        snd_nxt,
        cwnd_pkts,
        ssthresh_pkts,
        inflight_pkts,
        mss_bytes,
        srtt_us,
        idle_us,
        random,
        is_ecn,
        phase
    ]
);
