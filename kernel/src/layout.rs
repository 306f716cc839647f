// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structs and numbers of `bpf/control.h`, which says what each of them means; generated
//! from the compiled programs' type information.

use crate::skeleton::{layouts, receiver, sender};
use ebb_algorithms::{Ack, MAX_PARAMS, Segment, SenderAck, SenderEvent, SenderStart, Start};
use std::mem::offset_of;

pub(crate) use layouts::types::{
    ebb_config as Config, ebb_constant as Constant, ebb_control as Control, ebb_counters,
    ebb_flow_record as FlowRecord, ebb_peer as Peer, ebb_sender_trace_record as SenderTraceRecord,
    ebb_trace_kind as TraceKind, ebb_trace_record as TraceRecord, ebb_wish as Wish,
};

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
