// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The figures of an outcome fit together.

mod common;

use common::{Builder, Dumbbell, DumbbellFlow};
use ebb_link::{Class, LinkSpec, Nanos, Probability, QueueLimit, Rate};
use ebb_scenario::{ApplicationMeasure, Interval, NodeKind, Outcome, Traffic};
use ebb_simulator::{Observer, Options, PacketRecord, Point, run};

fn interval(name: &str, from: u64, to: u64) -> Interval {
    Interval {
        name: name.to_owned(),
        from: Nanos::from_millis(from),
        to: Nanos::from_millis(to),
    }
}

/// Two flows over a queue that drops and a wire that loses, in the whole and in parts.
fn outcome() -> Outcome {
    let mut scenario = Dumbbell {
        rate: Rate::from_mbit_per_s(10),
        rtt: Nanos::from_millis(30),
        queue: QueueLimit::Packets(20),
        access: Rate::from_mbit_per_s(100),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(10),
        flows: vec![DumbbellFlow::greedy("cubic"), DumbbellFlow::greedy("reno")],
        buffer_bytes: 1 << 20,
    }
    .scenario();
    scenario.links[0].spec.loss = Probability::new(0.001).unwrap();
    scenario.flows[1].class = Class::LessThanBestEffort;
    scenario.bin = Nanos::from_millis(300);
    scenario.intervals = vec![
        interval("all", 0, 10_000),
        interval("first", 0, 3_333),
        interval("rest", 3_333, 10_000),
    ];
    run(&scenario, Options::default()).unwrap()
}

#[test]
fn parts_of_a_run_add_up_to_the_whole() {
    let outcome = outcome();
    for flow in &outcome.flows {
        let [all, first, rest] = &flow.measures[..] else {
            panic!("three intervals");
        };
        assert!(all.delivered_bytes > 1_000_000 && all.lost_pkts > Some(0));
        assert_eq!(
            all.delivered_bytes,
            first.delivered_bytes + rest.delivered_bytes
        );
        assert_eq!(all.sent_pkts, first.sent_pkts + rest.sent_pkts);
        let lost = [all, first, rest].map(|part| part.lost_pkts.unwrap());
        assert_eq!(lost[0], lost[1] + lost[2]);
        assert_eq!(all.rtt_ms.count, first.rtt_ms.count + rest.rtt_ms.count);
        assert_eq!(all.rtt_ms.max, first.rtt_ms.max.max(rest.rtt_ms.max));
        let seconds = all.delivered_bytes as f64 * 8.0 / all.goodput_bits_per_s;
        assert!((seconds - 10.0).abs() < 1e-9);
    }
    for (series, flow) in outcome.series.flows.iter().zip(&outcome.flows) {
        // 33 bins of 300 ms and one of 100 ms.
        assert_eq!(series.goodput_bits_per_s.len(), 34);
        let bits: f64 = series.goodput_bits_per_s[..33].iter().sum::<f64>() * 0.3
            + series.goodput_bits_per_s[33] * 0.1;
        let bytes = flow.measures[0].delivered_bytes as f64;
        assert!((bits / 8.0 - bytes).abs() < 1.0, "{bits} {bytes}");
    }
}

#[test]
fn what_a_link_was_offered_left_it_or_was_dropped_or_lost_or_is_on_it() {
    let outcome = outcome();
    let all = &outcome.links[0].measures[0];
    let classes = [&all.best_effort, &all.less_than_best_effort];
    let gone =
        classes.map(|class| class.delivered_pkts + class.dropped_pkts + class.lost_pkts.unwrap());
    let offered = classes.map(|class| class.offered_pkts);
    for (class, gone) in offered.iter().zip(gone) {
        // 21 at the bottleneck, 15 ms of 1.2 ms each behind it.
        assert!((0..=34).contains(&(class - gone)), "{class} {gone}");
    }
    // Queue and wire are the only places where the flows lose packets.
    for (flow, class) in outcome.flows.iter().zip(classes) {
        let lost = class.lost_pkts.map(|lost| class.dropped_pkts + lost);
        assert_eq!(flow.measures[0].lost_pkts, lost);
    }
    assert!(all.utilisation.unwrap() > 0.9 && all.utilisation.unwrap() <= 1.0);
    assert_eq!(all.max_queue_pkts, Some(20));
}

#[test]
fn every_packet_that_was_sent_arrives_or_is_lost_before_the_observer() {
    #[derive(Default)]
    struct Count([u64; 3]);
    impl Observer for Count {
        fn on_packet(&mut self, record: &PacketRecord) {
            self.0[record.point as usize] += 1;
        }
    }
    let mut builder = Builder::new(Nanos::from_secs(20));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let spec = LinkSpec {
        loss: Probability::new(0.02).unwrap(),
        ..LinkSpec::drop_tail(
            Rate::from_mbit_per_s(5),
            Nanos::from_millis(5),
            QueueLimit::Packets(8),
        )
    };
    let there = builder.link(hosts[0], hosts[1], spec.clone());
    let back = builder.link(hosts[1], hosts[0], spec);
    let traffic = Traffic::Fixed { bytes: 500_000 };
    builder.flow(traffic, &[there], &[back]);
    let udp = Traffic::Udp {
        rate: Rate::from_mbit_per_s(2),
        packet_bytes: 400,
    };
    builder.flow(udp, &[there], &[back]).stop = Some(Nanos::from_secs(10));
    let mut count = Count::default();
    let options = Options {
        observer: Some(&mut count),
        ..Options::default()
    };
    let outcome = run(&builder.scenario, options).unwrap();
    let [sent, arrived, lost] =
        [Point::Sent, Point::Arrived, Point::Lost].map(|point| count.0[point as usize]);
    assert_eq!(sent, arrived + lost);
    let measure = &outcome.flows[1].measures[0];
    let Some(ApplicationMeasure::Udp {
        delay_ms,
        lost_pkts,
    }) = &measure.application
    else {
        panic!("UDP measures itself");
    };
    // 400 bytes at 2 Mbit/s: one each 1.6 ms, for 10 s.
    assert_eq!(measure.sent_pkts, 6_250);
    assert_eq!(delay_ms.count + lost_pkts, 6_250);
    assert_eq!(measure.delivered_bytes, delay_ms.count * 372);
    assert!(outcome.flows[0].completion_s.is_some());
}
