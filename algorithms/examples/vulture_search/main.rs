// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranks readings of the Vulture paper in a small model of its testbed.
//!
//! `cargo run --release -p ebb-algorithms --example vulture_search -- POLICY...` prints
//! each policy's metrics beside the paper's, and the root mean square of the differences.
//! With `--descend` before a policy, it goes on from there, one parameter at a time, to
//! the nearest reading. The model only ranks: figures to quote come from the lab.

mod network;
mod receiver;
mod run;
mod scenarios;
mod sender;

use ebb_algorithms::Policy;
use scenarios::{Metric, metrics};

const SEEDS: u64 = 4;
const SENDER_TICK_NS: u64 = 1_000_000;

/// What a descent tries: each alternative of each choice.
const CHOICES: &[(&str, &[u32])] = &[
    ("first_thresh_x1024", &[0, 1024]),
    ("thresh_rule", &[0, 1, 2]),
    ("thresh_on_loss", &[0, 1]),
    ("piv_clock", &[0, 1, 2]),
    ("pair_rule", &[0, 1, 2, 3]),
    ("mode_rule", &[0, 1, 2]),
    ("no_piv_rule", &[0, 1, 2]),
    ("alpha_is_enough", &[0, 1]),
    ("echo_is_later", &[0, 1]),
    ("pause_rule", &[0, 1, 2, 3]),
    ("pause_scope", &[0, 1, 2]),
    ("pause_packets", &[0, 1, 2, 3, 4]),
    ("double_stop", &[0, 1]),
    ("double_to_thresh", &[0, 1]),
    ("halve_stop", &[0, 1, 2]),
    ("increase_rule", &[0, 1]),
    ("loss_rule", &[0, 1]),
    ("loss_guard", &[0, 1, 2]),
    ("growth_limit_x1024", &[0, 1024, 2048]),
    ("min_window_mss", &[1, 2, 4]),
];

fn main() {
    let mut is_descent = false;
    print_head(&metrics(&Policy::default(), 0, SENDER_TICK_NS));
    for argument in std::env::args().skip(1) {
        if argument == "--descend" {
            is_descent = true;
            continue;
        }
        let policy = parse(&argument);
        let distance = evaluate(&policy);
        if is_descent {
            descend(policy, distance);
        }
    }
}

fn parse(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| {
        eprintln!("{text}: {error}");
        std::process::exit(2);
    })
}

/// Sets one parameter after the other to its best alternative, until none is better.
fn descend(mut best: Policy, mut best_distance: f64) {
    let mut has_improved = true;
    while has_improved {
        has_improved = false;
        for (name, alternatives) in CHOICES {
            for alternative in *alternatives {
                let candidate = with(&best, name, *alternative);
                if candidate == best {
                    continue;
                }
                let distance = evaluate(&candidate);
                if distance < best_distance {
                    (best, best_distance) = (candidate, distance);
                    has_improved = true;
                }
            }
        }
    }
    println!("best: {best_distance:.3} {best}");
}

fn with(policy: &Policy, name: &str, value: u32) -> Policy {
    let law = policy.law();
    let settings: Vec<String> = law
        .params
        .iter()
        .zip(policy.values())
        .map(|(param, old)| {
            let value = if param.name == name { value } else { *old };
            format!("{}={value}", param.name)
        })
        .collect();
    parse(&format!("{}:{}", law.name, settings.join(",")))
}

fn print_head(metrics: &[Metric]) {
    let names: Vec<String> = metrics
        .iter()
        .map(|metric| format!("{:>7}", metric.name))
        .collect();
    let paper: Vec<String> = metrics
        .iter()
        .map(|metric| format!("{:7.3}", metric.paper))
        .collect();
    println!("{:>8} {}", "distance", names.join(" "));
    println!("{:>8} {}  the paper", "", paper.join(" "));
}

/// Prints a policy's metrics and returns its distance from the paper.
fn evaluate(policy: &Policy) -> f64 {
    let mean = mean_metrics(policy);
    let values: Vec<String> = mean
        .iter()
        .map(|metric| format!("{:7.3}", metric.value))
        .collect();
    let squares: f64 = mean
        .iter()
        .map(|metric| (metric.value - metric.paper).powi(2))
        .sum();
    let distance = (squares / mean.len() as f64).sqrt();
    println!("{distance:8.3} {}  {policy}", values.join(" "));
    distance
}

fn mean_metrics(policy: &Policy) -> Vec<Metric> {
    let mut sum = metrics(policy, 0, SENDER_TICK_NS);
    for seed in 1..SEEDS {
        for (total, metric) in sum.iter_mut().zip(metrics(policy, seed, SENDER_TICK_NS)) {
            total.value += metric.value;
        }
    }
    for metric in &mut sum {
        metric.value /= SEEDS as f64;
    }
    sum
}
