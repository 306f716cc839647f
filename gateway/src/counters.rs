// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the programs have counted.

use crate::layout::RawCounters;

/// Counts since the gateway started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections whose handshake was seen.
    pub connections: u64,
    /// Governed, one way of a connection each.
    pub governed: u64,
    /// Connections that began before the gateway, or were forgotten: nobody knows the scale of
    /// their windows, and they are left alone.
    pub without_scale: u64,
    /// Left alone because the table was full.
    pub without_room: u64,
    /// Payload of governed downloads, as it passed.
    pub received_bytes: u64,
    /// Payload of governed uploads, as it was acknowledged.
    pub sent_bytes: u64,
    /// Acknowledgements of governed connections.
    pub windows: u64,
    /// Of these, those whose window was made smaller.
    pub rewritten: u64,
    /// What went over QUIC, which no rule can hold.
    pub quic_bytes: u64,
    /// What went over UDP, QUIC among it.
    pub udp_bytes: u64,
    /// Pieces of TCP packets, which nobody can read.
    pub fragments: u64,
}

impl Counters {
    /// Those of all CPUs together.
    pub(crate) fn sum(of_cpus: impl Iterator<Item = RawCounters>) -> Self {
        of_cpus.fold(Self::default(), |sum, raw| Self {
            connections: sum.connections + raw.connections,
            governed: sum.governed + raw.governed,
            without_scale: sum.without_scale + raw.without_scale,
            without_room: sum.without_room + raw.without_room,
            received_bytes: sum.received_bytes + raw.received_bytes,
            sent_bytes: sum.sent_bytes + raw.sent_bytes,
            windows: sum.windows + raw.windows,
            rewritten: sum.rewritten + raw.rewritten,
            quic_bytes: sum.quic_bytes + raw.quic_bytes,
            udp_bytes: sum.udp_bytes + raw.udp_bytes,
            fragments: sum.fragments + raw.fragments,
        })
    }
}
