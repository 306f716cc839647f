// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes the rates of links that vary, drawn with a seed: `cargo run -q -p ebb-experiments
//! --example draw_rates -- SEED` in the repository. Without a seed it is the one of the files that
//! are there.
use std::path::Path;

use ebb_experiments::score::{RATES_SEED, draw_rates};

fn main() {
    let seed = match std::env::args().nth(1).map(|seed| seed.parse()) {
        None => RATES_SEED,
        Some(Ok(seed)) => seed,
        Some(Err(error)) => {
            eprintln!("draw_rates: the seed is a whole number: {error}");
            std::process::exit(2);
        }
    };
    let folder = Path::new("experiments/score");
    for (name, text) in draw_rates(seed) {
        let path = folder.join(name);
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("draw_rates: {}: {error}", path.display());
            std::process::exit(1);
        }
    }
}
