// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints links with a bucket of tokens, drawn with a seed: `cargo run -q -p ebb-experiments
//! --example draw_buckets -- SEED > experiments/score/buckets.toml`. Without a seed it is the one
//! of `buckets.toml`.
use ebb_experiments::score::{BUCKETS_SEED, draw_buckets};

fn main() {
    match std::env::args().nth(1).map(|seed| seed.parse()) {
        None => print!("{}", draw_buckets(BUCKETS_SEED)),
        Some(Ok(seed)) => print!("{}", draw_buckets(seed)),
        Some(Err(error)) => {
            eprintln!("draw_buckets: the seed is a whole number: {error}");
            std::process::exit(2);
        }
    }
}
