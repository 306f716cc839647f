// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a link does to packets, with worked arithmetic.
mod aggregation;
mod bottleneck;
mod wire;

use ebb_link::{Class, Delivery, Link, LinkSpec, Nanos, Packet, QueueLimit, Rate};

/// 1500 bytes at 10 Mbit/s: 12 000 bits / 10^7 bits/s.
const FULL_NS: u64 = 1_200_000;
const DELAY_NS: u64 = 50_000_000;

fn home_link(limit: QueueLimit) -> LinkSpec {
    LinkSpec::drop_tail(Rate::from_mbit_per_s(10), Nanos(DELAY_NS), limit)
}

fn full(class: Class, number: u32) -> Packet<u32> {
    Packet::new(1_500, class, number)
}

/// Everything that comes out at the deadlines that the link names.
fn drain(link: &mut Link<u32>) -> Vec<Delivery<u32>> {
    let mut deliveries = Vec::new();
    while let Some(deadline) = link.next_deadline() {
        deliveries.extend(std::iter::from_fn(|| link.poll(deadline)));
    }
    deliveries
}

fn numbers(deliveries: &[Delivery<u32>]) -> Vec<u32> {
    deliveries
        .iter()
        .map(|delivery| delivery.packet.payload)
        .collect()
}
