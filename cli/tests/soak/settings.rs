// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much is soaked, and where chance begins: `make soak` says it in the environment.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The same for every ordinary run, so that a failure there can be looked at.
const USUAL_SEED: u64 = 12;

/// What to do, by numbers that name each part of it again.
#[derive(Clone, Debug)]
pub struct Settings {
    /// EBB_SOAK_SEED.
    pub seed: u64,
    /// The points, or transfers, by number: so many, or only the one of EBB_SOAK_ONLY.
    pub numbers: Vec<u64>,
    /// EBB_SOAK_PARALLEL: at the same time.
    pub parallel: usize,
}

impl Settings {
    /// Reads the environment, where `counted` says how many.
    ///
    /// *Panics* on a value that is no number.
    pub fn read(counted: &str, usual_count: u64, usual_parallel: u64) -> Self {
        let numbers = match number("EBB_SOAK_ONLY") {
            Some(only) => vec![only],
            None => (0..number(counted).unwrap_or(usual_count)).collect(),
        };
        let parallel = number("EBB_SOAK_PARALLEL").unwrap_or(usual_parallel);
        Self {
            seed: number("EBB_SOAK_SEED").unwrap_or(USUAL_SEED),
            numbers,
            parallel: usize::try_from(parallel.max(1)).unwrap(),
        }
    }

    /// Chance for one number: the same whichever others there are.
    pub fn chance(&self, number: u64) -> Xoshiro256PlusPlus {
        let spread = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Xoshiro256PlusPlus::seed_from_u64(spread ^ number)
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let parsed = text.parse();
    Some(parsed.unwrap_or_else(|_| panic!("{name}={text}: it has to be a whole number")))
}
