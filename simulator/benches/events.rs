// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an event costs: UDP over three hops, so that next to nothing but the loop works.
//!
//! `cargo bench -p ebb-simulator --bench events`

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Dumbbell, DumbbellFlow};
use ebb_link::{Nanos, QueueLimit, Rate};
use ebb_scenario::Traffic;
use ebb_simulator::{Options, run_counted};

fn main() {
    println!(
        "{:>8} {:>10} {:>12} {:>12}",
        "flows", "events", "ns/event", "M events/s"
    );
    for flows in [1, 10, 100, 1_000, 10_000] {
        let best = (0..3)
            .map(|_| measure(flows))
            .min_by(|first, second| first.1.total_cmp(&second.1));
        let Some((events, seconds)) = best else {
            return;
        };
        let nanoseconds = seconds * 1e9 / events as f64;
        println!(
            "{flows:>8} {events:>10} {nanoseconds:>12.1} {:>12.1}",
            1e3 / nanoseconds
        );
    }
}

/// Events and seconds of a dumbbell of so many flows, which share 1 Gbit/s.
fn measure(flows: u32) -> (u64, f64) {
    let rate = Rate::from_bits_per_s(960_000_000 / u64::from(flows)).expect("above zero");
    let scenario = Dumbbell {
        rate: Rate::from_mbit_per_s(1_000),
        rtt: Nanos::from_millis(20),
        queue: QueueLimit::Packets(20_000),
        access: Rate::from_mbit_per_s(10_000),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(5),
        flows: (0..flows)
            .map(|number| DumbbellFlow {
                start: Nanos(u64::from(number) * 12_345),
                traffic: Traffic::Udp {
                    rate,
                    packet_bytes: 1_500,
                },
                ..DumbbellFlow::greedy("")
            })
            .collect(),
        buffer_bytes: 0,
    }
    .scenario();
    let start = Instant::now();
    let (_, cost) = run_counted(&scenario, Options::default()).expect("the scenario is right");
    (cost.events, start.elapsed().as_secs_f64())
}
