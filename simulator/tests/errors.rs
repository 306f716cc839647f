// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What cannot be run is refused with a message that helps.

mod common;

use common::{Builder, Dumbbell, DumbbellFlow};
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{NodeKind, Scenario, Traffic};
use ebb_simulator::{Error, Options, run, run_applications};

fn scenario() -> Scenario {
    Dumbbell {
        rate: Rate::from_mbit_per_s(10),
        rtt: Nanos::from_millis(20),
        queue: QueueLimit::Packets(20),
        access: Rate::from_mbit_per_s(100),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(1),
        flows: vec![DumbbellFlow::greedy("reno")],
        buffer_bytes: 1 << 20,
    }
    .scenario()
}

fn message(scenario: &Scenario) -> String {
    run(scenario, Options::default()).unwrap_err().to_string()
}

#[test]
fn names_the_flow_whose_path_has_a_gap_or_ends_elsewhere() {
    let mut gap = scenario();
    gap.flows[0].path.remove(1);
    assert_eq!(
        message(&gap),
        "flow 'flow-0': its path has a gap: links must follow each other"
    );
    let mut short = scenario();
    short.flows[0].return_path.pop();
    assert!(message(&short).contains("does not lead from the one host to the other"));
    let mut empty = scenario();
    empty.flows[0].path.clear();
    assert!(message(&empty).contains("flow 'flow-0'"));
}

#[test]
fn names_the_flow_whose_policy_is_unknown_and_the_link_that_contradicts_itself() {
    let mut unknown = scenario();
    unknown.flows[0].sender = "cubik".to_owned();
    let text = message(&unknown);
    assert!(
        text.starts_with("flow 'flow-0': ") && text.contains("cubic"),
        "{text}"
    );
    let mut link = scenario();
    link.links[0].spec = LinkSpec {
        jitter_reorders: true,
        ..link.links[0].spec.clone()
    };
    assert!(
        message(&link).starts_with("link 'link-0': "),
        "{}",
        message(&link)
    );
}

#[test]
fn refuses_bins_without_length_and_applications_without_flows() {
    let mut bins = scenario();
    bins.bin = Nanos::ZERO;
    assert!(message(&bins).contains("take longer bins"));
    let error = run_applications(&scenario(), Vec::new(), Options::default()).unwrap_err();
    assert!(matches!(
        error,
        Error::Applications {
            flows: 1,
            applications: 0
        }
    ));
}

#[test]
fn notices_packets_that_run_around_in_no_time() {
    let mut builder = Builder::new(Nanos::from_secs(1));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let there = builder.link(hosts[0], hosts[1], LinkSpec::default());
    let back = builder.link(hosts[1], hosts[0], LinkSpec::default());
    builder.flow(Traffic::Greedy, &[there], &[back]);
    let text = message(&builder.scenario);
    assert!(
        text.contains("no progress at 0s") && text.contains("a rate or a delay"),
        "{text}"
    );
}
