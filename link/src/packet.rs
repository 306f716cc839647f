// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

/// Whose traffic a packet is: the class of a strict priority and of the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Everybody else's traffic; goes first under strict priority.
    #[default]
    BestEffort,
    /// Traffic that yields.
    LessThanBestEffort,
}

impl Class {
    /// Both classes, the one that goes first first.
    pub const ALL: [Self; 2] = [Self::BestEffort, Self::LessThanBestEffort];

    /// Place of the class in [`Class::ALL`] and in arrays by class.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The congestion notification field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The sender does not know of ECN: never marked.
    #[default]
    NotCapable,
    /// May be marked: ECT(0), whose sender takes a mark for a loss.
    Capable,
    /// May be marked: ECT(1), whose sender answers each mark a little (RFC 9331).
    L4s,
    /// Is marked: congestion experienced.
    Congested,
}

impl Ecn {
    /// Whether a link may mark the packet instead of dropping it.
    pub const fn is_markable(self) -> bool {
        matches!(self, Self::Capable | Self::L4s)
    }
}

/// A packet on a link, with whatever its owner wants carried along. What links look at comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet<T> {
    /// Size on the link, headers included. *Units:* bytes.
    pub size_bytes: u32,
    /// Whose traffic it is.
    pub class: Class,
    /// Its congestion notification field; the link may turn Capable and L4s to
    /// Congested.
    pub ecn: Ecn,
    /// The flow that it belongs to, which flow queueing keeps apart: any number that
    /// packets of one flow share, such as a hash of addresses and ports.
    pub flow: u32,
    /// The hosts that it comes from and goes to, which host fairness keeps apart: any
    /// numbers that packets of one host share, such as hashes of its address.
    pub hosts: [u16; 2],
    /// The owner's: bytes, an index, a simulated segment.
    pub payload: T,
}

impl<T> Packet<T> {
    /// A packet without ECN, of flow 0 between hosts 0.
    pub const fn new(size_bytes: u32, class: Class, payload: T) -> Self {
        Self {
            size_bytes,
            class,
            ecn: Ecn::NotCapable,
            flow: 0,
            hosts: [0; 2],
            payload,
        }
    }

    /// The same packet with something else carried along.
    #[inline]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Packet<U> {
        Packet {
            size_bytes: self.size_bytes,
            class: self.class,
            ecn: self.ecn,
            flow: self.flow,
            hosts: self.hosts,
            payload: change(self.payload),
        }
    }

    /// The same packet as one of this flow.
    #[must_use]
    pub fn with_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }

    /// The same packet between these hosts.
    #[must_use]
    pub fn with_hosts(self, hosts: [u16; 2]) -> Self {
        Self { hosts, ..self }
    }

    /// The same packet with this congestion notification field.
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
}

/// A packet that the full queue did not take, handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<T>(pub Packet<T>);
