// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mirrors of the structs in `bpf/control.h`; see there for the meaning of each field.

use ebb_algorithms::MAX_PARAMS;

/// `EBB_CONTROL_VERSION`.
pub(crate) const CONTROL_VERSION: u32 = 6;

/// `struct ebb_control`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Control {
    pub lease_until_ns: u64,
    pub version: u32,
    pub owner_pid: u32,
    pub law_number: u32,
    pub is_released: u32,
    pub is_observing: u32,
    pub generation: u32,
    pub params_index: u32,
    pub is_marked_only: u32,
    pub params: [[u32; MAX_PARAMS]; 2],
}

/// `struct ebb_config`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Config {
    pub cgroup_id: u64,
    pub law_number: u32,
    pub is_marked_only: u32,
    pub is_tracing: u32,
    pub needs_ecn: u32,
    pub congestion_name: [u8; 16],
    pub keeps_code_point: u32,
    pub reserved: u32,
}

/// What the programs counted since they were attached.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data packets seen, as the kernel's GRO made them.
    pub aggregates: u64,
    /// Wire segments in them.
    pub segments: u64,
    /// Payload in them.
    pub payload_bytes: u64,
    /// Times that the law was asked for the window: before each outgoing segment, but not
    /// within 50 microseconds.
    pub acks: u64,
    /// Windows set.
    pub clamps: u64,
    /// Connections taken over at their handshake.
    pub adopted_new: u64,
    /// Connections taken over that existed before.
    pub adopted_established: u64,
    /// Connections let go before their end.
    pub released: u64,
    /// Connections left alone because both ends are on this machine.
    pub skipped_loopback: u64,
    /// Connections left alone because they are part of a multipath one.
    pub skipped_mptcp: u64,
    /// Connections of other processes than the chosen ones.
    pub skipped_unmarked: u64,
    /// Connections for which the kernel had no memory.
    pub skipped_no_memory: u64,
    /// Packets whose headers could not be read.
    pub skipped_malformed: u64,
    /// Trace records lost because the buffer was full.
    pub trace_lost: u64,
    /// UDP sockets that sent or received anything, which no law controls; those of QUIC and uTP
    /// are among them.
    pub udp_sockets: u64,
    /// UDP sockets that speak QUIC, by port 443.
    pub quic_sockets: u64,
    /// UDP sockets that speak uTP, by the first packet of a connection.
    pub utp_sockets: u64,
    /// Payload that arrived over UDP.
    pub udp_received_bytes: u64,
    /// Payload that was sent over UDP.
    pub udp_sent_bytes: u64,
    /// Payload that the peers of connections under a receiver law have acknowledged.
    pub sent_bytes: u64,
}

/// `struct ebb_peer`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Peer {
    pub family: u32,
    pub address: [u8; 16],
}

/// `struct ebb_flow_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FlowRecord {
    pub cookie: u64,
    pub adopted_ns: u64,
    pub payload_bytes: u64,
    pub segments: u64,
    pub acks: u64,
    pub family: u32,
    pub local_port: u32,
    pub peer_port: u32,
    pub rwnd_bytes: u32,
    pub window_bytes: u32,
    pub mss_bytes: u32,
    pub rtt_us: u32,
    pub law_number: u32,
    pub state_bytes: u32,
    pub is_clamped: u32,
    pub local: [u8; 16],
    pub peer: [u8; 16],
}

const _: () = assert!(size_of::<Control>() == 8 + 8 * 4 + 2 * 4 * MAX_PARAMS);
const _: () = assert!(size_of::<Config>() == 48);
const _: () = assert!(size_of::<Counters>() == 20 * 8);
const _: () = assert!(size_of::<Peer>() == 20);
const _: () = assert!(size_of::<FlowRecord>() == 5 * 8 + 10 * 4 + 32);

impl Counters {
    /// Adds another CPU's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |a: &mut u64, b: u64| *a += b;
        sum(&mut self.aggregates, other.aggregates);
        sum(&mut self.segments, other.segments);
        sum(&mut self.payload_bytes, other.payload_bytes);
        sum(&mut self.acks, other.acks);
        sum(&mut self.clamps, other.clamps);
        sum(&mut self.adopted_new, other.adopted_new);
        sum(&mut self.adopted_established, other.adopted_established);
        sum(&mut self.released, other.released);
        sum(&mut self.skipped_loopback, other.skipped_loopback);
        sum(&mut self.skipped_mptcp, other.skipped_mptcp);
        sum(&mut self.skipped_unmarked, other.skipped_unmarked);
        sum(&mut self.skipped_no_memory, other.skipped_no_memory);
        sum(&mut self.skipped_malformed, other.skipped_malformed);
        sum(&mut self.trace_lost, other.trace_lost);
        sum(&mut self.udp_sockets, other.udp_sockets);
        sum(&mut self.quic_sockets, other.quic_sockets);
        sum(&mut self.utp_sockets, other.utp_sockets);
        sum(&mut self.udp_received_bytes, other.udp_received_bytes);
        sum(&mut self.udp_sent_bytes, other.udp_sent_bytes);
        sum(&mut self.sent_bytes, other.sent_bytes);
    }
}
