// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Time: the same number of packets, from any number of flows.

use anyhow::Result;
use nix::time::{ClockId, clock_gettime};

use crate::crowd::{self, Hosts, PACKETS_A_SECOND};

/// Packets of each run, about.
const PACKETS: u64 = 400_000;
const FLOWS: [u64; 5] = [1, 10, 100, 1_000, 10_000];
/// What a packet among so many flows may cost, by what one of a single flow does.
const MOST_RATIOS: [(u64, f64); 2] = [(100, 1.5), (1_000, 2.0)];

/// Prints the table; answers what is above its bound.
pub fn table(hosts: Hosts, repeats: u32) -> Result<Vec<String>> {
    println!(
        "\n   flows  packets  ns/packet  ns/event  ratio   (processor time, least of {repeats})"
    );
    let mut costs = FLOWS.map(Cost::new);
    for _ in 0..repeats {
        for cost in &mut costs {
            cost.measure(hosts)?;
        }
    }
    let alone_ns = costs[0].packet_ns();
    let mut missed = Vec::new();
    for cost in &costs {
        let ratio = cost.packet_ns() / alone_ns;
        println!(
            "{:>8} {:>8} {:>10.0} {:>9.1} {ratio:>6.2}",
            cost.flows,
            cost.packets,
            cost.packet_ns(),
            cost.least_s * 1e9 / cost.events as f64,
        );
        for (flows, most) in MOST_RATIOS {
            if flows == cost.flows && ratio > most {
                missed.push(format!(
                    "a packet among {flows} flows takes {ratio:.2} times as long as one of a \
                     single flow: more than {most}"
                ));
            }
        }
    }
    Ok(missed)
}

struct Cost {
    flows: u64,
    packets: u64,
    events: u64,
    /// What else the machine does only adds.
    least_s: f64,
}

impl Cost {
    fn new(flows: u64) -> Self {
        Self {
            flows,
            packets: 0,
            events: 0,
            least_s: f64::INFINITY,
        }
    }

    fn measure(&mut self, hosts: Hosts) -> Result<()> {
        let seconds = (PACKETS / (self.flows * PACKETS_A_SECOND)).max(3);
        let before_s = processor_s()?;
        let run = crowd::run(self.flows, seconds, hosts)?;
        self.least_s = self.least_s.min(processor_s()? - before_s);
        (self.packets, self.events) = (run.packets, run.events);
        Ok(())
    }

    fn packet_ns(&self) -> f64 {
        self.least_s * 1e9 / self.packets as f64
    }
}

/// Time that this process had a processor: what others do beside it counts less.
fn processor_s() -> Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}
