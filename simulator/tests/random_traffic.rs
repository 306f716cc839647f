// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random parking lots with all kinds of traffic in both directions, looked at packet by
//! packet: what is sent, acknowledged and advertised keeps TCP's rules, packets are neither
//! made nor forgotten, nothing stalls, queues keep their limits, time never runs back.

mod common;
#[path = "random_traffic/watcher.rs"]
mod watcher;
#[path = "common/wires.rs"]
mod wires;

use common::Builder;
use ebb_algorithms::Side;
use ebb_link::{LinkSpec, Nanos, QueueLimit, QueueSpec, Rate};
use ebb_scenario::{
    Call, Connections, Draw, LinkId, NodeKind, Scenario, TcpOptions, TcpProfile, Traffic, Video,
    Web,
};
use ebb_simulator::{Options, run};
use proptest::prelude::*;
use watcher::Watcher;
use wires::{Wire, laws, spec, wire};

/// Flows stop here, or before.
const LAST_STOP: Nanos = Nanos::from_secs(6);
/// Whatever was written is there by now, even if it was sent 64 bytes at a time and each
/// time-out took seconds.
const END: Nanos = Nanos::from_secs(20_000);

#[derive(Clone, Debug)]
struct Source {
    traffic: Traffic,
    sender: &'static str,
    receiver: Option<&'static str>,
    profile: TcpProfile,
    has_ecn: bool,
    /// The router at which it enters, how far it goes, and which way.
    first: usize,
    hops: usize,
    is_backwards: bool,
    start_ms: u64,
    stop_ms: u64,
}

fn rate() -> impl Strategy<Value = Rate> {
    (1_u32..5_000)
        .prop_map(|kbit| Rate::from_bits_per_s(u64::from(kbit) * 1_000).expect("above zero"))
}

fn some_time() -> impl Strategy<Value = Nanos> {
    (20_u64..2_000).prop_map(Nanos::from_millis)
}

fn web() -> impl Strategy<Value = Traffic> {
    let connections = prop_oneof![Just(Connections::PerObject), Just(Connections::Persistent)];
    (1_u32..3, 1_u32..6, 1_u64..60_000, connections, 1_u32..4).prop_map(
        |(sessions, objects, mean, connections, parallel)| {
            Traffic::Web(Web {
                sessions,
                objects,
                object_bytes: Draw::Pareto {
                    mean,
                    shape: 1.5,
                    max: Some(500_000),
                },
                request_bytes: 300,
                think: Draw::Exponential { mean: 300_000_000 },
                waits: true,
                object_gap: Draw::Constant(5_000_000),
                connections,
                parallel,
            })
        },
    )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        3 => Just(Traffic::Greedy),
        2 => (1_u64..300_000).prop_map(|bytes| Traffic::Fixed { bytes }),
        2 => (rate(), 1_u32..20_000).prop_map(
            |(rate, write_bytes)| Traffic::Constant {
                rate,
                write_bytes,
                backlog_bytes: None,
            }
        ),
        2 => (some_time(), some_time(), any::<bool>())
            .prop_map(|(on, off, reconnect)| Traffic::OnOff { on, off, reconnect }),
        2 => web(),
        1 => (rate(), 200_u32..1_500).prop_map(|(rate, packet_bytes)| Traffic::Video(Video {
            rate,
            packet_bytes,
            pre_buffer: vec![Nanos::from_secs(1)],
        })),
        1 => (rate(), 60_u32..1_500)
            .prop_map(|(rate, packet_bytes)| Traffic::Udp { rate, packet_bytes }),
        1 => (rate(), some_time(), 60_u32..1_500).prop_map(|(rate, period, packet_bytes)| {
            Traffic::UdpSquareWave { rate, low_rate: None, period, packet_bytes }
        }),
        1 => any::<bool>().prop_map(|is_two_way| Traffic::Call(Call {
            interval: Nanos::from_millis(20),
            packet_bytes: 200,
            is_two_way,
            late_after: Nanos::from_millis(150),
        })),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    (
        traffic(),
        laws(Side::Sender),
        prop::option::of(laws(Side::Receiver)),
        prop::sample::select(vec![TcpProfile::Linux, TcpProfile::Paper]),
        any::<bool>(),
        (0_usize..4, 1_usize..5, any::<bool>()),
        (0_u64..3_000, 100_u64..3_000),
    )
        .prop_map(
            |(
                traffic,
                sender,
                receiver,
                profile,
                has_ecn,
                (first, hops, is_backwards),
                (start_ms, length_ms),
            )| Source {
                traffic,
                sender,
                receiver,
                profile,
                has_ecn,
                first,
                hops,
                is_backwards,
                start_ms,
                stop_ms: start_ms + length_ms,
            },
        )
}

/// Routers in a row, each with links of its own to the hosts of the flows that enter or
/// leave there.
fn parking_lot(wires: &[Wire], sources: &[Source], seed: u64) -> Scenario {
    let mut builder = Builder::new(END);
    let mut routers = vec![builder.node(NodeKind::Router)];
    let mut pairs: Vec<(LinkId, LinkId)> = Vec::new();
    for wire in wires {
        let (last, next) = (routers[pairs.len()], builder.node(NodeKind::Router));
        let pair = (
            builder.link(last, next, spec(wire)),
            builder.link(next, last, spec(wire)),
        );
        builder.report(pair.0);
        builder.report(pair.1);
        pairs.push(pair);
        routers.push(next);
    }
    let access = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(100),
        Nanos::from_millis(1),
        QueueLimit::Packets(10_000),
    );
    for source in sources {
        let first = source.first % pairs.len();
        let last = (first + source.hops).min(pairs.len());
        let [from, to] = [first, last].map(|place| {
            let host = builder.node(NodeKind::Host);
            let up = builder.link(host, routers[place], access.clone());
            (up, builder.link(routers[place], host, access.clone()))
        });
        let there = pairs[first..last].iter().map(|pair| pair.0);
        let back = pairs[first..last].iter().rev().map(|pair| pair.1);
        let mut path: Vec<LinkId> = [from.0].into_iter().chain(there).chain([to.1]).collect();
        let mut back: Vec<LinkId> = [to.0].into_iter().chain(back).chain([from.1]).collect();
        if source.is_backwards {
            std::mem::swap(&mut path, &mut back);
        }
        let flow = builder.flow(source.traffic.clone(), &path, &back);
        flow.sender = source.sender.to_owned();
        flow.receiver = source.receiver.map(str::to_owned);
        flow.start = Nanos::from_millis(source.start_ms);
        flow.stop = Some(Nanos::from_millis(source.stop_ms).min(LAST_STOP));
        flow.tcp = TcpOptions {
            has_ecn: source.has_ecn,
            ..TcpOptions::of(source.profile)
        };
    }
    builder.scenario.seed = seed;
    builder.scenario
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn all_traffic_keeps_the_rules_packet_by_packet(
        mut wires in prop::collection::vec(wire(), 1..4),
        sources in prop::collection::vec(source(), 1..6),
        seed in any::<u64>(),
    ) {
        for wire in &mut wires {
            // Fast links only cost time here.
            wire.mbit = wire.mbit.min(20);
        }
        let scenario = parking_lot(&wires, &sources, seed);
        let mut watcher = Watcher::new(sources.len());
        let outcome = run(&scenario, Options { observer: Some(&mut watcher), ..Options::default() })
            .unwrap();
        let doubles = wires.iter().any(|wire| wire.duplicate > 0.0);
        for (number, (flow, source)) in outcome.flows.iter().zip(&sources).enumerate() {
            let measure = &flow.measures[0];
            watcher.check_conservation(number, doubles);
            if source.traffic.is_tcp() {
                let delivered = watcher.check_streams(number);
                prop_assert_eq!(measure.delivered_bytes, delivered, "{:?}", source);
                let new_bytes = measure.sent_bytes - measure.retransmitted_bytes;
                prop_assert_eq!(new_bytes, delivered, "each byte is new once: {:?}", source);
            }
        }
        let reported = scenario.links.iter().filter(|link| link.is_reported);
        for (link, result) in reported.zip(&outcome.links) {
            let QueueLimit::Packets(limit) = link.spec.queue.limit() else {
                unreachable!("all limits here are of packets");
            };
            let queues = match link.spec.queue {
                QueueSpec::StrictPriority { .. } => 2,
                _ => 1,
            };
            prop_assert!(result.measures[0].max_queue_pkts <= Some(queues * limit));
        }
    }
}
