// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the emulator must be able to do on this machine, as root:
//! `cargo bench -p ebb-lab --bench emulator`.
//!
//! * throughput: it carries 1 Gbit/s of full-size packets on one core;
//! * precision: at 10 Mbit/s and 50 ms, delays are right within 0.2 ms for 99 % of
//!   packets;
//! * paths: with twenty busy links at once a run is still not disturbed.
//!
//! The exit status is 1 when one of them is missed. A run on a busy machine says little.
mod paths;
mod precision;
mod throughput;

use std::process::ExitCode;

use ebb_lab::LabError;

fn main() -> ExitCode {
    // Cargo passes `--bench`; a word selects benchmarks by name.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    type Benchmark = fn() -> Result<bool, LabError>;
    let benchmarks: [(&str, Benchmark); 3] = [
        ("throughput", throughput::run),
        ("precision", precision::run),
        ("paths", paths::run),
    ];
    let mut has_missed = false;
    for (name, run) in benchmarks.into_iter().filter(|(name, _)| is_chosen(name)) {
        match run() {
            Ok(is_reached) => has_missed |= !is_reached,
            Err(error) => {
                eprintln!("{name}: {error}");
                has_missed = true;
            }
        }
    }
    ExitCode::from(u8::from(has_missed))
}

/// Prints a figure beside its goal; answers whether the goal is reached.
fn judge(name: &str, figure: &str, is_reached: bool) -> bool {
    println!(
        "{name:<12} {figure}: {}",
        if is_reached { "reached" } else { "MISSED" }
    );
    is_reached
}
