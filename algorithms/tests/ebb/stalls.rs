// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `ebb` law on a machine that takes what arrived late, and then all of it at once.

use crate::receiver_path::{Path, run};
use ebb_algorithms::Policy;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SECOND_US: u64 = 1_000_000;
const STALLS_END_US: u64 = 16 * SECOND_US;

fn draw(random: &mut Xoshiro256PlusPlus, of: &[u64]) -> u64 {
    *of.choose(random).unwrap()
}

/// A path whose receiving machine does nothing now and then, for 16 s.
fn drawn(random: &mut Xoshiro256PlusPlus) -> Path {
    let rate_bits_per_s = draw(random, &[2_000_000, 10_000_000, 10_000_000, 50_000_000]);
    let segment_us = 12_000 * SECOND_US / rate_bits_per_s;
    let every_us = draw(random, &[300_000, 1_000_000, 2_500_000]);
    let most_us = draw(random, &[10_000, 30_000, 100_000, 400_000]).min(every_us / 3);
    let mut stalls = Vec::new();
    let mut at_us = random.random_range(0..every_us);
    while at_us < STALLS_END_US {
        let for_us = 1000 + random.random_range(0..most_us);
        stalls.push((at_us, for_us));
        at_us += for_us + every_us / 2 + random.random_range(0..every_us);
    }
    let others = random.random::<bool>();
    Path {
        rate_bits_per_s,
        rtt_us: draw(random, &[20_000, 50_000, 100_000]),
        tick_us: draw(random, &[1, 1000, 1000, 1000, 4000, 10_000]),
        buffer_us: draw(random, &[100_000, 10_000_000]),
        greedy: Vec::from_iter(others.then_some((4 * SECOND_US, 10 * SECOND_US))),
        catching_up_us: [5, 20, segment_us / 8, segment_us / 4, segment_us / 2]
            .choose(random)
            .copied()
            .unwrap(),
        stalls,
        ..Path::default()
    }
}

/// What a heap of segments shows is the machine and not the link, while it lasts and after that.
#[test]
fn a_machine_that_stalls_is_no_faster_link() {
    let policy: Policy = "ebb".parse().unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut during, mut after, mut slow) = (0.0, 0.0, 0);
    const PATHS: usize = 100;
    for number in 0..PATHS {
        let path = drawn(&mut random);
        let still = Path {
            stalls: Vec::new(),
            ..path.clone()
        };
        let used = run(&path, &policy, 24);
        let usual = run(&still, &policy, 24);
        let share = |from_s, until_s| {
            let usual = usual.utilisation(&path, from_s, until_s);
            (used.utilisation(&path, from_s, until_s) / usual).min(1.0)
        };
        let (stalling, over) = (share(11.0, 16.0), share(18.0, 24.0));
        println!("{number}: {stalling:.3} while it stalls, {over:.3} after that");
        during += stalling / PATHS as f64;
        after += over / PATHS as f64;
        slow += usize::from(over < 0.9);
    }
    println!("{during:.3} while it stalls, {after:.3} after that; {slow} of {PATHS} below 0.9");
    assert!(during > 0.88, "{during}");
    assert!(after > 0.97, "{after}");
    assert!(slow <= 3, "{slow}");
}
