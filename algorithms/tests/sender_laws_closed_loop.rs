// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every sender law does on an ordinary path, whoever wrote it.

#[path = "support/sender_path/mod.rs"]
mod sender_path;

use ebb_algorithms::{Side, laws_of};
use sender_path::{Path, Plan, run};

#[test]
fn every_law_alone_uses_the_link() {
    for law in laws_of(Side::Sender) {
        let outcome = run(&Path::default(), &[Plan::greedy(law.name)], 60);
        let share = outcome.share(0, 20.0, 60.0);
        assert!(share > 0.85, "{}: {share}", law.name);
        assert_eq!(outcome.flows[0].timeouts, 0, "{}", law.name);
    }
}

#[test]
fn every_law_survives_a_path_that_loses_every_tenth_packet() {
    let path = Path {
        loss_every: Some(10),
        ..Path::default()
    };
    for law in laws_of(Side::Sender) {
        let outcome = run(&path, &[Plan::greedy(law.name)], 20);
        let received: u64 = outcome.flows[0].received_bytes[100..].iter().sum();
        assert!(received > 5_000, "{}: {received} bytes", law.name);
    }
}

#[test]
fn every_law_works_with_delayed_acknowledgements_and_without_timestamps() {
    let path = Path {
        ack_every: 2,
        tick_us: 0,
        ..Path::default()
    };
    for law in laws_of(Side::Sender) {
        let outcome = run(&path, &[Plan::greedy(law.name)], 60);
        let received: u64 = outcome.flows[0].received_bytes[300..].iter().sum();
        assert!(received > 1_000_000, "{}: {received} bytes", law.name);
    }
}

#[test]
fn the_same_run_gives_the_same_outcome() {
    for law in laws_of(Side::Sender) {
        let once = || run(&Path::default(), &[Plan::greedy(law.name)], 5);
        assert_eq!(once(), once(), "{}", law.name);
    }
}
