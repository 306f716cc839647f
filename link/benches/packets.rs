// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a packet costs on a link: `cargo bench -p ebb-link`.
//!
//! A source keeps the bottleneck busy and the queue half full, the way a simulator
//! drives a link: one `next_deadline` and one `poll` per packet that comes out, one
//! `enqueue` per packet that goes in.
use std::hint::black_box;
use std::time::Instant;

use ebb_link::{
    CakeSpec, Class, CodelSpec, DualPi2Spec, FqCodelSpec, Link, LinkSpec, Nanos, Packet, PieSpec,
    Probability, QueueLimit, QueueSpec, Rate, RedSpec,
};

/// As large as a pointer to a segment, which is what the simulator moves.
type Payload = u64;

const PACKETS: u32 = 2_000_000;
const REPETITIONS: u32 = 5;

fn main() {
    println!("{:<44} ns per packet", "link");
    // Arguments choose links by a part of their name; cargo itself adds `--bench`.
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_chosen =
        |name: &str| chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()));
    for (name, spec) in links().into_iter().filter(|(name, _)| is_chosen(name)) {
        let best = (0..REPETITIONS)
            .map(|_| ns_per_packet(&spec))
            .fold(f64::INFINITY, f64::min);
        println!("{name:<44} {best:.1}");
    }
}

fn links() -> Vec<(&'static str, LinkSpec)> {
    let (rate, delay) = (Rate::from_mbit_per_s(100), Nanos::from_millis(10));
    let bottleneck = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(100));
    let long = LinkSpec {
        delay: Nanos::from_millis(1_000),
        ..bottleneck.clone()
    };
    let jitter = LinkSpec {
        jitter: Nanos::from_millis(5),
        ..bottleneck.clone()
    };
    let lossy = LinkSpec {
        loss: Probability::new(0.01).expect("from 0 to 1"),
        ..bottleneck.clone()
    };
    let strict = LinkSpec::strict_priority(rate, delay, QueueLimit::Packets(100));
    let mut links = vec![
        ("drop-tail, 83 packets on the wire", bottleneck.clone()),
        ("drop-tail, 8333 packets on the wire", long),
        ("delay only", LinkSpec::delay_only(Nanos::from_millis(10))),
        ("drop-tail, 1 % loss", lossy),
        ("drop-tail, jitter", jitter),
        ("strict priority", strict),
    ];
    links.extend(queues().map(|(name, queue)| {
        (
            name,
            LinkSpec {
                queue,
                ..bottleneck.clone()
            },
        )
    }));
    links
}

fn queues() -> impl Iterator<Item = (&'static str, QueueSpec)> {
    [
        ("red", QueueSpec::Red(RedSpec::default())),
        ("codel", QueueSpec::Codel(CodelSpec::default())),
        ("fq-codel", QueueSpec::FqCodel(FqCodelSpec::default())),
        ("dualpi2", QueueSpec::DualPi2(DualPi2Spec::default())),
        ("cake", QueueSpec::Cake(CakeSpec::default())),
        ("pie", QueueSpec::Pie(PieSpec::default())),
    ]
    .into_iter()
}

fn ns_per_packet(spec: &LinkSpec) -> f64 {
    let mut link = Link::new(spec, 1).expect("a link as above");
    // 1500 bytes at 100 Mbit/s.
    let spacing = Nanos::from_micros(120);
    for number in 0..50 {
        let _ = link.enqueue(Nanos::ZERO, packet(number));
    }
    let mut sent = 0;
    let mut arrived = 0_u64;
    let mut next_arrival = spacing;
    let start = Instant::now();
    while sent < PACKETS {
        match link.next_deadline() {
            Some(deadline) if deadline <= next_arrival => {
                while let Some(delivery) = link.poll(deadline) {
                    arrived += black_box(delivery).packet.payload;
                }
            }
            _ => {
                let _ = link.enqueue(next_arrival, packet(sent));
                next_arrival += spacing;
                sent += 1;
            }
        }
    }
    black_box(arrived);
    start.elapsed().as_nanos() as f64 / f64::from(PACKETS)
}

fn packet(number: u32) -> Packet<Payload> {
    Packet::new(1_500, Class::BestEffort, u64::from(number)).with_flow(number % 8)
}
