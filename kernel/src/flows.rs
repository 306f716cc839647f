// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of each governed connection.

use crate::layout::FlowRecord;
use ebb_algorithms::Policy;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One governed connection, one direction, as it is now: what it receives under a receiver law,
/// what it sends under a sender law.
#[derive(Clone, PartialEq, Eq)]
pub struct Flow {
    /// The kernel's number for the socket, never used twice.
    pub cookie: u64,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// The window that the law wants; 0 if a sender law has nothing to do with it now.
    pub law_window_bytes: u32,
    /// The window that TCP advertises.
    pub window_bytes: u32,
    /// Largest payload of one segment of the sender.
    pub mss_bytes: u32,
    /// The kernel's receiver-side estimate of the RTT; none before it has one.
    pub rtt_us: Option<u32>,
    /// Payload received since the connection was taken over.
    pub payload_bytes: u64,
    /// Wire segments that brought it.
    pub segments: u64,
    /// Times that the law was asked for the window since.
    pub acks: u64,
    /// When it was taken over, in nanoseconds of CLOCK_MONOTONIC.
    pub adopted_ns: u64,
    /// Whether the law's window is applied: the connection is not free.
    pub is_clamped: bool,
    /// The process that made the socket, where that is known.
    pub process: Option<u32>,
    /// The law's name.
    pub law: &'static str,
    /// The law's state, byte by byte; empty if a sender law has none of it now.
    pub state: Vec<u8>,
}

/// Without the state, which nobody can read.
impl fmt::Debug for Flow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Flow")
            .field("local", &self.local)
            .field("peer", &self.peer)
            .field("law", &self.law)
            .field("law_window_bytes", &self.law_window_bytes)
            .field("window_bytes", &self.window_bytes)
            .field("mss_bytes", &self.mss_bytes)
            .field("rtt_us", &self.rtt_us)
            .field("payload_bytes", &self.payload_bytes)
            .field("is_clamped", &self.is_clamped)
            .finish_non_exhaustive()
    }
}

/// Reads what the iterator wrote: records, each followed by the law's state; with the number of
/// the rule, which is 0 without rules.
pub(crate) fn parse_flows(mut bytes: &[u8], policy: &Policy) -> Vec<(u32, Flow)> {
    let mut flows = Vec::new();
    while bytes.len() >= size_of::<FlowRecord>() {
        // SAFETY: the length was checked; any bytes are valid integers.
        let record = unsafe { bytes.as_ptr().cast::<FlowRecord>().read_unaligned() };
        let rest = &bytes[size_of::<FlowRecord>()..];
        let Some((state, rest)) = rest.split_at_checked(record.state_bytes as usize) else {
            break;
        };
        let state = &state[..policy.law().state_bytes.min(state.len())];
        flows.push((record.rule, flow(&record, state, policy)));
        bytes = rest;
    }
    flows
}

fn flow(record: &FlowRecord, state: &[u8], policy: &Policy) -> Flow {
    Flow {
        cookie: record.cookie,
        local: address(record.family, &record.local, record.local_port),
        peer: address(record.family, &record.peer, record.peer_port),
        law_window_bytes: record.rwnd_bytes,
        window_bytes: record.window_bytes,
        mss_bytes: record.mss_bytes,
        rtt_us: (record.rtt_us != 0).then_some(record.rtt_us),
        payload_bytes: record.payload_bytes,
        segments: record.segments,
        acks: record.acks,
        adopted_ns: record.adopted_ns,
        is_clamped: record.is_clamped != 0,
        process: (record.process != 0).then_some(record.process),
        law: policy.law().name,
        state: state.to_vec(),
    }
}

fn address(family: u32, bytes: &[u8; 16], port: u32) -> SocketAddr {
    SocketAddr::new(ip_address(family, bytes), port as u16)
}

/// An address as the programs tell it.
pub(crate) fn ip_address(family: u32, bytes: &[u8; 16]) -> IpAddr {
    if family == libc::AF_INET as u32 {
        IpAddr::from(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    } else {
        IpAddr::from(Ipv6Addr::from(*bytes)).to_canonical()
    }
}
