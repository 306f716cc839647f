// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All connections of a rule have one budget, each way; it stays the rule's wherever that stands.

mod support;

use ebb_gateway::{Flow, Gateway, Rule};
use ebb_host::testing::requires_root;
use support::{Segment, everything, gateway, shake_hands};

const MSS_BYTES: usize = 1448;

fn rule_for(client: &str) -> Rule {
    Rule {
        name: client.to_owned(),
        client: client.parse().ok(),
        ..everything()
    }
}

/// A connection of a client's begins, and receives so many segments.
fn download(gateway: &Gateway, client: &str, port: u16, segments: u32) -> Flow {
    let mut segment = Segment {
        client: client.parse().unwrap(),
        ..Segment::of(port)
    };
    shake_hands(gateway, &segment);
    gateway.renew();
    segment.pass(gateway);
    for _ in 0..segments {
        let data = Segment {
            is_from_client: false,
            seq: segment.ack,
            ack: segment.seq,
            payload: MSS_BYTES,
            ..segment.clone()
        };
        data.pass(gateway);
        segment.ack = segment.ack.wrapping_add(MSS_BYTES as u32);
        segment.pass(gateway);
    }
    flow_of(gateway, port)
}

fn flow_of(gateway: &Gateway, port: u16) -> Flow {
    let mut flows = gateway.flows().into_iter();
    flows.find(|flow| flow.client.port() == port).unwrap()
}

/// What the law answers comes first in its state.
fn wanted_bytes(flow: &Flow) -> u32 {
    u32::from_ne_bytes(flow.state[..4].try_into().unwrap())
}

#[test]
fn a_newcomer_has_its_part_of_its_rules_budget_and_of_no_others() {
    if !requires_root("a_newcomer_has_its_part_of_its_rules_budget_and_of_no_others") {
        return;
    }
    let rules = ["192.168.7.10", "192.168.7.11"].map(rule_for);
    let mut gateway = gateway(&rules, 4_096);
    let first = download(&gateway, "192.168.7.10", 2000, 100);
    let second = download(&gateway, "192.168.7.10", 2001, 0);
    let third = download(&gateway, "192.168.7.11", 2002, 0);
    let [all, part, other] = [&first, &second, &third].map(wanted_bytes);
    assert!(part <= all / 2, "{part} of {all}");
    assert!(
        other > part,
        "{other} beside {part}: nobody else is under its rule"
    );
    assert_eq!([first.rule, second.rule, third.rule], [0, 0, 1]);

    let [one, other] = rules;
    gateway.set_rules(&[other, one]).unwrap();
    let same = download(&gateway, "192.168.7.10", 2003, 1);
    assert_eq!(same.rule, 1);
    assert!(wanted_bytes(&same) <= all / 2, "{}", wanted_bytes(&same));
    let again = flow_of(&gateway, 2000);
    assert_eq!((again.rule, again.began_ns), (1, first.began_ns));
}
