// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random networks, losses and laws: every byte arrives once, nothing stalls, queues keep
//! their limits. (That time never runs back the loop itself asserts.)

mod common;

use common::Builder;
use ebb_algorithms::Side;
use ebb_link::{
    Class, ClassRedSpec, CodelSpec, FqCodelSpec, LinkSpec, Nanos, PieSpec, Probability, QueueLimit,
    QueueSpec, Rate, RedCurve, RedSpec,
};
use ebb_scenario::{Interval, LinkId, NodeKind, Scenario, TcpOptions, TcpProfile, Traffic};
use ebb_simulator::{Options, run};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Wire {
    mbit: u32,
    delay_ms: u64,
    queue_pkts: u64,
    discipline: usize,
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
    receiver: Option<&'static str>,
    profile: TcpProfile,
    has_ecn: bool,
    is_less: bool,
    /// The part of the run in which it yields; none: all of it.
    yields_ms: Option<(u64, u64)>,
}

fn wire() -> impl Strategy<Value = Wire> {
    (
        (1_u32..200, 0_u64..60, 4_u64..200, 0..DISCIPLINES),
        (
            prop_oneof![Just(0.0), 0.0..0.03],
            prop_oneof![Just(0_u64), 1_u64..5_000],
            any::<bool>(),
            prop_oneof![Just(0.0), 0.0..0.02],
        ),
    )
        .prop_map(
            |(
                (mbit, delay_ms, queue_pkts, discipline),
                (loss, jitter_us, is_reordering, duplicate),
            )| Wire {
                mbit,
                delay_ms,
                queue_pkts,
                discipline,
                loss,
                jitter_us,
                is_reordering,
                duplicate,
            },
        )
}

fn laws(side: Side) -> impl Strategy<Value = &'static str> {
    let names: Vec<&'static str> = ebb_algorithms::laws_of(side).map(|law| law.name).collect();
    prop::sample::select(names)
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

const DISCIPLINES: usize = 7;

fn queue(discipline: usize, limit: QueueLimit) -> QueueSpec {
    match discipline {
        0 => QueueSpec::DropTail(limit),
        1 => QueueSpec::StrictPriority {
            best_effort: limit,
            less_than_best_effort: limit,
        },
        2 => QueueSpec::Red(RedSpec {
            limit,
            min_threshold: QueueLimit::Packets(1),
            max_threshold: QueueLimit::Packets(3),
            ..RedSpec::default()
        }),
        3 => QueueSpec::Codel(CodelSpec {
            limit,
            ..CodelSpec::default()
        }),
        4 => QueueSpec::FqCodel(FqCodelSpec {
            limit,
            ..FqCodelSpec::default()
        }),
        5 => QueueSpec::Pie(PieSpec {
            limit,
            ..PieSpec::default()
        }),
        _ => QueueSpec::ClassRed(ClassRedSpec {
            limit,
            less_than_best_effort: Some(RedCurve {
                min_threshold: QueueLimit::Packets(1),
                max_threshold: QueueLimit::Packets(3),
                max_probability: Probability::ALWAYS,
                gentle: false,
            }),
            ..ClassRedSpec::default()
        }),
    }
}

fn spec(wire: &Wire) -> LinkSpec {
    let limit = QueueLimit::Packets(wire.queue_pkts);
    let rate = Rate::from_mbit_per_s(wire.mbit);
    let delay = Nanos::from_millis(wire.delay_ms);
    LinkSpec {
        loss: Probability::new(wire.loss).expect("a share"),
        jitter: Nanos::from_micros(wire.jitter_us),
        jitter_reorders: wire.is_reordering && wire.jitter_us > 0,
        duplicate: Probability::new(wire.duplicate).expect("a share"),
        queue: queue(wire.discipline, limit),
        ..LinkSpec::drop_tail(rate, delay, limit)
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
