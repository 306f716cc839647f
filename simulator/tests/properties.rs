// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random networks, losses and laws: every byte arrives once, nothing stalls, queues keep
//! their limits. (That time never runs back the loop itself asserts.)

mod common;
#[path = "common/wires.rs"]
mod wires;

use common::Builder;
use ebb_algorithms::Side;
use ebb_link::{Class, Nanos, QueueLimit, QueueSpec};
use ebb_scenario::{Interval, LinkId, NodeKind, Scenario, TcpOptions, TcpProfile, Traffic};
use ebb_simulator::{Options, run};
use proptest::prelude::*;
use wires::{Wire, laws, spec, wire};

#[derive(Clone, Debug)]
struct Transfer {
    bytes: u64,
    law: &'static str,
    first: usize,
    hops: usize,
    is_backwards: bool,
    start_ms: u64,
    receiver: Option<&'static str>,
    profile: TcpProfile,
    has_ecn: bool,
    is_less: bool,
    /// The part of the run in which it yields; none: all of it.
    yields_ms: Option<(u64, u64)>,
}

fn transfer() -> impl Strategy<Value = Transfer> {
    (
        (1_u64..400_000, laws(Side::Sender), 0_usize..4, 1_usize..5),
        (any::<bool>(), 0_u64..3_000),
        prop::option::of(laws(Side::Receiver)),
        prop::sample::select(vec![TcpProfile::Linux, TcpProfile::Paper]),
        (any::<bool>(), any::<bool>()),
        prop::option::of((0_u64..2_000, 1_u64..5_000)),
    )
        .prop_map(
            |(
                (bytes, law, first, hops),
                (is_backwards, start_ms),
                receiver,
                profile,
                (has_ecn, is_less),
                yields,
            )| Transfer {
                bytes,
                law,
                first,
                hops,
                is_backwards,
                start_ms,
                receiver,
                profile,
                has_ecn,
                is_less,
                yields_ms: yields.map(|(from, length)| (from, from + length)),
            },
        )
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
        flow.receiver = transfer.receiver.map(str::to_owned);
        flow.start = Nanos::from_millis(transfer.start_ms);
        flow.tcp = TcpOptions {
            has_ecn: transfer.has_ecn,
            ..TcpOptions::of(transfer.profile)
        };
        if transfer.is_less {
            flow.class = Class::LessThanBestEffort;
        }
        flow.during
            .extend(transfer.yields_ms.map(|(from, to)| Interval {
                name: "yielding".to_owned(),
                from: Nanos::from_millis(from),
                to: Nanos::from_millis(to),
            }));
    }
    builder.scenario.seed = seed;
    builder.scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

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
            let (QueueLimit::Packets(limit), queues) = (link.spec.queue.limit(), match link.spec.queue {
                QueueSpec::StrictPriority { .. } => 2,
                _ => 1,
            }) else {
                unreachable!("all limits here are of packets");
            };
            prop_assert!(result.measures[0].max_queue_pkts <= Some(queues * limit));
        }
    }
}
