// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long this machine waits for memory, by how much of it is in use: what the times of
//! many flows are to be read beside.

use std::hint::black_box;
use std::time::Instant;

/// Prints how long one load waits for the one before it, in memory of different sizes.
pub fn table() {
    println!("{:>10} {:>14}", "memory KiB", "ns for a load");
    for kib in [32, 256, 1_024, 4_096, 16_384, 65_536] {
        println!("{kib:>10} {:>14.1}", load_ns(kib << 10));
    }
}

/// Follows a random cycle through lines of 64 bytes.
fn load_ns(bytes: usize) -> f64 {
    const WORDS_A_LINE: usize = 8;
    const STEPS: u32 = 2_000_000;
    let lines = bytes / 64;
    let mut order: Vec<usize> = (0..lines).collect();
    // Sattolo's shuffle gives one cycle; the generator is Knuth's.
    let mut random = 1_u64;
    for place in (1..lines).rev() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        order.swap(place, (random >> 33) as usize % place);
    }
    let mut next = vec![0; lines * WORDS_A_LINE];
    for (place, to) in order.iter().enumerate() {
        next[place * WORDS_A_LINE] = to * WORDS_A_LINE;
    }
    let mut best_ns = f64::INFINITY;
    for _ in 0..3 {
        let mut place = 0;
        let start = Instant::now();
        for _ in 0..STEPS {
            place = next[place];
        }
        black_box(place);
        best_ns = best_ns.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS));
    }
    best_ns
}
