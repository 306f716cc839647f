// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our side: the same scenarios, and what ns-3 is not asked for.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ebb_link::{Nanos, QueueLimit, Rate};
use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::{Options, run_counted};

use crate::common::{Dumbbell, DumbbellFlow};

/// A packet costs the same whatever the window; more than this is not noise.
const FLAT_RATIO: f64 = 2.0;

/// What one run gave and cost, on either side.
pub struct Run {
    pub wall_s: f64,
    pub events: u64,
    /// Packets that the bottleneck sent, of the data's direction.
    pub bottleneck_pkts: u64,
    pub drops: u64,
    /// Mean waiting at the bottleneck.
    pub queue_ms: f64,
    pub goodputs: String,
}

/// Runs a scenario; building the network counts, too.
pub fn run_scenario(scenario: &Scenario) -> Result<Run> {
    let start = Instant::now();
    let (outcome, cost) = run_counted(scenario, Options::default())?;
    let wall_s = start.elapsed().as_secs_f64();
    let bottleneck = &outcome.links[0].measures[0];
    let class = &bottleneck.best_effort;
    Ok(Run {
        wall_s,
        events: cost.events,
        bottleneck_pkts: class.offered_pkts - class.dropped_pkts,
        drops: class.dropped_pkts,
        queue_ms: bottleneck.queue_delay_ms.mean,
        goodputs: goodputs(scenario, &outcome),
    })
}

/// Of each flow while it ran, or of all together if they are many.
fn goodputs(scenario: &Scenario, outcome: &Outcome) -> String {
    let mbps: Vec<f64> = scenario
        .flows
        .iter()
        .zip(&outcome.flows)
        .map(|(flow, result)| {
            let ran = flow.stop.unwrap_or(scenario.duration).since(flow.start);
            result.measures[0].delivered_bytes as f64 * 8e-6 / ran.as_secs_f64()
        })
        .collect();
    if mbps.len() <= 10 {
        let texts: Vec<String> = mbps.iter().map(|value| format!("{value:.4}")).collect();
        return texts.join(" + ");
    }
    let sum: f64 = mbps.iter().sum();
    let squares: f64 = mbps.iter().map(|value| value * value).sum();
    let jain = sum * sum / (mbps.len() as f64 * squares);
    format!("sum {sum:.2}, Jain {jain:.3}")
}

/// What a packet costs by the size of the window: one CUBIC flow, limited by its buffers.
/// *Errors:* it is not the same for all.
pub fn windows() -> Result<()> {
    let mut costs = Vec::new();
    println!("\nwindow     rate  packets    s   ns/packet (1 CUBIC, RTT 100 ms, no loss)");
    for (window_pkts, mbit, seconds) in [
        (8, 1, 2_000),
        (83, 10, 200),
        (833, 100, 20),
        (8_333, 1_000, 4),
    ] {
        let scenario = Dumbbell {
            rate: Rate::from_mbit_per_s(mbit),
            rtt: Nanos::from_millis(100),
            queue: QueueLimit::Packets(100_000),
            access: Rate::from_mbit_per_s(10_000),
            access_delay: Nanos::ZERO,
            duration: Nanos::from_secs(seconds),
            flows: vec![DumbbellFlow::greedy("cubic")],
            buffer_bytes: window_pkts * 1_448,
        }
        .scenario();
        let mut run = run_scenario(&scenario)?;
        // The best of three: what else the machine does is not to count.
        for _ in 1..3 {
            run.wall_s = run.wall_s.min(run_scenario(&scenario)?.wall_s);
        }
        let cost_ns = run.wall_s * 1e9 / run.bottleneck_pkts as f64;
        println!(
            "{window_pkts:>6} {mbit:>4} Mbit {:>8} {:>6.3} {cost_ns:>8.0}",
            run.bottleneck_pkts, run.wall_s,
        );
        costs.push(cost_ns);
    }
    let least_ns = costs.iter().copied().fold(f64::INFINITY, f64::min);
    ensure!(
        costs.iter().all(|cost_ns| *cost_ns < FLAT_RATIO * least_ns),
        "a packet's cost depends on the window: {costs:.0?} ns"
    );
    Ok(())
}

/// What a packet costs by the number of flows: as scenario D, 1 Mbit/s for each.
/// *Errors:* an event's cost grows faster than the logarithm of the flows.
pub fn flows() -> Result<()> {
    let mut alone_ns = f64::INFINITY;
    println!("\n flows  packets    s   M events/s  ns/packet  ns/event (CUBIC, 1 Mbit/s each)");
    for flows in [1, 10, 100, 1_000, 10_000] {
        let seconds = (300_000 / (flows * 83)).max(2);
        let run = run_scenario(&crowd(flows, seconds))?;
        let event_ns = run.wall_s * 1e9 / run.events as f64;
        println!(
            "{flows:>6} {:>8} {:>6.3} {:>8.2} {:>10.0} {event_ns:>9.1}",
            run.bottleneck_pkts,
            run.wall_s,
            1e3 / event_ns,
            run.wall_s * 1e9 / run.bottleneck_pkts as f64,
        );
        alone_ns = alone_ns.min(event_ns);
        let most_ns = alone_ns * (1.0 + (flows as f64).log2());
        ensure!(
            event_ns <= most_ns,
            "{flows} flows: {event_ns:.0} ns an event, more than {most_ns:.0}"
        );
    }
    Ok(())
}

/// So many CUBIC flows, each between hosts of its own, with 1 Mbit/s and four packets of
/// queue for each.
fn crowd(flows: u64, seconds: u64) -> Scenario {
    Dumbbell {
        rate: Rate::from_mbit_per_s(flows as u32),
        rtt: Nanos::from_millis(50),
        queue: QueueLimit::Packets(4 * flows + 16),
        access: Rate::from_mbit_per_s(1_000),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(seconds),
        flows: (0..flows)
            .map(|number| DumbbellFlow {
                start: Nanos(500_000_000 / flows * number),
                ..DumbbellFlow::greedy("cubic")
            })
            .collect(),
        buffer_bytes: 16 << 20,
    }
    .scenario()
}

/// The memory of so many connections at the same time: in a process of their own.
/// *Units:* bytes.
pub fn flows_in_memory(flows: u32) -> Result<u64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child-flows", &flows.to_string()])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("\n{}", text.trim_end());
    let kib = text
        .split_whitespace()
        .last()
        .context("no memory printed")?;
    Ok(kib.parse::<u64>()? * 1_024)
}

/// Runs so many flows for 3 s and prints what that took; the peak of memory, in KiB, last.
pub fn report_memory(flows: u32) -> Result<()> {
    let run = run_scenario(&crowd(u64::from(flows), 3))?;
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|value| value.split_whitespace().next())
        .context("/proc/self/status has no VmHWM")?;
    println!(
        "{flows} CUBIC flows at the same time, {} packets in {:.2} s: peak memory in KiB: {peak}",
        run.bottleneck_pkts, run.wall_s,
    );
    Ok(())
}
