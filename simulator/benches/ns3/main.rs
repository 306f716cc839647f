// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The simulator against Debian's ns-3, both on this machine and in one go.
//!
//! `cargo bench -p ebb-simulator --bench ns3 [-- [--repeats N] [--only-ours] [A B …]]`
//!
//! Installs libns3-dev if it is missing, builds `dumbbell.cc` beside this file, and runs
//! scenarios A to F in turn on one core: ours, ns-3, ours, … Fails if a ratio of wall-clock
//! times is below 60. `--only-ours` leaves ns-3 and the ratios out.

#[path = "../../tests/common/mod.rs"]
mod common;
mod ns3;
mod ours;
mod scenarios;

use anyhow::{Context, Result, bail, ensure};

use ours::{Run, flows, flows_in_memory, run_scenario, windows};
use scenarios::{Case, cases};

/// What is wanted on each scenario. *Units:* wall-clock seconds of ns-3 by ours.
const WANTED_RATIO: f64 = 60.0;
/// What 10 000 connections at the same time may take. *Units:* bytes.
const MEMORY_LIMIT_BYTES: u64 = 1 << 30;

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    if let Some(flows) = arguments.child_flows {
        return ours::report_memory(flows);
    }
    println!(
        "one core; ns-3: {}",
        if arguments.is_only_ours {
            "left out"
        } else {
            ns3::VERSION
        }
    );
    let program = (!arguments.is_only_ours).then(ns3::build).transpose()?;
    let mut slow = Vec::new();
    for case in cases().iter().filter(|case| arguments.wants(case)) {
        let result = compare(case, program.as_deref(), arguments.repeats)
            .with_context(|| format!("scenario {}", case.letter))?;
        if result.is_some_and(|ratio| ratio < WANTED_RATIO) {
            slow.push(case.letter);
        }
    }
    if arguments.letters.is_empty() {
        windows()?;
        flows()?;
        let bytes = flows_in_memory(10_000)?;
        ensure!(
            bytes < MEMORY_LIMIT_BYTES,
            "10 000 flows take {bytes} bytes, more than {MEMORY_LIMIT_BYTES}"
        );
    }
    ensure!(
        slow.is_empty(),
        "less than {WANTED_RATIO} times ns-3 on {}",
        slow.join(", ")
    );
    Ok(())
}

struct Arguments {
    repeats: u32,
    is_only_ours: bool,
    letters: Vec<String>,
    child_flows: Option<u32>,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut parsed = Self {
            repeats: 1,
            is_only_ours: false,
            letters: Vec::new(),
            child_flows: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().unwrap_or_default();
                value
                    .parse()
                    .with_context(|| format!("{argument} '{value}': must be a whole number"))
            };
            match argument.as_str() {
                // What cargo adds by itself.
                "--bench" => {}
                "--repeats" => parsed.repeats = number()?,
                "--child-flows" => parsed.child_flows = Some(number()?),
                "--only-ours" => parsed.is_only_ours = true,
                letter if cases().iter().any(|case| case.letter == letter) => {
                    parsed.letters.push(argument);
                }
                _ => bail!(
                    "'{argument}': expected --repeats N, --only-ours or scenarios out of {}",
                    cases()
                        .iter()
                        .map(|case| case.letter)
                        .collect::<Vec<_>>()
                        .join(" ")
                ),
            }
        }
        Ok(parsed)
    }

    fn wants(&self, case: &Case) -> bool {
        self.letters.is_empty() || self.letters.iter().any(|letter| letter == case.letter)
    }
}

/// Runs a scenario on both sides in turn and prints both; answers the ratio of the medians.
fn compare(case: &Case, program: Option<&std::path::Path>, repeats: u32) -> Result<Option<f64>> {
    println!("\n{} {}", case.letter, case.what);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..repeats.max(1) {
        ours.push(run_scenario(&case.scenario())?);
        if let Some(program) = program {
            theirs.push(ns3::run(program, case)?);
        }
        ours.push(run_scenario(&case.scenario())?);
    }
    print_run("ebb", &ours[0], median(&ours));
    let Some(first) = theirs.first() else {
        return Ok(None);
    };
    print_run("ns-3", first, median(&theirs));
    let ratio = median(&theirs) / median(&ours);
    println!("  ratio {ratio:.1}");
    Ok(Some(ratio))
}

fn print_run(side: &str, run: &Run, seconds: f64) {
    println!(
        "  {side:<4} {seconds:>8.3} s  {:>5.2} M events/s  {:>8.0} ns/packet  {:>8} packets  \
         {:>6} drops  queue {:>7.2} ms",
        run.events as f64 / seconds / 1e6,
        seconds * 1e9 / run.bottleneck_pkts as f64,
        run.bottleneck_pkts,
        run.drops,
        run.queue_ms,
    );
    println!("       Mbit/s: {}", run.goodputs);
}

fn median(runs: &[Run]) -> f64 {
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.wall_s).collect();
    seconds.sort_by(f64::total_cmp);
    let middle = seconds.len() / 2;
    if seconds.len().is_multiple_of(2) {
        f64::midpoint(seconds[middle - 1], seconds[middle])
    } else {
        seconds[middle]
    }
}
