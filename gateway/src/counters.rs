// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the programs have counted.

use crate::layout::{RawCounters, RawRuleCounters};

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
        of_cpus.map(Self::of).fold(Self::default(), Self::plus)
    }

    fn of(raw: RawCounters) -> Self {
        Self {
            connections: raw.connections,
            governed: raw.governed,
            without_scale: raw.without_scale,
            without_room: raw.without_room,
            received_bytes: raw.received_bytes,
            sent_bytes: raw.sent_bytes,
            windows: raw.windows,
            rewritten: raw.rewritten,
            quic_bytes: raw.quic_bytes,
            udp_bytes: raw.udp_bytes,
            fragments: raw.fragments,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            governed: self.governed + other.governed,
            without_scale: self.without_scale + other.without_scale,
            without_room: self.without_room + other.without_room,
            received_bytes: self.received_bytes + other.received_bytes,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            windows: self.windows + other.windows,
            rewritten: self.rewritten + other.rewritten,
            quic_bytes: self.quic_bytes + other.quic_bytes,
            udp_bytes: self.udp_bytes + other.udp_bytes,
            fragments: self.fragments + other.fragments,
        }
    }
}

/// Counts of a rule, since it is in force as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleCounters {
    /// Connections that came under it.
    pub connections: u64,
    /// Of these, those that began anew, since the owner had not renewed its lease in time.
    pub lapsed: u64,
    /// Payload of downloads, as it passed.
    pub received_bytes: u64,
    /// Payload of uploads, as it was acknowledged.
    pub sent_bytes: u64,
}

impl RuleCounters {
    /// Those of all CPUs together.
    pub(crate) fn sum(of_cpus: impl Iterator<Item = RawRuleCounters>, lapsed: u64) -> Self {
        let none = Self {
            lapsed,
            ..Self::default()
        };
        of_cpus.fold(none, |sum, raw| Self {
            connections: sum.connections + raw.connections,
            lapsed: sum.lapsed,
            received_bytes: sum.received_bytes + raw.received_bytes,
            sent_bytes: sum.sent_bytes + raw.sent_bytes,
        })
    }
}
