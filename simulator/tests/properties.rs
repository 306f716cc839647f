// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random networks, losses and laws: every byte arrives once, nothing stalls, queues keep
//! their limits. (That time never runs back the loop itself asserts.)

mod common;

use common::Builder;
use ebb_algorithms::Side;
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, QueueSpec, Rate};
use ebb_scenario::{LinkId, NodeKind, Scenario, Traffic};
use ebb_simulator::{Options, run};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Wire {
    mbit: u32,
    delay_ms: u64,
    queue_pkts: u64,
    is_strict: bool,
    loss: f64,
    jitter_us: u64,
    is_reordering: bool,
    duplicate: f64,
}

#[derive(Clone, Debug)]
struct Transfer {
    bytes: u64,
    law: &'static str,
    first: usize,
    hops: usize,
    is_backwards: bool,
    start_ms: u64,
}

fn wire() -> impl Strategy<Value = Wire> {
    (
        (1_u32..200, 0_u64..60, 4_u64..200, any::<bool>()),
        (
            prop_oneof![Just(0.0), 0.0..0.03],
            prop_oneof![Just(0_u64), 1_u64..5_000],
            any::<bool>(),
            prop_oneof![Just(0.0), 0.0..0.02],
        ),
    )
        .prop_map(
            |(
                (mbit, delay_ms, queue_pkts, is_strict),
                (loss, jitter_us, is_reordering, duplicate),
            )| Wire {
                mbit,
                delay_ms,
                queue_pkts,
                is_strict,
                loss,
                jitter_us,
                is_reordering,
                duplicate,
            },
        )
}

fn transfer() -> impl Strategy<Value = Transfer> {
    let laws: Vec<&'static str> = ebb_algorithms::laws_of(Side::Sender)
        .map(|law| law.name)
        .collect();
    (
        1_u64..400_000,
        prop::sample::select(laws),
        0_usize..4,
        1_usize..5,
        any::<bool>(),
        0_u64..3_000,
    )
        .prop_map(
            |(bytes, law, first, hops, is_backwards, start_ms)| Transfer {
                bytes,
                law,
                first,
                hops,
                is_backwards,
                start_ms,
            },
        )
}

fn spec(wire: &Wire) -> LinkSpec {
    let limit = QueueLimit::Packets(wire.queue_pkts);
    let rate = Rate::from_mbit_per_s(wire.mbit);
    let delay = Nanos::from_millis(wire.delay_ms);
    let spec = if wire.is_strict {
        LinkSpec::strict_priority(rate, delay, limit)
    } else {
        LinkSpec::drop_tail(rate, delay, limit)
    };
    LinkSpec {
        loss: Probability::new(wire.loss).expect("a share"),
        jitter: Nanos::from_micros(wire.jitter_us),
        jitter_reorders: wire.is_reordering && wire.jitter_us > 0,
        duplicate: Probability::new(wire.duplicate).expect("a share"),
        ..spec
    }
}

/// A chain of nodes; each transfer goes over some of its links, one way or the other.
fn chain(wires: &[Wire], transfers: &[Transfer], seed: u64) -> Scenario {
    let mut builder = Builder::new(Nanos::from_secs(4_000));
    let mut node = builder.node(NodeKind::Host);
    let mut pairs: Vec<(LinkId, LinkId)> = Vec::new();
    for wire in wires {
        let next = builder.node(NodeKind::Host);
        let there = builder.link(node, next, spec(wire));
        let back = builder.link(next, node, spec(wire));
        builder.report(there);
        builder.report(back);
        pairs.push((there, back));
        node = next;
    }
    for transfer in transfers {
        let first = transfer.first % pairs.len();
        let last = (first + transfer.hops).min(pairs.len());
        let mut path: Vec<LinkId> = pairs[first..last].iter().map(|pair| pair.0).collect();
        let mut back: Vec<LinkId> = pairs[first..last].iter().rev().map(|pair| pair.1).collect();
        if transfer.is_backwards {
            std::mem::swap(&mut path, &mut back);
        }
        let traffic = Traffic::Fixed {
            bytes: transfer.bytes,
        };
        let flow = builder.flow(traffic, &path, &back);
        flow.sender = transfer.law.to_owned();
        flow.start = Nanos::from_millis(transfer.start_ms);
    }
    builder.scenario.seed = seed;
    builder.scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_byte_arrives_once_and_queues_keep_their_limits(
        wires in prop::collection::vec(wire(), 1..5),
        transfers in prop::collection::vec(transfer(), 1..6),
        seed in any::<u64>(),
    ) {
        let scenario = chain(&wires, &transfers, seed);
        let outcome = run(&scenario, Options::default()).unwrap();
        for (flow, transfer) in outcome.flows.iter().zip(&transfers) {
            prop_assert_eq!(flow.measures[0].delivered_bytes, transfer.bytes, "{:?}", transfer);
            prop_assert!(flow.completion_s.is_some());
            let measure = &flow.measures[0];
            let again = measure.sent_bytes - measure.retransmitted_bytes;
            prop_assert_eq!(again, transfer.bytes, "each byte is new once");
        }
        for (link, result) in scenario.links.iter().zip(&outcome.links) {
            let limit = match link.spec.queue {
                QueueSpec::DropTail(QueueLimit::Packets(limit)) => limit,
                QueueSpec::StrictPriority { .. } => 2 * wires
                    .iter()
                    .map(|wire| wire.queue_pkts)
                    .max()
                    .unwrap_or(0),
                _ => unreachable!("the test makes no other queue"),
            };
            prop_assert!(result.measures[0].max_queue_pkts <= Some(limit));
        }
    }
}
