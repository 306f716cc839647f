// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network against what can be worked out on paper.

mod common;

use common::Builder;
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use ebb_scenario::{ApplicationMeasure, Interval, NodeKind, Traffic};
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

/// A path that only loses: 1 Gbit/s, RTT 100 ms, this share of the data's packets lost.
fn lossy(loss: f64, seconds: u64) -> Builder {
    let mut builder = Builder::new(Nanos::from_secs(seconds));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let rate = Rate::from_mbit_per_s(1_000);
    let delay = Nanos::from_millis(50);
    let plain = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(10_000));
    let lossy = LinkSpec {
        loss: Probability::new(loss).unwrap(),
        ..plain.clone()
    };
    let there = builder.link(hosts[0], hosts[1], lossy);
    let back = builder.link(hosts[1], hosts[0], plain);
    builder.flow(Traffic::Greedy, &[there], &[back]);
    builder
}

#[test]
fn reno_sends_as_fast_under_random_loss_as_padhye_and_others_say() {
    // Packets per second: 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32p^2)).
    // b = 1: Reno counts the segments that an acknowledgement brings, not the
    // acknowledgements. T0 is srtt + 200 ms.
    let (rtt, t0) = (0.1_f64, 0.3_f64);
    for (loss, seconds) in [
        (0.0005_f64, 2_000),
        (0.002, 1_000),
        (0.01, 1_000),
        (0.03, 1_000),
    ] {
        let outcome = run(&lossy(loss, seconds).scenario, Options::default()).unwrap();
        let measure = &outcome.flows[0].measures[0];
        let rate = measure.sent_pkts as f64 / seconds as f64;
        let timeouts = t0 * (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0) * loss;
        let formula =
            1.0 / (rtt * (2.0 * loss / 3.0).sqrt() + timeouts * (1.0 + 32.0 * loss * loss));
        let ratio = rate / formula;
        assert!(
            (0.8..1.25).contains(&ratio),
            "loss {loss}: {rate:.1}/s, formula {formula:.1}/s"
        );
    }
}

#[test]
fn two_reno_flows_come_to_the_same_rate_whoever_was_first() {
    let mut builder = Builder::new(Nanos::from_secs(400));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let spec = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(10),
        Nanos::from_millis(20),
        QueueLimit::Packets(33),
    );
    let there = builder.link(hosts[0], hosts[1], spec.clone());
    let back = builder.link(hosts[1], hosts[0], spec);
    builder.flow(Traffic::Greedy, &[there], &[back]);
    builder.flow(Traffic::Greedy, &[there], &[back]).start = Nanos::from_secs(30);
    builder.scenario.intervals = [("first", 31, 34), ("last", 100, 400)]
        .map(|(name, from, to)| Interval {
            name: name.to_owned(),
            from: Nanos::from_secs(from),
            to: Nanos::from_secs(to),
        })
        .to_vec();
    let outcome = run(&builder.scenario, Options::default()).unwrap();
    let jain = |interval: usize| {
        let rates = [0, 1].map(|flow| outcome.flows[flow].measures[interval].goodput_bits_per_s);
        let sum: f64 = rates.iter().sum();
        sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>())
    };
    assert!(jain(1) > 0.98, "{}", jain(1));
    assert!(jain(0) < jain(1), "{} {}", jain(0), jain(1));
}
