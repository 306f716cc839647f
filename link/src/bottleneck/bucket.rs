// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::{Bottleneck, Pace};
use crate::{Nanos, Rate, TokenBucket};

/// A rate that holds as long as a bucket has tokens, which come at a lower rate.
pub(crate) struct BucketClock {
    peak: Bottleneck,
    bits_per_s: u128,
    /// What the bucket holds. *Units:* 10^-9 bits.
    size: u128,
    /// What was in it at `counted_at`.
    level: u128,
    counted_at: Nanos,
}

impl BucketClock {
    /// The bucket is full at first.
    pub(super) fn new(peak: Rate, bucket: &TokenBucket) -> Self {
        let size = u128::from(bucket.size_bytes) * 8_000_000_000;
        Self {
            peak: Bottleneck::at(Pace::of(peak)),
            bits_per_s: u128::from(bucket.rate.bits_per_s()),
            size,
            level: size,
            counted_at: Nanos::ZERO,
        }
    }

    pub(super) fn end_of(&mut self, start: Nanos, size_bytes: u32, is_continuing: bool) -> Nanos {
        self.fill(start);
        let needed = u128::from(size_bytes) * 8_000_000_000;
        // A packet that is larger than the bucket waits until it is full.
        let missing = needed.min(self.size).saturating_sub(self.level);
        let wait = missing.div_ceil(self.bits_per_s);
        let begin = start + Nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        self.fill(begin);
        self.level = self.level.saturating_sub(needed);
        self.peak
            .end_of(begin, size_bytes, is_continuing && wait == 0)
    }

    fn fill(&mut self, now: Nanos) {
        let elapsed = u128::from(now.since(self.counted_at).0);
        self.level = (self.level + elapsed * self.bits_per_s).min(self.size);
        self.counted_at = self.counted_at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Mbit/s as long as 3000 bytes last, which come back at 1 Mbit/s.
    fn clock() -> BucketClock {
        let bucket = TokenBucket {
            rate: Rate::from_mbit_per_s(1),
            size_bytes: 3_000,
        };
        BucketClock::new(Rate::from_mbit_per_s(10), &bucket)
    }

    #[test]
    fn sends_a_full_bucket_at_the_peak_and_then_at_the_rate() {
        let mut clock = clock();
        let mut end = Nanos::ZERO;
        let mut ends = Vec::new();
        for number in 0..5 {
            end = clock.end_of(end, 1_500, number > 0);
            ends.push(end.0 / 1_000);
        }
        // 1.2 ms each at the peak. At 2.4 ms there are tokens for 2.4 of the 12 ms that 1500
        // bytes take: the third begins at 12 ms, and so on, each 12 ms later.
        assert_eq!(ends, [1_200, 2_400, 13_200, 25_200, 37_200]);
    }

    #[test]
    fn the_bucket_is_full_again_after_a_pause_and_no_fuller() {
        let mut clock = clock();
        for _ in 0..2 {
            clock.end_of(Nanos::ZERO, 1_500, false);
        }
        let later = Nanos::from_secs(100);
        let first = clock.end_of(later, 1_500, false);
        let second = clock.end_of(first, 1_500, true);
        assert_eq!(second, later + Nanos::from_micros(2_400));
        // 1.2 ms * 2 have passed since it was full.
        assert_eq!(
            clock.end_of(second, 1_500, true),
            later + Nanos::from_micros(13_200)
        );
    }

    #[test]
    fn a_packet_larger_than_the_bucket_passes_when_it_is_full() {
        let mut clock = clock();
        let first = clock.end_of(Nanos::ZERO, 9_000, false);
        assert_eq!(first, Nanos::from_micros(7_200));
        // Full at 24 ms.
        assert_eq!(clock.end_of(first, 9_000, true), Nanos::from_micros(31_200));
    }
}
