// SPDX-License-Identifier: Apache-2.0 OR MIT
mod bucket;
mod steps;

use crate::{Capacity, LinkSpec, Nanos, Rate, TRACE_MTU_BYTES, Trace};
use bucket::BucketClock;
use steps::StepsClock;

/// When the bottleneck has sent a packet that it starts to send at a given time.
///
/// Of a constant rate, what is left below a nanosecond is carried into the next packet, so
/// that a busy link never drifts.
#[repr(C)]
pub(crate) struct Bottleneck {
    /// How long the last packet's size takes alone: most packets are as long as the one
    /// before them, and need no division.
    last: Length,
    /// The part of the last end below one nanosecond. *Units:* 1/bits_per_s ns.
    remainder: u64,
    pace: Pace,
}

/// What it sends by.
enum Pace {
    Unlimited,
    Rate { bits_per_s: u64 },
    Trace(Box<TraceClock>),
    Steps(Box<StepsClock>),
    Bucket(Box<BucketClock>),
}

impl Pace {
    fn of(rate: Rate) -> Self {
        Self::Rate {
            bits_per_s: rate.bits_per_s(),
        }
    }
}

/// The time that so many bytes take: whole nanoseconds, and what is left below one.
#[derive(Clone, Copy, Default)]
struct Length {
    size_bytes: u32,
    ns: u64,
    remainder: u64,
}

impl Bottleneck {
    /// That of a specification that was validated.
    pub(crate) fn new(spec: &LinkSpec) -> Self {
        Self::at(match (&spec.capacity, &spec.bucket) {
            (Capacity::Unlimited, _) => Pace::Unlimited,
            (Capacity::Rate(rate), Some(bucket)) => {
                Pace::Bucket(Box::new(BucketClock::new(*rate, bucket)))
            }
            (Capacity::Rate(rate), None) => Pace::of(*rate),
            (Capacity::Trace(trace), _) => Pace::Trace(Box::new(TraceClock::new(trace.clone()))),
            (Capacity::Steps(rates), _) => Pace::Steps(Box::new(StepsClock::new(rates.clone()))),
        })
    }

    fn at(pace: Pace) -> Self {
        Self {
            last: Length::default(),
            remainder: 0,
            pace,
        }
    }

    /// The time at which a packet is sent whole; `is_continuing` says that it follows
    /// the packet before it without a gap.
    #[inline]
    pub(crate) fn end_of(&mut self, start: Nanos, size_bytes: u32, is_continuing: bool) -> Nanos {
        match &mut self.pace {
            Pace::Unlimited => start,
            Pace::Rate { bits_per_s } => {
                if self.last.size_bytes != size_bytes {
                    self.last = Length::new(size_bytes, *bits_per_s);
                }
                let carried = if is_continuing { self.remainder } else { 0 };
                // Both rests are below the rate: together they are one whole nanosecond at most.
                let missing = *bits_per_s - carried;
                let is_whole = self.last.remainder >= missing;
                self.remainder = if is_whole {
                    self.last.remainder - missing
                } else {
                    self.last.remainder + carried
                };
                start + Nanos(self.last.ns.saturating_add(u64::from(is_whole)))
            }
            Pace::Trace(clock) => clock.end_of(start, size_bytes, is_continuing),
            Pace::Steps(clock) => clock.end_of(start, size_bytes, is_continuing),
            Pace::Bucket(clock) => clock.end_of(start, size_bytes, is_continuing),
        }
    }
}

impl Length {
    #[inline(never)]
    fn new(size_bytes: u32, bits_per_s: u64) -> Self {
        // A rate is above zero.
        let bits_per_s = bits_per_s.max(1);
        let bit_ns = u128::from(size_bytes) * 8 * 1_000_000_000;
        if let Ok(bit_ns) = u64::try_from(bit_ns) {
            return Self {
                size_bytes,
                ns: bit_ns / bits_per_s,
                remainder: bit_ns % bits_per_s,
            };
        }
        Self {
            size_bytes,
            // At 1 bit/s the largest packet (2^32 bytes) takes 2^65 ns: cut there.
            ns: u64::try_from(bit_ns / u128::from(bits_per_s)).unwrap_or(u64::MAX),
            // Fits: a rest is below the rate.
            remainder: (bit_ns % u128::from(bits_per_s)) as u64,
        }
    }
}

/// A trace: packets fill opportunities in order, small ones share one, large ones
/// span several; what no packet uses is lost.
pub(crate) struct TraceClock {
    trace: Trace,
    /// The first opportunity that is not begun.
    next_opportunity: u64,
    /// What the one before it can still carry.
    room_bytes: u32,
    /// The trace starts with the first packet.
    origin: Option<Nanos>,
}

impl TraceClock {
    fn new(trace: Trace) -> Self {
        Self {
            trace,
            next_opportunity: 0,
            room_bytes: 0,
            origin: None,
        }
    }

    fn end_of(&mut self, start: Nanos, size_bytes: u32, is_continuing: bool) -> Nanos {
        let origin = *self.origin.get_or_insert(start);
        if !is_continuing {
            let first = self.trace.first_after(start.since(origin));
            // Never back to an opportunity that was begun in this same instant.
            self.next_opportunity = self.next_opportunity.max(first);
            self.room_bytes = 0;
        }
        let missing_bytes = size_bytes.saturating_sub(self.room_bytes);
        if missing_bytes == 0 {
            self.room_bytes -= size_bytes;
            return start;
        }
        let opportunities = missing_bytes.div_ceil(TRACE_MTU_BYTES);
        self.room_bytes = opportunities * TRACE_MTU_BYTES - missing_bytes;
        self.next_opportunity += u64::from(opportunities);
        origin + self.trace.time(self.next_opportunity - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bottleneck(capacity: Capacity) -> Bottleneck {
        Bottleneck::new(&LinkSpec {
            capacity,
            ..LinkSpec::default()
        })
    }

    fn rate_clock(bits_per_s: u64) -> Bottleneck {
        bottleneck(Capacity::Rate(Rate::from_bits_per_s(bits_per_s).unwrap()))
    }

    #[test]
    fn sends_1500_bytes_at_10_mbit_in_1_200_000_ns() {
        // 1500 * 8 bits / 10^7 bits/s = 1.2 ms.
        let mut bottleneck = rate_clock(10_000_000);
        assert_eq!(bottleneck.end_of(Nanos(5), 1_500, false), Nanos(1_200_005));
    }

    #[test]
    fn carries_the_part_below_a_nanosecond_into_the_next_packet() {
        // 1 byte at 7 bit/s takes 8/7 s = 1_142_857_142.857… ns; 7 of them 8 s exactly.
        let mut bottleneck = rate_clock(7);
        let mut now = Nanos::ZERO;
        let mut lengths = Vec::new();
        for number in 0..7 {
            let end = bottleneck.end_of(now, 1, number > 0);
            lengths.push(end.since(now).0);
            now = end;
        }
        assert_eq!(now, Nanos::from_secs(8));
        assert_eq!(lengths[0], 1_142_857_142);
        assert!(
            lengths
                .iter()
                .all(|length| (1_142_857_142..=1_142_857_143).contains(length))
        );
    }

    #[test]
    fn is_exact_where_64_bits_do_not_suffice() {
        // 4 GB at 1 Mbit/s: 32 * 10^9 bits / 10^6 bits/s = 32 000 s.
        let mut slow = rate_clock(1_000_000);
        let end = slow.end_of(Nanos::ZERO, 4_000_000_000, false);
        assert_eq!(end, Nanos::from_secs(32_000));
        let mut fast = rate_clock(u64::MAX - 58);
        let ends: Vec<_> = (0..3)
            .map(|number| fast.end_of(Nanos(number), 4_000_000_000, number > 0).0 - number)
            .collect();
        // 4 GB: 32 * 10^18 / 18.446744 * 10^18 = 1.7347 ns each.
        assert_eq!(ends, [1, 2, 2]);
    }

    #[test]
    fn forgets_the_carried_part_over_a_gap() {
        let mut bottleneck = rate_clock(7);
        let first = bottleneck.end_of(Nanos::ZERO, 1, false);
        let second = bottleneck.end_of(Nanos::from_secs(100), 1, false);
        assert_eq!(first.0, second.0 - 100_000_000_000);
    }

    fn trace_clock(text: &str) -> Bottleneck {
        bottleneck(Capacity::Trace(Trace::parse("t", text).unwrap()))
    }

    #[test]
    fn lets_small_packets_share_an_opportunity_and_large_ones_span_two() {
        let mut bottleneck = trace_clock("10\n20\n30\n");
        let ms = Nanos::from_millis;
        // Three of 500 bytes fit into the first 1500.
        let first = bottleneck.end_of(ms(0), 500, false);
        assert_eq!(first, ms(10));
        assert_eq!(bottleneck.end_of(first, 500, true), ms(10));
        assert_eq!(bottleneck.end_of(ms(10), 500, true), ms(10));
        // 2000 bytes: 1500 at 20 ms, 500 at 30 ms; 1000 of 30 ms are left for the next.
        assert_eq!(bottleneck.end_of(ms(10), 2_000, true), ms(30));
        assert_eq!(bottleneck.end_of(ms(30), 1_000, true), ms(30));
        assert_eq!(bottleneck.end_of(ms(30), 1, true), ms(40));
    }

    #[test]
    fn wastes_opportunities_that_nobody_used() {
        let mut bottleneck = trace_clock("10\n20\n30\n");
        let ms = Nanos::from_millis;
        assert_eq!(bottleneck.end_of(ms(0), 100, false), ms(10));
        // The rest of 10 ms and all of 20 ms have passed unused.
        assert_eq!(bottleneck.end_of(ms(20), 100, false), ms(30));
        // In the next repetition the first opportunity is at 40 ms.
        assert_eq!(bottleneck.end_of(ms(35), 100, false), ms(40));
    }
}
