// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random numbers: one stream for each purpose and each entity, by name.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Where all streams of a run come from.
///
/// A stream depends on the run's seed, its purpose and the name of whom it is for, and
/// on nothing else: neither another law nor one flow more changes what a flow draws.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    seed: u64,
}

impl Seeds {
    /// The streams of a run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of one purpose (`start`, `sizes`, …) for one entity (a flow's name).
    pub fn stream(self, purpose: &str, entity: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(
            self.number(purpose, entity),
        ))
    }

    /// A seed for a generator that is elsewhere, such as a link's.
    pub fn number(self, purpose: &str, entity: &str) -> u64 {
        // No byte of UTF-8 is 0xff: no two pairs of names are hashed as one.
        let names = purpose.bytes().chain([0xff]).chain(entity.bytes());
        names.fold(mixed(self.seed), |hash, byte| {
            mixed(hash ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15)
        })
    }
}

/// One stream of random numbers: xoshiro256++.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Uniform over all 64-bit numbers.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over all 32-bit numbers.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform from 0 (included) to 1 (not), with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform from 0 to `largest`, both included.
    #[inline]
    pub fn up_to(&mut self, largest: u64) -> u64 {
        let span = u128::from(largest) + 1;
        // Fits: the draw is below 2^64, so the product is below span * 2^64.
        ((u128::from(self.0.next_u64()) * span) >> 64) as u64
    }

    /// Exponential with this mean, rounded to a whole number.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // 1 - unit is above 0, so the logarithm is finite: at the most 37 means. The one of
        // the C library differs from machine to machine.
        (-libm::log(1.0 - self.unit()) * mean as f64).round() as u64
    }
}

/// The finalizer of SplitMix64: each bit of the input changes half of the output's.
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_each_purpose_and_each_entity_its_own_numbers() {
        let seeds = Seeds::new(1);
        let mut numbers = [
            seeds.number("start", "a"),
            seeds.number("start", "b"),
            seeds.number("sizes", "a"),
            seeds.number("starta", ""),
            seeds.number("", "starta"),
            Seeds::new(2).number("start", "a"),
        ];
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(
            seeds.stream("start", "a").next_u64(),
            seeds.stream("start", "a").next_u64()
        );
    }

    #[test]
    fn draws_exponential_numbers_with_the_mean_that_was_asked_for() {
        let mut stream = Seeds::new(3).stream("test", "");
        let count = 100_000;
        let sum: u64 = (0..count).map(|_| stream.exponential(1_000_000)).sum();
        let mean = sum as f64 / f64::from(count);
        // The standard error is 1e6 / sqrt(1e5) = 3162.
        assert!((mean - 1e6).abs() < 4.0 * 3_162.0, "{mean}");
    }
}
