// SPDX-License-Identifier: Apache-2.0 OR MIT
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::{Nanos, Probability};

/// What random numbers are drawn for: each purpose has a stream of its own, so that
/// switching one impairment on does not change the others.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Loss,
    Jitter,
    Reorder,
    Duplicate,
    Red,
    Pie,
    /// Which queue of flow queueing a flow has.
    FlowHash,
    /// Which packets BLUE drops.
    Blue,
}

/// One stream of random numbers: xoshiro256++, the streams 2^128 numbers apart.
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..purpose as u32 {
            generator.jump();
        }
        Self(generator)
    }

    /// True with this probability; draws nothing when the answer is certain.
    pub(crate) fn is_chosen(&mut self, probability: Probability) -> bool {
        let probability = probability.as_f64();
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.unit() < probability
    }

    /// Uniform from 0 to below 1, with the 53 bits that a float has there.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform from 0 to `largest`, both included.
    pub(crate) fn up_to(&mut self, largest: Nanos) -> Nanos {
        let span = u128::from(largest.0) + 1;
        let draw = u128::from(self.0.next_u64());
        // Fits: draw < 2^64, so the product is below span * 2^64.
        Nanos(((draw * span) >> 64) as u64)
    }
}
