// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::statistics::ClassStatistics;
use crate::{Class, LinkStatistics, Nanos, Occupancy, Packet, Rejected};

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropCause {
    /// There was no room in the queue.
    Full,
    /// The queue discipline dropped it to signal congestion.
    Early,
    /// The wire lost it.
    Lost,
}

/// A packet that did not arrive, and when and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// The packet.
    pub packet: Packet<T>,
    /// When it was dropped.
    pub at: Nanos,
    /// Why.
    pub cause: DropCause,
}

/// What happens to packets inside of a link: counted, and kept for who asked.
///
/// The counters of best effort come first, where most packets look for them.
#[repr(C)]
pub(crate) struct Events<T> {
    pub(crate) statistics: LinkStatistics,
    pub(crate) occupancy: Occupancy,
    dropped: Option<VecDeque<Dropped<T>>>,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self {
            statistics: LinkStatistics::default(),
            occupancy: Occupancy::default(),
            dropped: None,
        }
    }
}

impl<T> Events<T> {
    /// From now on keeps the packets that are dropped inside.
    pub(crate) fn keep_dropped(&mut self) {
        self.dropped.get_or_insert_default();
    }

    /// The oldest packet kept.
    pub(crate) fn next_dropped(&mut self) -> Option<Dropped<T>> {
        self.dropped.as_mut()?.pop_front()
    }

    /// A packet that the link is given.
    #[inline]
    pub(crate) fn offered<U>(&mut self, packet: &Packet<U>) {
        let counters = self.class_mut(packet.class);
        counters.offered_pkts += 1;
        counters.offered_bytes += u64::from(packet.size_bytes);
    }

    /// A packet that comes out.
    #[inline]
    pub(crate) fn delivered<U>(&mut self, packet: &Packet<U>) {
        let counters = self.class_mut(packet.class);
        counters.delivered_pkts += 1;
        counters.delivered_bytes += u64::from(packet.size_bytes);
    }

    /// A packet that the queue does not take: it goes back to the caller.
    pub(crate) fn rejected(&mut self, packet: Packet<T>, cause: DropCause) -> Rejected<T> {
        self.count(packet.class, cause);
        Rejected(packet)
    }

    /// A packet that is dropped from inside.
    pub(crate) fn dropped(&mut self, at: Nanos, packet: Packet<T>, cause: DropCause) {
        self.count(packet.class, cause);
        if let Some(kept) = &mut self.dropped {
            kept.push_back(Dropped { packet, at, cause });
        }
    }

    pub(crate) fn marked(&mut self, class: Class) {
        self.class_mut(class).marked_pkts += 1;
    }

    #[inline]
    pub(crate) fn class_mut(&mut self, class: Class) -> &mut ClassStatistics {
        self.statistics.class_mut(class)
    }

    pub(crate) fn count(&mut self, class: Class, cause: DropCause) {
        let counters = self.class_mut(class);
        match cause {
            DropCause::Full => counters.dropped_pkts += 1,
            DropCause::Early => {
                counters.dropped_pkts += 1;
                counters.early_dropped_pkts += 1;
            }
            DropCause::Lost => counters.lost_pkts += 1,
        }
    }
}
