// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the programs count.

use crate::layout::ebb_counters;

/// What the programs counted since they were attached.
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

impl Counters {
    /// Adds the counts of one processor.
    pub(crate) fn add(&mut self, of_one: &ebb_counters) {
        // By name, so that a count that is new in the programs is not forgotten here.
        let ebb_counters {
            aggregates,
            segments,
            payload_bytes,
            acks,
            clamps,
            adopted_new,
            adopted_established,
            released,
            skipped_loopback,
            skipped_mptcp,
            skipped_unmarked,
            skipped_no_memory,
            skipped_malformed,
            trace_lost,
            udp_sockets,
            quic_sockets,
            utp_sockets,
            udp_received_bytes,
            udp_sent_bytes,
            sent_bytes,
        } = of_one;
        self.aggregates += aggregates;
        self.segments += segments;
        self.payload_bytes += payload_bytes;
        self.acks += acks;
        self.clamps += clamps;
        self.adopted_new += adopted_new;
        self.adopted_established += adopted_established;
        self.released += released;
        self.skipped_loopback += skipped_loopback;
        self.skipped_mptcp += skipped_mptcp;
        self.skipped_unmarked += skipped_unmarked;
        self.skipped_no_memory += skipped_no_memory;
        self.skipped_malformed += skipped_malformed;
        self.trace_lost += trace_lost;
        self.udp_sockets += udp_sockets;
        self.quic_sockets += quic_sockets;
        self.utp_sockets += utp_sockets;
        self.udp_received_bytes += udp_received_bytes;
        self.udp_sent_bytes += udp_sent_bytes;
        self.sent_bytes += sent_bytes;
    }
}
