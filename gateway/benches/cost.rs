// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the gateway costs a packet, in the kernel and without the rest of its way.
//!
//! ```text
//! sudo -E cargo bench -p ebb-gateway --bench cost
//! ```
//!
//! *Again and again*: one packet, the least of some runs, since others are at work on the machine. An
//! acknowledgement's window stands already then, and data has been seen. *One by one*: the median of
//! a transfer's packets, whose windows are rewritten. Each goes through a call of the kernel, so
//! caches are cold. Both are without what the kernel takes at the same time for a program that does
//! nothing, which is looking at the clock mostly where packets go one by one. Exits with 1 if a bound
//! is missed.

#[path = "../tests/support/mod.rs"]
mod support;

use ebb_gateway::{Gateway, Nothing, Rule, Tried};
use ebb_host::testing::requires_root;
use std::io;
use std::process::ExitCode;
use support::{Segment, everything, gateway, shake_hands};

const TIMES: u32 = 200_000;
const RUNS: u32 = 15;
const ROUNDS: usize = 5_000;
const MOST_OTHERS_NS: u64 = 40;
const MOST_GOVERNED_NS: u64 = 250;
const PAYLOAD_BYTES: u32 = 1_448;

fn main() -> ExitCode {
    if !requires_root("the cost of a packet") {
        return ExitCode::SUCCESS;
    }
    let excepted = Rule {
        client: Some("192.168.7.99".parse().expect("an address")),
        is_background: false,
        ..everything()
    };
    let gateway = gateway(&[excepted, everything()], 65_536);
    let nothing = Nothing::load().expect("the kernel takes a program that does nothing");
    let others = Segment {
        client: "192.168.7.99".parse().expect("an address"),
        ..Segment::of(2000)
    };
    println!("                          ns again and again  one by one");
    let mut is_right = true;
    for (whose, segment, most_ns) in [
        ("others'", others, MOST_OTHERS_NS),
        ("governed", Segment::of(2001), MOST_GOVERNED_NS),
    ] {
        shake_hands(&gateway, &segment);
        let one_by_one = one_by_one_ns(&gateway, &nothing, segment.clone());
        let packets = [
            ("acknowledgement", segment.clone()),
            ("data", data_for(&segment)),
        ];
        for ((what, packet), single_ns) in packets.into_iter().zip(one_by_one) {
            let again_ns = again_and_again_ns(&gateway, &nothing, &packet);
            is_right &= again_ns <= most_ns && (most_ns < MOST_GOVERNED_NS || single_ns <= most_ns);
            println!("{whose:>12} {what:<15} {again_ns:>14} {single_ns:>11}  at most {most_ns}");
        }
    }
    match is_right {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Data for the client, which it acknowledges with this.
fn data_for(acknowledgement: &Segment) -> Segment {
    Segment {
        is_from_client: false,
        seq: acknowledgement.ack,
        ack: acknowledgement.seq,
        payload: PAYLOAD_BYTES as usize,
        ..acknowledgement.clone()
    }
}

fn took_ns(tried: io::Result<Tried>) -> u64 {
    let took = tried.expect("the kernel runs it").took;
    took.as_nanos() as u64
}

fn again_and_again_ns(gateway: &Gateway, nothing: &Nothing, packet: &Segment) -> u64 {
    let frame = packet.frame();
    let with = |_| {
        gateway.renew();
        took_ns(gateway.try_packet(packet.is_from_client, &frame, TIMES))
    };
    let without = |_| took_ns(nothing.try_packet(&frame, TIMES));
    let least = |runs: &mut dyn Iterator<Item = u64>| runs.min().unwrap_or(0);
    least(&mut (0..RUNS).map(with)).saturating_sub(least(&mut (0..RUNS).map(without)))
}

/// Of a transfer's acknowledgements, and of its data.
fn one_by_one_ns(gateway: &Gateway, nothing: &Nothing, mut segment: Segment) -> [u64; 2] {
    // With the program, and with the one that does nothing.
    let mut took = [const { (Vec::new(), Vec::new()) }; 2];
    for round in 0..ROUNDS {
        if round % 100 == 0 {
            gateway.renew();
        }
        let data = data_for(&segment);
        segment.ack = segment.ack.wrapping_add(PAYLOAD_BYTES);
        for (packet, (with, without)) in [&segment, &data].into_iter().zip(&mut took).rev() {
            let frame = packet.frame();
            with.push(took_ns(gateway.try_packet(
                packet.is_from_client,
                &frame,
                1,
            )));
            without.push(took_ns(nothing.try_packet(&frame, 1)));
        }
    }
    took.map(|(with, without)| median(with).saturating_sub(median(without)))
}

fn median(mut figures: Vec<u64>) -> u64 {
    figures.sort_unstable();
    figures[figures.len() / 2]
}
