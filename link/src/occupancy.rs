// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::Nanos;

/// How full a queue was over a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    from: Option<Nanos>,
    until: Nanos,
    /// The integrals of packets and bytes over time.
    pkt_ns: u128,
    byte_ns: u128,
    max_pkts: u64,
    max_bytes: u64,
}

impl Occupancy {
    /// The stretch of time.
    pub fn duration(&self) -> Nanos {
        self.until.since(self.from.unwrap_or(self.until))
    }

    /// The mean number of packets that waited, over time; zero for no time.
    pub fn mean_pkts(&self) -> f64 {
        self.mean(self.pkt_ns)
    }

    /// The mean number of bytes that waited, over time; zero for no time.
    pub fn mean_bytes(&self) -> f64 {
        self.mean(self.byte_ns)
    }

    /// The most packets that waited at once.
    pub fn max_pkts(&self) -> u64 {
        self.max_pkts
    }

    /// The most bytes that waited at once.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The stretch since an earlier answer of the same link, whose statistics were not
    /// restarted in between; the largest values are of the whole time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            from: Some(earlier.until),
            pkt_ns: self.pkt_ns.saturating_sub(earlier.pkt_ns),
            byte_ns: self.byte_ns.saturating_sub(earlier.byte_ns),
            ..*self
        }
    }

    pub(crate) fn starting(now: Nanos, pkts: usize, bytes: u64) -> Self {
        let mut occupancy = Self {
            from: Some(now),
            until: now,
            ..Self::default()
        };
        occupancy.saw(pkts, bytes);
        occupancy
    }

    /// Counts the queue as it was until `now`, before it changes.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos, pkts: usize, bytes: u64) {
        if self.from.is_none() {
            self.from = Some(now);
            self.until = now;
        }
        let length = u128::from(now.since(self.until).0);
        self.pkt_ns += length * pkts as u128;
        self.byte_ns += length * u128::from(bytes);
        self.until = self.until.max(now);
    }

    /// Counts the queue as it is after a packet came.
    #[inline]
    pub(crate) fn saw(&mut self, pkts: usize, bytes: u64) {
        self.max_pkts = self.max_pkts.max(pkts as u64);
        self.max_bytes = self.max_bytes.max(bytes);
    }

    fn mean(&self, integral: u128) -> f64 {
        match self.duration() {
            Nanos::ZERO => 0.0,
            Nanos(duration) => integral as f64 / duration as f64,
        }
    }
}
