// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions and cache misses of a packet, as valgrind's cachegrind counts them: the
//! difference of a long run and a short one, so that building the network does not count.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::crowd::Hosts;

/// Caches of 32 and 48 KiB, and a second one of 2 MiB: those of the machine in
/// docs/simulator.md.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"];
/// Flows, and the seconds of the short and of the long run.
const RUNS: [(u64, u64, u64); 4] = [(1, 100, 400), (10, 20, 60), (100, 5, 10), (1_000, 3, 5)];
/// What a packet among so many flows may miss in the first cache and in the second.
const MOST_MISSES: [(u64, f64, f64); 2] = [(100, 25.0, 0.5), (1_000, 26.0, 16.0)];

/// Prints the table; answers what is above its bound.
pub fn table(hosts: Hosts) -> Result<Vec<String>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\nno valgrind: instructions and misses are not counted");
        return Ok(Vec::new());
    }
    println!(
        "\n   flows  packets   events  instructions  first code  first data  second (a packet)"
    );
    let mut missed = Vec::new();
    for (flows, short, long) in RUNS {
        let packet = count(flows, long, hosts)?.since(&count(flows, short, hosts)?);
        println!(
            "{flows:>8} {:>8} {:>8.2} {:>13.0} {:>11.2} {:>11.2} {:>7.2}",
            packet.packets,
            packet.each(packet.events),
            packet.each(packet.instructions),
            packet.each(packet.first_code),
            packet.each(packet.first_data),
            packet.each(packet.second),
        );
        for (most_flows, first, second) in MOST_MISSES {
            let is_above =
                packet.each(packet.first_data) > first || packet.each(packet.second) > second;
            if flows == most_flows && is_above {
                missed.push(format!(
                    "a packet among {flows} flows misses the caches more often than {first} and \
                     {second} times"
                ));
            }
        }
    }
    Ok(missed)
}

/// What was counted in a run.
#[derive(Clone, Copy)]
struct Counts {
    packets: u64,
    events: u64,
    instructions: u64,
    /// Misses of the first caches and of the second.
    first_code: u64,
    first_data: u64,
    second: u64,
}

impl Counts {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            events: self.events - earlier.events,
            instructions: self.instructions - earlier.instructions,
            first_code: self.first_code.saturating_sub(earlier.first_code),
            first_data: self.first_data.saturating_sub(earlier.first_data),
            second: self.second.saturating_sub(earlier.second),
        }
    }

    fn each(&self, count: u64) -> f64 {
        count as f64 / self.packets as f64
    }
}

fn count(flows: u64, seconds: u64, hosts: Hosts) -> Result<Counts> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=cachegrind", "--cache-sim=yes"])
        .args(CACHES)
        .arg("--cachegrind-out-file=/dev/null")
        .arg(std::env::current_exe()?)
        .args(["--run", &flows.to_string(), &seconds.to_string()]);
    if hosts == Hosts::Shared {
        command.arg("--shared-hosts");
    }
    let output = command.output().context("valgrind")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let counted = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind: {counted}");
    Ok(Counts {
        packets: number_after(&printed, "packets")?,
        events: number_after(&printed, "events")?,
        instructions: number_after(&counted, "I   refs:")?,
        first_code: number_after(&counted, "I1  misses:")?,
        first_data: number_after(&counted, "D1  misses:")?,
        second: number_after(&counted, "LL misses:")?,
    })
}

/// The number that follows a word, its digits grouped by commas.
fn number_after(text: &str, word: &str) -> Result<u64> {
    let (_, rest) = text
        .split_once(word)
        .with_context(|| format!("no '{word}' in: {text}"))?;
    let number = rest.split_whitespace().next().unwrap_or_default();
    number
        .replace(',', "")
        .parse()
        .with_context(|| format!("'{word}' is followed by '{number}'"))
}
