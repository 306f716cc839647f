// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network against what can be worked out on paper.

mod common;

use common::Builder;
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{ApplicationMeasure, NodeKind, Traffic};
use ebb_simulator::applications::Poisson;
use ebb_simulator::{Observer, Options, PacketBody, PacketRecord, Point, run, run_applications};

/// When each UDP packet arrived.
#[derive(Default)]
struct Arrivals(Vec<(u64, Nanos)>);

impl Observer for Arrivals {
    fn on_packet(&mut self, record: &PacketRecord) {
        if let (Point::Arrived, PacketBody::Udp(datagram)) = (record.point, record.body) {
            self.0.push((datagram.number, record.at));
        }
    }
}

#[test]
fn adds_transmission_and_propagation_of_three_hops_to_the_nanosecond() {
    let mut builder = Builder::new(Nanos::from_millis(30));
    let nodes = [
        NodeKind::Host,
        NodeKind::Router,
        NodeKind::Router,
        NodeKind::Host,
    ]
    .map(|kind| builder.node(kind));
    let plenty = QueueLimit::Packets(100);
    // 1500 bytes take 12 000, 1 200 000 and 120 000 ns.
    let hops = [(1_000, 7_001), (10, 5_000_003), (100, 11)];
    let mut path = Vec::new();
    let mut back = Vec::new();
    for (hop, (mbit, delay)) in hops.into_iter().enumerate() {
        let spec = LinkSpec::drop_tail(Rate::from_mbit_per_s(mbit), Nanos(delay), plenty);
        path.push(builder.link(nodes[hop], nodes[hop + 1], spec.clone()));
        back.insert(0, builder.link(nodes[hop + 1], nodes[hop], spec));
    }
    // 20 Mbit/s: a packet each 600 000 ns, twice what the second hop carries.
    let traffic = Traffic::Udp {
        rate: Rate::from_mbit_per_s(20),
        packet_bytes: 1_500,
    };
    builder.flow(traffic, &path, &back).start = Nanos(123);
    let mut arrivals = Arrivals::default();
    let options = Options {
        observer: Some(&mut arrivals),
        ..Options::default()
    };
    run(&builder.scenario, options).unwrap();
    let first = 123 + 12_000 + 7_001 + 1_200_000 + 5_000_003 + 120_000 + 11;
    let expected: Vec<_> = (0..arrivals.0.len() as u64)
        .map(|number| (number, Nanos(first + number * 1_200_000)))
        .collect();
    assert_eq!(arrivals.0.len(), 20);
    assert_eq!(arrivals.0, expected);
}

#[test]
fn waits_as_long_as_the_formula_of_pollaczek_and_khinchine_says() {
    // M/D/1 at load 0.8, service 1 ms (1250 bytes at 10 Mbit/s): the mean waiting time is
    // load / (2 (1 - load)) * service = 2 ms.
    let batches = 10;
    let batch = Nanos::from_secs(100);
    let mut means = Vec::new();
    for seed in 0..batches {
        let mut builder = Builder::new(batch);
        let nodes = [NodeKind::Host, NodeKind::Host].map(|kind| builder.node(kind));
        let rate = Rate::from_mbit_per_s(10);
        let spec = LinkSpec::drop_tail(rate, Nanos::ZERO, QueueLimit::Packets(100_000));
        let there = builder.link(nodes[0], nodes[1], spec.clone());
        let back = builder.link(nodes[1], nodes[0], spec);
        builder.report(there);
        let traffic = Traffic::Udp {
            rate: Rate::from_mbit_per_s(8),
            packet_bytes: 1_250,
        };
        builder.flow(traffic, &[there], &[back]);
        builder.scenario.seed = seed;
        let source = Box::new(Poisson::new(Rate::from_mbit_per_s(8), 1_250));
        let (outcome, _) =
            run_applications(&builder.scenario, vec![source], Options::default()).unwrap();
        let measure = &outcome.links[0].measures[0];
        assert!(measure.best_effort.dropped_pkts == 0);
        means.push(measure.queue_delay_ms.mean);
        let Some(ApplicationMeasure::Udp {
            delay_ms,
            lost_pkts,
        }) = &outcome.flows[0].measures[0].application
        else {
            panic!("UDP measures its delay");
        };
        // What waits is also what delays, beyond 1 ms of transmission.
        assert!((delay_ms.mean - 1.0 - measure.queue_delay_ms.mean).abs() < 0.001);
        assert_eq!(*lost_pkts, 0);
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (means.len() - 1) as f64;
    let standard_error = (variance / means.len() as f64).sqrt();
    // Student's t for 9 degrees of freedom at 99.9 %: 4.78.
    assert!(
        (mean - 2.0).abs() < 4.78 * standard_error,
        "{mean} +- {standard_error}"
    );
    assert!(standard_error < 0.05, "{standard_error}");
}
