// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the held-out half of the matrix, drawn with a seed: `cargo run -q -p ebb-experiments
//! --example draw_held_out -- SEED > experiments/score/held-out.toml`. Without a seed it is the one
//! of `held-out.toml`.
use ebb_experiments::score::{HELD_OUT_SEED, draw};

fn main() {
    match std::env::args().nth(1).map(|seed| seed.parse()) {
        None => print!("{}", draw(HELD_OUT_SEED)),
        Some(Ok(seed)) => print!("{}", draw(seed)),
        Some(Err(error)) => {
            eprintln!("draw_held_out: the seed is a whole number: {error}");
            std::process::exit(2);
        }
    }
}
