// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host that sees acknowledgements alone, as a gateway does of an upload: it hears of two segments
//! at once, and what stands between them is not seen.

use crate::receiver_path::{Path, run};
use ebb_algorithms::Policy;

const SECOND_US: u64 = 1_000_000;

fn ebb() -> Policy {
    "ebb".parse().unwrap()
}

/// Part of what two constant flows in step leave that the law has, of so many percent each.
fn used_beside_two(path: Path, percent: u64) -> f64 {
    let rate_bits_per_s = path.rate_bits_per_s * percent / 100;
    let path = Path {
        others: vec![(5 * SECOND_US, 100 * SECOND_US, rate_bits_per_s); 2],
        are_pairs_told: true,
        ..path
    };
    let used = run(&path, &ebb(), 100).utilisation(&path, 20.0, 100.0);
    used / (1.0 - 2.0 * percent as f64 / 100.0)
}

/// Others' that come in twos look like a comb, but the law has what they leave.
#[test]
fn others_in_twos_are_no_comb_where_pairs_are_told() {
    for percent in [20, 30] {
        let used = used_beside_two(Path::default(), percent);
        println!("beside twice {percent} %: {used:.3}");
        assert!(used > 0.9, "{percent} %: {used}");
    }
}

#[test]
fn others_who_have_a_queue_are_found_where_pairs_are_told() {
    let path = Path {
        fair: Some((20 * SECOND_US, 40 * SECOND_US)),
        are_pairs_told: true,
        ..Path::default()
    };
    let during = run(&path, &ebb(), 60).utilisation(&path, 21.0, 40.0);
    println!("in a fair queue: {during:.3}");
    assert!(during < 0.15, "{during}");
}

/// A table for the notebook: `cargo test -p ebb-algorithms --test ebb -- --ignored --nocapture pairs`.
#[test]
#[ignore = "a table: paths on which nothing was tuned"]
fn beside_others_in_twos_on_many_paths() {
    for (rate_bits_per_s, least_mean) in [(5_000_000, 0.57), (10_000_000, 0.8), (18_000_000, 0.9)] {
        let paths = [20_000, 50_000, 100_000, 200_000].map(|rtt_us| Path {
            rate_bits_per_s,
            rtt_us,
            ..Path::default()
        });
        let of_path = |path: &Path| {
            let percents = (15..=40).step_by(5);
            percents
                .map(|it| used_beside_two(path.clone(), it))
                .collect::<Vec<_>>()
        };
        let used: Vec<f64> = paths.iter().flat_map(of_path).collect();
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        let least = used.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{rate_bits_per_s} bit/s: mean {mean:.3}, least {least:.3}");
        assert!(mean > least_mean, "{rate_bits_per_s} bit/s: {mean}");
    }
}
