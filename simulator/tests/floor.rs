// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A floor under the laws: what a policy has at the least beside greedy flows, and what it leaves.

use std::path::Path;

use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::Options;

fn run(text: &str) -> Outcome {
    let scenario = Scenario::parse("floor.toml", text, Path::new("")).unwrap();
    ebb_simulator::run(&scenario, Options::default()).unwrap()
}

/// Greedy flows from 15 s to 40 s, and ours, at so many Mbit/s.
fn beside(law: &str, others: u32, mine: u32, rate: u32, minimum: &str) -> Outcome {
    run(&format!(
        "duration = \"50s\"\nbin = \"100ms\"\nflow_series = true\n[bottleneck]\n\
         rate = \"{rate}mbit\"\nrtt = \"50ms\"\nqueue = \"1bdp\"\n[[flow]]\nname = \"other\"\n\
         start = \"15s\"\nstop = \"40s\"\ncount = {others}\n[[flow]]\nname = \"mine\"\n\
         class = \"lbe\"\n{law}\ncount = {mine}\nstagger = \"20ms\"\n{minimum}"
    ))
}

/// Mbit/s of a group of flows in each second.
fn by_second(outcome: &Outcome, group: &str) -> Vec<f64> {
    let bin_s = outcome.series.bin_s;
    let of_group = outcome.flows.iter().zip(&outcome.series.flows);
    let series = of_group.filter(|(flow, _)| flow.group == group);
    let mut sums: Vec<f64> = Vec::new();
    for (_, series) in series {
        for (bin, rate) in series.goodput_bits_per_s.iter().enumerate() {
            let second = (bin as f64 * bin_s) as usize;
            sums.resize(sums.len().max(second + 1), 0.0);
            sums[second] += rate * bin_s / 1e6;
        }
    }
    sums
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

const RECEIVER: &str = "receiver = \"ebb\"";
const SENDER: &str = "sender = \"ebb-sender\"";

#[test]
fn no_second_is_below_the_floor_beside_greedy_flows_and_little_is_taken_beyond() {
    // What others there are leaves twice the floor as a fair share.
    for (law, others, mine, rate, floor, least) in [
        (RECEIVER, 1, 1, 10, 2.0, 1.0),
        (RECEIVER, 1, 4, 10, 2.0, 1.0),
        (RECEIVER, 1, 16, 10, 2.0, 1.0),
        (RECEIVER, 4, 4, 50, 5.0, 1.0),
        (RECEIVER, 16, 4, 50, 1.0, 1.0),
        (
            "receiver = \"ebb\"\ntcp = { close_window = true }",
            1,
            16,
            10,
            2.0,
            1.0,
        ),
        (SENDER, 1, 1, 10, 2.0, 1.0),
        (SENDER, 1, 4, 10, 2.0, 1.0),
        (SENDER, 4, 4, 50, 5.0, 1.0),
        // Of few segments in a deep or crowded queue a loss is felt for some seconds.
        (RECEIVER, 4, 1, 10, 1.0, 0.6),
        (SENDER, 4, 1, 10, 1.0, 0.6),
    ] {
        let minimum = format!("minimum = \"{}kbit\"\n", floor * 1_000.0);
        let seconds = by_second(&beside(law, others, mine, rate, &minimum), "mine");
        let busy = &seconds[18..40];
        let lowest = busy.iter().copied().fold(f64::MAX, f64::min);
        let case = format!("{law}, {mine} beside {others} at {rate} Mbit/s");
        println!(
            "{case}: lowest {lowest:.2}, mean {:.2} of {floor}",
            mean(busy)
        );
        assert!(lowest >= least * floor, "{case}: {lowest}");
        assert!(mean(busy) < 1.6 * floor, "{case}: {}", mean(busy));
        // Alone, and once the others are gone, it has the link as ever.
        assert!(mean(&seconds[8..15]) > 0.75 * f64::from(rate), "{case}");
        assert!(
            seconds[46..50].iter().all(|it| *it > 0.7 * f64::from(rate)),
            "{case}"
        );
    }
}

#[test]
fn a_floor_that_the_path_does_not_carry_gives_a_fair_share() {
    for (law, others, rate) in [(RECEIVER, 1, 10), (SENDER, 1, 10), (SENDER, 4, 20)] {
        let plain = by_second(&beside("sender = \"cubic\"", others, 1, rate, ""), "mine");
        let ours = beside(law, others, 1, rate, "minimum = \"900gbit\"\n");
        let (ours, plain) = (
            mean(&by_second(&ours, "mine")[18..40]),
            mean(&plain[18..40]),
        );
        println!("{law} beside {others}: {ours:.2}, plain TCP {plain:.2}");
        assert!(
            (0.8..1.25).contains(&(ours / plain)),
            "{law}: {ours} {plain}"
        );
    }
}

#[test]
fn without_a_floor_nothing_is_different() {
    for law in [RECEIVER, SENDER] {
        let without = by_second(&beside(law, 1, 2, 10, ""), "mine");
        assert!(without[18..40].iter().any(|it| *it < 0.6), "{law}");
    }
}
