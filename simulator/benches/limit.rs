// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What bounds the events of a second: the instructions of an event, or the memory that it
//! waits for.
//!
//! `cargo bench -p ebb-simulator --bench limit [-- FLOWS SECONDS REPEATS [shared]]`
//!
//! The same flows run with hosts of their own, which is four links for each of them, and
//! with hosts that all share, which is four links in all: the same packets, timers and
//! laws, another amount of memory. Beside it stands how long this machine waits for memory,
//! by how much of it is in use. With arguments one crowd runs alone, for a profiler.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::Builder;
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{Buffer, NodeKind, Scenario, Traffic};
use ebb_simulator::{Options, run_counted};

/// Simulated seconds of packets in each run, at 83 packets a second for each flow.
const FLOW_SECONDS: u64 = 2_000;
const REPEATS: u32 = 7;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    if let [flows, seconds, repeats] = numbers[..] {
        let hosts = match std::env::args().any(|argument| argument == "shared") {
            true => Hosts::Shared,
            false => Hosts::Own,
        };
        let scenario = crowd(flows, seconds, hosts);
        let (ns, events) = best(&scenario, repeats as u32);
        println!("flows {flows} events {events} {ns:.1} ns/event");
        return;
    }
    memory();
    println!(
        "\n{:>6} {:>9} {:>14} {:>17} {:>14}",
        "flows", "events", "own hosts: ns", "shared hosts: ns", "M events/s"
    );
    for flows in [1, 10, 30, 100, 300, 1_000, 10_000] {
        let seconds = (FLOW_SECONDS / flows).max(3);
        let repeats = if flows > 1_000 { 2 } else { REPEATS };
        let (own_ns, events) = best(&crowd(flows, seconds, Hosts::Own), repeats);
        let (shared_ns, _) = best(&crowd(flows, seconds, Hosts::Shared), repeats);
        println!(
            "{flows:>6} {events:>9} {own_ns:>14.1} {shared_ns:>17.1} {:>7.1} {:>6.1}",
            1e3 / own_ns,
            1e3 / shared_ns
        );
    }
}

/// Nanoseconds of an event, the least of some runs: what else the machine does only adds.
fn best(scenario: &Scenario, repeats: u32) -> (f64, u64) {
    let mut best_ns = f64::INFINITY;
    let mut events = 0;
    for _ in 0..repeats {
        let start = Instant::now();
        let (_, cost) = run_counted(scenario, Options::default()).expect("the scenario is right");
        events = cost.events;
        best_ns = best_ns.min(start.elapsed().as_secs_f64() * 1e9 / events as f64);
    }
    (best_ns, events)
}

/// Whose hosts a flow's packets leave from and come to.
#[derive(Clone, Copy, PartialEq)]
enum Hosts {
    Own,
    Shared,
}

/// So many CUBIC flows over one bottleneck, with 1 Mbit/s and four packets of queue for
/// each; as scenario D, but for its size.
fn crowd(flows: u64, seconds: u64, hosts: Hosts) -> Scenario {
    let mut builder = Builder::new(Nanos::from_secs(seconds));
    let left = builder.node(NodeKind::Router);
    let right = builder.node(NodeKind::Router);
    let queue = QueueLimit::Packets(4 * flows + 16);
    let rate = Rate::from_mbit_per_s(flows as u32);
    let core = LinkSpec::drop_tail(rate, Nanos::from_millis(25), queue);
    let there = builder.link(left, right, core.clone());
    let back = builder.link(right, left, core);
    builder.report(there);
    let plenty = QueueLimit::Packets(1_000_000);
    // Shared ones carry what all of their own would.
    let access_mbit = match hosts {
        Hosts::Own => 1_000,
        Hosts::Shared => 1_000 * flows.min(4_000) as u32,
    };
    let access = LinkSpec::drop_tail(Rate::from_mbit_per_s(access_mbit), Nanos::ZERO, plenty);
    let mut links = None;
    for number in 0..flows {
        let [up, down, up_back, down_back] = match links.filter(|_| hosts == Hosts::Shared) {
            Some(links) => links,
            None => {
                let from = builder.node(NodeKind::Host);
                let to = builder.node(NodeKind::Host);
                [(from, left), (right, to), (to, right), (left, from)]
                    .map(|(from, to)| builder.link(from, to, access.clone()))
            }
        };
        links = Some([up, down, up_back, down_back]);
        let path = [up, there, down];
        let flow = builder.flow(Traffic::Greedy, &path, &[up_back, back, down_back]);
        flow.sender = "cubic".to_owned();
        flow.start = Nanos(1_000_000_000 / flows * number);
        flow.tcp.receive_buffer = Buffer::Fixed(16 << 20);
        flow.tcp.send_buffer = Buffer::Fixed(16 << 20);
        flow.tcp.delayed_acks.quick_pkts = 0;
    }
    builder.scenario
}

/// How long one load waits for the one before it, in memory of different sizes.
fn memory() {
    println!("{:>10} {:>14}", "memory KiB", "ns for a load");
    for kib in [32, 256, 1_024, 4_096, 16_384, 65_536] {
        println!("{kib:>10} {:>14.1}", load_ns(kib << 10));
    }
}

/// Follows a random cycle through lines of 64 bytes.
fn load_ns(bytes: usize) -> f64 {
    const WORDS_A_LINE: usize = 8;
    const STEPS: u32 = 2_000_000;
    let lines = bytes / 64;
    let mut order: Vec<usize> = (0..lines).collect();
    // Sattolo's shuffle gives one cycle; the generator is Knuth's.
    let mut random = 1_u64;
    for place in (1..lines).rev() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        order.swap(place, (random >> 33) as usize % place);
    }
    let mut next = vec![0; lines * WORDS_A_LINE];
    for (place, to) in order.iter().enumerate() {
        next[place * WORDS_A_LINE] = to * WORDS_A_LINE;
    }
    let mut best_ns = f64::INFINITY;
    for _ in 0..3 {
        let mut place = 0;
        let start = Instant::now();
        for _ in 0..STEPS {
            place = next[place];
        }
        black_box(place);
        best_ns = best_ns.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS));
    }
    best_ns
}
