// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each condition of a rule, judged by packets that pass: what it is for is held, and what it is not
//! for leaves as it came.

mod support;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;
use std::time::{Duration, Instant};

use ebb_gateway::{Gateway, MAX_RULES, Rule, Subject, judge};
use ebb_host::testing::requires_root;
use support::{Segment, everything, gateway, receive, shake_hands};

/// Fields of the differentiated services byte (RFC 8622, section 4; RFC 2474, section 4.2.2.2).
const LE: u8 = 1 << 2;
const CS1: u8 = 8 << 2;
const EF: u8 = 46 << 2;
const BYTES: usize = 1_448;

/// The least window of a connection, of so many segments each.
fn least(gateway: &Gateway, segment: &mut Segment, segments: usize) -> u16 {
    let granted = (0..segments).map(|_| receive(gateway, segment, BYTES));
    granted.min().unwrap()
}

fn is_held(gateway: &Gateway, mut segment: Segment) -> bool {
    shake_hands(gateway, &segment);
    least(gateway, &mut segment, 50) < segment.window
}

fn from(client: impl Into<IpAddr>) -> Segment {
    Segment {
        client: client.into(),
        ..Segment::of(4000)
    }
}

fn to(remote: impl Into<IpAddr>) -> Segment {
    Segment {
        remote: remote.into(),
        ..Segment::of(4001)
    }
}

fn marked(traffic_class: u8) -> Segment {
    Segment {
        traffic_class,
        ..Segment::of(4002 + u16::from(traffic_class))
    }
}

fn over_ipv6(network: u16, client_port: u16) -> Segment {
    let address = |last| IpAddr::V6(Ipv6Addr::new(network, 0, 0, 0, 0, 0, 0, last));
    Segment {
        client: address(1),
        remote: address(2),
        ..Segment::of(client_port)
    }
}

#[test]
fn a_rule_is_for_what_meets_its_condition_and_for_nothing_else() {
    let name = "a_rule_is_for_what_meets_its_condition_and_for_nothing_else";
    if !requires_root(name) {
        return;
    }
    let some = |text: &str| Some(text.parse().unwrap());
    let rule = |change: &dyn Fn(&mut Rule)| {
        let mut rule = everything();
        change(&mut rule);
        rule
    };
    let ipv4 = |a, b, c, d| Ipv4Addr::new(a, b, c, d);
    let cases: [(&str, Rule, Vec<Segment>, Vec<Segment>); 9] = [
        (
            "client",
            rule(&|it| it.client = some("192.168.7.0/28")),
            vec![from(ipv4(192, 168, 7, 15))],
            vec![from(ipv4(192, 168, 7, 16)), over_ipv6(0xfd07, 4500)],
        ),
        (
            "client, IPv6",
            rule(&|it| it.client = some("fd07::/16")),
            vec![over_ipv6(0xfd07, 4501)],
            vec![over_ipv6(0xfd08, 4502), from(ipv4(192, 168, 7, 15))],
        ),
        (
            "client, all of IPv6",
            rule(&|it| it.client = some("::/0")),
            vec![over_ipv6(0xfd07, 4503)],
            vec![from(ipv4(192, 168, 7, 15))],
        ),
        (
            "client, IPv4 as IPv6 has it",
            rule(&|it| it.client = some("::ffff:192.168.7.0/124")),
            vec![from(ipv4(192, 168, 7, 15))],
            vec![from(ipv4(192, 168, 7, 16)), over_ipv6(0xfd07, 4505)],
        ),
        (
            "remote, all of IPv4",
            rule(&|it| it.remote = some("0.0.0.0/0")),
            vec![from(ipv4(192, 168, 7, 15))],
            vec![over_ipv6(0xfd07, 4504)],
        ),
        (
            "remote",
            rule(&|it| it.remote = some("198.51.100.0/25")),
            vec![to(ipv4(198, 51, 100, 127))],
            vec![to(ipv4(198, 51, 100, 128))],
        ),
        (
            "port",
            rule(&|it| it.ports = Some("440-443".parse().unwrap())),
            vec![Segment::of(4100)],
            vec![],
        ),
        (
            "another port",
            rule(&|it| it.ports = Some("80".parse().unwrap())),
            vec![],
            vec![Segment::of(443)],
        ),
        (
            "DSCP",
            rule(&|it| it.code_points = ["LE", "CS1"].map(|it| it.parse().unwrap()).to_vec()),
            vec![marked(LE), marked(CS1)],
            vec![marked(0), marked(EF)],
        ),
    ];
    for (what, rule, meant, others) in cases {
        let gateway = gateway(&[rule], 65_536);
        for segment in meant {
            let ends = (segment.client, segment.remote);
            assert!(is_held(&gateway, segment), "{what}: {ends:?} is left alone");
        }
        for segment in others {
            let ends = (segment.client, segment.remote);
            assert!(!is_held(&gateway, segment), "{what}: {ends:?} is held");
        }
    }
}

#[test]
fn a_client_is_known_by_its_address_of_ethernet() {
    if !requires_root("a_client_is_known_by_its_address_of_ethernet") {
        return;
    }
    for (mac, is_meant) in [("02:00:00:00:00:01", true), ("02:00:00:00:00:02", false)] {
        let rule = Rule {
            mac: Some(mac.parse().unwrap()),
            ..everything()
        };
        let gateway = gateway(&[rule], 65_536);
        assert_eq!(is_held(&gateway, Segment::of(4200)), is_meant, "{mac}");
    }
}

#[test]
fn of_several_rules_the_first_counts() {
    if !requires_root("of_several_rules_the_first_counts") {
        return;
    }
    let excepted = Rule {
        client: Some("192.168.7.20".parse().unwrap()),
        is_background: false,
        ..Rule::default()
    };
    let rules = [excepted, everything()];
    let gateway = gateway(&rules, 65_536);
    assert!(!is_held(&gateway, from(Ipv4Addr::new(192, 168, 7, 20))));
    assert!(is_held(&gateway, from(Ipv4Addr::new(192, 168, 7, 21))));
}

#[test]
fn bulk_is_what_has_moved_so_much_and_nothing_before() {
    if !requires_root("bulk_is_what_has_moved_so_much_and_nothing_before") {
        return;
    }
    let segments = 100;
    let rule = Rule {
        bulk_bytes: (segments * BYTES) as u64,
        ..everything()
    };
    let gateway = gateway(&[rule], 65_536);
    let mut segment = Segment::of(4300);
    shake_hands(&gateway, &segment);
    let own = segment.window;
    assert_eq!(least(&gateway, &mut segment, segments - 1), own);
    assert!(least(&gateway, &mut segment, 50) < own);
}

/// `docs/gateway.md` says: without a pause of ten seconds.
#[test]
fn bulk_that_pauses_for_ten_seconds_begins_anew() {
    if !requires_root("bulk_that_pauses_for_ten_seconds_begins_anew") {
        return;
    }
    const SEGMENTS: usize = 100;
    const PAUSE: Duration = Duration::from_secs(10);
    let rule = Rule {
        bulk_bytes: (SEGMENTS * BYTES) as u64,
        ..everything()
    };
    let gateway = gateway(&[rule], 65_536);
    let mut segments = [4301, 4302].map(Segment::of);
    let own = segments[0].window;
    for segment in &mut segments {
        shake_hands(&gateway, segment);
        assert_eq!(least(&gateway, segment, SEGMENTS - 1), own);
        assert!(least(&gateway, segment, 50) < own);
    }
    let [paused, going] = &mut segments;
    // Five seconds are no pause, unless the machine makes one of them.
    let mut moved = Instant::now();
    thread::sleep(PAUSE / 2);
    assert!(least(&gateway, going, 50) < own || moved.elapsed() >= PAUSE);
    moved = Instant::now();
    thread::sleep(PAUSE / 2 + Duration::from_millis(500));
    assert_eq!(least(&gateway, paused, SEGMENTS - 1), own);
    assert!(least(&gateway, paused, 50) < own);
    assert!(least(&gateway, going, 50) < own || moved.elapsed() >= PAUSE);
}

#[test]
fn there_is_room_for_sixty_four_rules_and_the_last_one_counts() {
    if !requires_root("there_is_room_for_sixty_four_rules_and_the_last_one_counts") {
        return;
    }
    let rule = |number: usize| Rule {
        client: format!("192.168.7.{}", number + 1).parse().ok(),
        ..everything()
    };
    let mut rules: Vec<Rule> = (0..MAX_RULES).map(rule).collect();
    let mut gateway = gateway(&rules, 65_536);
    assert!(is_held(&gateway, from(Ipv4Addr::new(192, 168, 7, 64))));
    assert!(!is_held(&gateway, from(Ipv4Addr::new(192, 168, 7, 65))));
    rules.push(rule(MAX_RULES));
    let error = gateway.set_rules(&rules).unwrap_err().to_string();
    assert!(error.contains("65") && error.contains("64"), "{error}");
    assert!(is_held(&gateway, from(Ipv4Addr::new(192, 168, 7, 1))));
}

#[test]
fn who_asks_hears_of_a_namespace_that_cannot_be_looked_into() {
    let rules = |namespace: &str| {
        [Rule {
            namespace: Some(namespace.to_owned()),
            ..everything()
        }]
    };
    let subject = Subject {
        client: Ipv4Addr::new(192, 168, 7, 10).into(),
        remote: Ipv4Addr::new(198, 51, 100, 7).into(),
        remote_port: 443,
        mac: None,
        interface: None,
        code_point: None,
        mark: 0,
        moved_bytes: 0,
    };
    // It can be opened, and not entered: as one's own without root.
    let error = judge(&rules("/dev/null"), &subject)
        .unwrap_err()
        .to_string();
    assert!(error.contains("network namespace /dev/null"), "{error}");
    let verdict = judge(&rules("/nonexistent"), &subject).unwrap();
    assert_eq!(verdict.rule, None);
}
