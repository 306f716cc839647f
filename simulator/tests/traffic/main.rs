// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traffic of people, and what they notice.

#[path = "../common/mod.rs"]
mod common;

mod call;
mod on_off;
mod video;
mod web;

use common::Builder;
use ebb_link::{LinkSpec, Nanos};
use ebb_scenario::{ApplicationMeasure, NodeKind, Outcome, Scenario, Traffic};
use ebb_simulator::{Options, run};

/// Two hosts with a link each way, one flow of this traffic, one interval.
fn between_two_hosts(there: LinkSpec, back: LinkSpec, traffic: Traffic, length: Nanos) -> Scenario {
    let mut builder = Builder::new(length);
    let nodes = [NodeKind::Host, NodeKind::Host].map(|kind| builder.node(kind));
    let there = builder.link(nodes[0], nodes[1], there);
    let back = builder.link(nodes[1], nodes[0], back);
    builder.report(there);
    builder.flow(traffic, &[there], &[back]);
    builder.scenario
}

fn outcome(scenario: &Scenario) -> Outcome {
    run(scenario, Options::default()).expect("the scenario is right")
}

/// What the application of the first flow saw in an interval.
fn seen(outcome: &Outcome, interval: usize) -> ApplicationMeasure {
    let measure = &outcome.flows[0].measures[interval];
    measure.application.clone().expect("it measures")
}
