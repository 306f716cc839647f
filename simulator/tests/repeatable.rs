// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same scenario and seed give the same bytes, and other laws meet the same traffic.

mod common;

use std::cell::Cell;

use common::{Builder, Dumbbell, DumbbellFlow};
use ebb_link::{LinkSpec, Nanos, Probability, QueueLimit, Rate};
use ebb_scenario::{NodeKind, Scenario, Traffic};
use ebb_simulator::applications::{Greedy, Poisson};
use ebb_simulator::{
    Application, End, Observer, Options, PacketBody, PacketRecord, Point, run, run_applications,
};

/// Greedy and fixed flows, UDP, random loss, jitter that reorders, random starts.
fn busy(law: &str) -> Scenario {
    let mut flows = vec![DumbbellFlow::greedy(law); 5];
    flows[3].traffic = Traffic::Fixed { bytes: 300_000 };
    flows[4].traffic = Traffic::Udp {
        rate: Rate::from_mbit_per_s(2),
        packet_bytes: 700,
    };
    let mut scenario = Dumbbell {
        rate: Rate::from_mbit_per_s(10),
        rtt: Nanos::from_millis(40),
        queue: QueueLimit::Packets(30),
        access: Rate::from_mbit_per_s(100),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(10),
        flows,
        buffer_bytes: 1 << 20,
    }
    .scenario();
    let bottleneck = &mut scenario.links[0].spec;
    bottleneck.loss = Probability::new(0.002).unwrap();
    bottleneck.jitter = Nanos::from_millis(2);
    bottleneck.jitter_reorders = true;
    for flow in &mut scenario.flows {
        flow.start_spread = Nanos::from_millis(500);
    }
    scenario.bin = Nanos::from_millis(100);
    scenario
}

fn bytes(scenario: &Scenario, number: u32) -> String {
    let options = Options {
        run: number,
        ..Options::default()
    };
    serde_json::to_string(&run(scenario, options).unwrap()).unwrap()
}

#[test]
fn gives_the_same_bytes_twice_and_on_any_number_of_threads() {
    let scenario = busy("cubic");
    let alone: Vec<String> = (0..4).map(|number| bytes(&scenario, number)).collect();
    assert_eq!(bytes(&scenario, 0), alone[0]);
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn({
                    let scenario = &scenario;
                    move || bytes(scenario, number)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(together, alone);
}

#[test]
fn gives_other_bytes_with_another_seed() {
    let scenario = busy("cubic");
    let strip = |text: String| text.split_once("\"flows\"").unwrap().1.to_owned();
    assert_ne!(strip(bytes(&scenario, 0)), strip(bytes(&scenario, 1)));
}

#[test]
fn does_not_notice_that_it_is_observed() {
    struct Nobody(u64);
    impl Observer for Nobody {
        fn on_packet(&mut self, _record: &PacketRecord) {
            self.0 += 1;
        }
    }
    let scenario = busy("reno");
    let mut nobody = Nobody(0);
    let options = Options {
        observer: Some(&mut nobody),
        ..Options::default()
    };
    let observed = serde_json::to_string(&run(&scenario, options).unwrap()).unwrap();
    assert_eq!(observed, bytes(&scenario, 0));
    assert!(nobody.0 > 10_000);
}

/// When UDP packets and the first segments of connections were sent.
#[derive(Default, PartialEq, Debug)]
struct Draws {
    datagrams: Vec<(Nanos, u64)>,
    starts: Vec<(Nanos, usize)>,
}

impl Observer for Draws {
    fn on_packet(&mut self, record: &PacketRecord) {
        match record.body {
            PacketBody::Udp(datagram) if record.point == Point::Sent => {
                self.datagrams.push((record.at, datagram.number));
            }
            PacketBody::Tcp { .. }
                if (record.point, record.from) == (Point::Sent, End::Source)
                    && self.starts.iter().all(|(_, flow)| *flow != record.flow) =>
            {
                self.starts.push((record.at, record.flow));
            }
            _ => {}
        }
    }
}

fn draws(law: &str) -> Draws {
    let mut builder = Builder::new(Nanos::from_secs(5));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let spec = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(10),
        Nanos::from_millis(10),
        QueueLimit::Packets(20),
    );
    let there = builder.link(hosts[0], hosts[1], spec.clone());
    let back = builder.link(hosts[1], hosts[0], spec);
    let mut applications: Vec<Box<dyn Application>> = Vec::new();
    for _ in 0..3 {
        let flow = builder.flow(Traffic::Greedy, &[there], &[back]);
        flow.sender = law.to_owned();
        flow.start_spread = Nanos::from_secs(1);
        applications.push(Box::new(Greedy::default()));
    }
    builder.flow(Traffic::Greedy, &[there], &[back]);
    let rate = Rate::from_mbit_per_s(2);
    applications.push(Box::new(Poisson::new(rate, 500)));
    let mut draws = Draws::default();
    let options = Options {
        observer: Some(&mut draws),
        ..Options::default()
    };
    run_applications(&builder.scenario, applications, options).unwrap();
    draws
}

#[test]
fn lets_another_law_meet_the_same_traffic() {
    let reno = draws("reno");
    assert!(reno.datagrams.len() > 2_000);
    assert_eq!(reno.starts.len(), 3);
    assert_eq!(reno, draws("cubic"));
}

#[test]
fn who_may_give_a_run_up_gets_the_same_bytes_and_nothing_of_one_given_up() {
    let scenario = busy("ledbat++");
    let asked = Cell::new(0);
    let give_up_after = |limit: u32| {
        asked.set(0);
        let is_stopped = || asked.replace(asked.get() + 1) >= limit;
        let options = Options {
            is_stopped: Some(&is_stopped),
            ..Options::default()
        };
        run(&scenario, options)
    };
    let whole = give_up_after(u32::MAX).unwrap();
    assert_eq!(serde_json::to_string(&whole).unwrap(), bytes(&scenario, 0));
    assert_eq!(asked.get(), 1000);
    let error = give_up_after(500).unwrap_err();
    assert_eq!(error.to_string(), "given up at 5s");
}
