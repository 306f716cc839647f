// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{Class, Nanos};

/// Waiting times in the queue, the packet's own transmission not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Packets that left the queue.
    pub count: u64,
    /// All their waiting times together. *Units:* ns.
    pub sum_ns: u64,
    /// The longest waiting time. *Units:* ns.
    pub max_ns: u64,
}

impl Waiting {
    /// Counts one packet that waited so long.
    #[inline]
    pub fn add(&mut self, waited: Nanos) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(waited.0);
        self.max_ns = self.max_ns.max(waited.0);
    }

    /// The mean waiting time, `None` without a packet. *Units:* ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

impl AddAssign for Waiting {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// What happened to the packets of one class on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassStatistics {
    /// Packets that the link was given, dropped ones included.
    pub offered_pkts: u64,
    /// Bytes of these packets.
    pub offered_bytes: u64,
    /// Packets that came out, duplicates included.
    pub delivered_pkts: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Waiting in the queue.
    pub waiting: Waiting,
    /// Packets that the queue dropped, for lack of room or to signal congestion.
    pub dropped_pkts: u64,
    /// Those of them that the queue discipline dropped to signal congestion.
    #[serde(default)]
    pub early_dropped_pkts: u64,
    /// Packets that the wire lost.
    pub lost_pkts: u64,
    /// Packets that the wire doubled.
    pub duplicated_pkts: u64,
    /// Packets that were held back so that others overtake.
    pub reordered_pkts: u64,
    /// Packets that the queue marked "congestion experienced".
    pub marked_pkts: u64,
}

impl AddAssign for ClassStatistics {
    fn add_assign(&mut self, other: Self) {
        self.offered_pkts += other.offered_pkts;
        self.offered_bytes += other.offered_bytes;
        self.delivered_pkts += other.delivered_pkts;
        self.delivered_bytes += other.delivered_bytes;
        self.dropped_pkts += other.dropped_pkts;
        self.early_dropped_pkts += other.early_dropped_pkts;
        self.lost_pkts += other.lost_pkts;
        self.duplicated_pkts += other.duplicated_pkts;
        self.reordered_pkts += other.reordered_pkts;
        self.marked_pkts += other.marked_pkts;
        self.waiting += other.waiting;
    }
}

/// What happened on one link, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatistics {
    classes: [ClassStatistics; 2],
}

impl LinkStatistics {
    /// The packets of one class.
    pub fn class(&self, class: Class) -> &ClassStatistics {
        &self.classes[class.index()]
    }

    /// All packets.
    pub fn total(&self) -> ClassStatistics {
        let mut total = self.classes[0];
        total += self.classes[1];
        total
    }

    #[inline]
    pub(crate) fn class_mut(&mut self, class: Class) -> &mut ClassStatistics {
        &mut self.classes[class.index()]
    }
}
