// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use serde::Serialize;

/// Beyond this share of packets more than 1 ms late a path is disturbed.
const DISTURBED_SHARE: f64 = 0.005;
/// With any packet later than this a path is disturbed.
const DISTURBED_NS: u64 = 20_000_000;

const BUCKET_NS: u64 = 10_000;
const BUCKETS: usize = 2_000;

/// How much later than due packets were delivered.
#[derive(Clone, Debug, Serialize)]
pub struct Lateness {
    /// Packets delivered.
    pub count: u64,
    /// Packets more than 1 ms late.
    pub late_pkts: u64,
    /// All lateness together. *Units:* ns.
    pub sum_ns: u64,
    /// The worst. *Units:* ns.
    pub max_ns: u64,
    /// Packets by lateness in steps of 10 µs; the last bucket has all from 20 ms.
    #[serde(skip)]
    buckets: Vec<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            count: 0,
            late_pkts: 0,
            sum_ns: 0,
            max_ns: 0,
            buckets: vec![0; BUCKETS + 1],
        }
    }
}

impl Lateness {
    /// The lateness that this share of packets does not exceed, to 10 µs upwards;
    /// zero without packets. *Units:* ns.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank && index < BUCKETS {
                return ((index as u64 + 1) * BUCKET_NS).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// The mean; zero without packets. *Units:* ns.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    /// Share of packets more than 1 ms late; zero without packets.
    pub fn late_share(&self) -> f64 {
        self.late_pkts as f64 / self.count.max(1) as f64
    }

    /// That of two sets of packets together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.count += other.count;
        self.late_pkts += other.late_pkts;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (own, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += others;
        }
        self
    }

    /// Whether results are to be thrown away: more than 0.5 % of packets were delivered over 1 ms
    /// late, or any over 20 ms late.
    pub fn is_disturbed(&self) -> bool {
        self.late_share() > DISTURBED_SHARE || self.max_ns > DISTURBED_NS
    }

    pub(super) fn add(&mut self, late_by: Nanos) {
        self.count += 1;
        self.late_pkts += u64::from(late_by > Nanos::from_millis(1));
        self.sum_ns += late_by.0;
        self.max_ns = self.max_ns.max(late_by.0);
        let index = usize::try_from(late_by.0 / BUCKET_NS)
            .unwrap_or(BUCKETS)
            .min(BUCKETS);
        self.buckets[index] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_quantiles_to_ten_microseconds() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile_ns(0.99), 0);
        for microseconds in 1..=1_000 {
            lateness.add(Nanos::from_micros(microseconds));
        }
        // 500 of 1000 are at the most 500 µs late: in the bucket [490, 500) are 490…499.
        assert_eq!(lateness.quantile_ns(0.5), 510_000);
        assert_eq!(lateness.quantile_ns(0.99), 1_000_000);
        assert_eq!(lateness.max_ns, 1_000_000);
        assert_eq!(lateness.mean_ns(), 500_500.0);
        assert_eq!(lateness.late_pkts, 0);
    }

    #[test]
    fn counts_what_is_more_than_a_millisecond_late() {
        let mut lateness = Lateness::default();
        for microseconds in [0, 1_000, 1_001, 90_000] {
            lateness.add(Nanos::from_micros(microseconds));
        }
        assert_eq!(lateness.late_pkts, 2);
        assert_eq!(lateness.late_share(), 0.5);
        assert_eq!(lateness.quantile_ns(1.0), 90_000_000);
    }
}
