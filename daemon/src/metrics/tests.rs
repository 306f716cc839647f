// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::ledger::{Counts, Looks, Totals};
use crate::snapshot::{GatewayRuleSeen, GatewaySeen};
use ebb_keeper::gateway::Counters;
use serde_json::json;

fn rule(name: &str, state: State) -> RuleSeen {
    let mut queue = QueueSeen::default();
    (queue.counts[2], queue.counts[10]) = (3, 1);
    queue.sum_us = 4_000_000;
    RuleSeen {
        name: name.to_owned(),
        file: "/etc/ebb/\"odd\"\\ \n.toml".into(),
        state,
        policy: "ebb:target_us=9000".to_owned(),
        upload_policy: None,
        minimum: Some("2mbit".to_owned()),
        weight: Some(3),
        flows: Vec::new(),
        totals: Totals {
            counts: Counts {
                received_bytes: 5_000_000_000_000,
                received_segments: 7,
                sent_bytes: 11,
                connections: 13,
                lapsed: 17,
                without_memory: 19,
                multipath: 23,
                local: 29,
                running: 31,
            },
            looks: [
                Looks {
                    held_back: Duration::from_millis(1_500),
                    queue,
                },
                Looks::default(),
            ],
            errors: 37,
        },
    }
}

/// Both ways of one connection, as a gateway tells of it.
fn both_ways() -> Vec<FlowView> {
    let way = |(cookie, direction)| {
        let told = json!({
            "cookie": cookie, "direction": direction, "local": "192.168.7.2:5000",
            "peer": "198.51.100.7:443", "law": "ebb", "payload_bytes": 1, "window_bytes": 2896,
            "rtt_us": null, "queue_us": null, "mode": "grow", "reason": "", "is_acting": true,
        });
        serde_json::from_value(told).unwrap()
    };
    [(1, "down"), (2, "up")].map(way).into()
}

fn gateway(name: &str) -> GatewaySeen {
    let rules = ["console", "what is \"large\""];
    GatewaySeen {
        name: name.to_owned(),
        file: format!("/etc/ebb/{name}.toml").into(),
        policy: "ebb".to_owned(),
        is_off: name == "guests",
        interfaces: vec![("br-lan".to_owned(), true), ("wlan0".to_owned(), false)],
        counters: Counters {
            connections: 41,
            without_scale: 43,
            without_room: 47,
            quic_bytes: 53,
            fragments: 59,
            ..Counters::default()
        },
        rules: (rules.into_iter())
            .map(|rule_name| GatewayRuleSeen {
                gateway: name.to_owned(),
                name: rule_name.to_owned(),
                flows: match (name, rule_name) {
                    ("guests", "console") => both_ways(),
                    _ => Vec::new(),
                },
                totals: rule("any", State::On).totals,
            })
            .collect(),
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        at_unix_s: 1_795_600_100.0,
        began_unix_s: 1_795_600_000.25,
        rules: vec![
            rule("backup", State::On),
            rule("apt.daily-1_x", State::Off),
            rule("broken", State::Failed),
        ],
        gateways: vec![gateway("home"), gateway("guests")],
        mistaken_files: 2,
        reloads: 3,
        refused_reloads: 4,
        by_hand: [("run", 2), ("cgroup", 1)].into(),
    }
}

#[test]
fn everything_is_told_as_the_standard_has_it() {
    let samples = strict::read(&text(&Arc::new(snapshot())));
    let expected = [
        ("ebb_start_time_seconds{}", 1_795_600_000.25),
        ("ebb_mistaken_files{}", 2.0),
        ("ebb_reloads_total{outcome=done}", 3.0),
        ("ebb_reloads_total{outcome=refused}", 4.0),
        ("ebb_by_hand{kind=run}", 2.0),
        ("ebb_rule_in_force{rule=backup}", 1.0),
        ("ebb_rule_in_force{rule=apt.daily-1_x}", 1.0),
        ("ebb_rule_in_force{rule=broken}", 0.0),
        ("ebb_rule_switched_off{rule=backup}", 0.0),
        ("ebb_rule_switched_off{rule=apt.daily-1_x}", 1.0),
        ("ebb_rule_errors_total{rule=broken}", 37.0),
        (
            "ebb_rule_payload_bytes_total{rule=backup,direction=down}",
            5e12,
        ),
        (
            "ebb_rule_payload_bytes_total{rule=backup,direction=up}",
            11.0,
        ),
        (
            "ebb_rule_held_back_seconds_total{rule=backup,direction=down}",
            1.5,
        ),
        (
            "ebb_rule_held_back_seconds_total{rule=backup,direction=up}",
            0.0,
        ),
        (
            "ebb_rule_queueing_delay_seconds_sum{rule=backup,direction=down}",
            4.0,
        ),
        (
            "ebb_rule_queueing_delay_seconds_count{rule=backup,direction=down}",
            4.0,
        ),
        (
            "ebb_rule_queueing_delay_seconds_bucket{le=0.002,rule=backup,direction=down}",
            0.0,
        ),
        (
            "ebb_rule_queueing_delay_seconds_bucket{le=0.005,rule=backup,direction=down}",
            3.0,
        ),
        (
            "ebb_rule_queueing_delay_seconds_bucket{le=1.0,rule=backup,direction=down}",
            3.0,
        ),
        ("ebb_rule_connections_total{rule=backup}", 13.0),
        (
            "ebb_gateway_interface_in_force{gateway=home,interface=br-lan}",
            1.0,
        ),
        (
            "ebb_gateway_interface_in_force{gateway=home,interface=wlan0}",
            0.0,
        ),
        ("ebb_gateway_switched_off{gateway=home}", 0.0),
        ("ebb_gateway_switched_off{gateway=guests}", 1.0),
        ("ebb_gateway_connections_total{gateway=home}", 41.0),
        (
            "ebb_gateway_left_alone_total{gateway=home,reason=scale}",
            43.0,
        ),
        (
            "ebb_gateway_left_alone_total{gateway=home,reason=room}",
            47.0,
        ),
        ("ebb_gateway_quic_bytes_total{gateway=home}", 53.0),
        ("ebb_gateway_fragments_total{gateway=home}", 59.0),
        (
            "ebb_gateway_rule_payload_bytes_total{gateway=guests,rule=console,direction=down}",
            5e12,
        ),
        (
            "ebb_gateway_rule_held_back_seconds_total{gateway=home,rule=console,direction=down}",
            1.5,
        ),
        (
            "ebb_gateway_rule_queueing_delay_seconds_sum{gateway=home,rule=console,direction=down}",
            4.0,
        ),
        (
            "ebb_gateway_rule_connections_total{gateway=home,rule=console}",
            13.0,
        ),
        (
            "ebb_gateway_rule_open_connections{gateway=home,rule=console}",
            0.0,
        ),
        (
            "ebb_gateway_rule_open_connections{gateway=guests,rule=console}",
            1.0,
        ),
        (
            "ebb_gateway_rule_failures_open_total{gateway=home,rule=console}",
            17.0,
        ),
        ("ebb_rule_open_connections{rule=backup}", 0.0),
        ("ebb_rule_failures_open_total{rule=backup}", 17.0),
        ("ebb_rule_left_alone_total{rule=backup,reason=memory}", 19.0),
        (
            "ebb_rule_left_alone_total{rule=backup,reason=multipath}",
            23.0,
        ),
        ("ebb_rule_left_alone_total{rule=backup,reason=local}", 29.0),
        (
            "ebb_rule_left_alone_total{rule=backup,reason=running}",
            31.0,
        ),
    ];
    for (name, value) in expected {
        assert_eq!(samples.get(name), Some(&value), "{name}: {samples:#?}");
    }
    let about = "ebb_rule_info{rule=backup,file=/etc/ebb/\"odd\"\\ \n.toml,\
                 policy=ebb:target_us=9000,upload_policy=none,minimum=2mbit,weight=3}";
    assert_eq!(samples.get(about), Some(&1.0), "{samples:#?}");
}

/// The names of metrics in a text, as they are there.
fn names_in(text: &str) -> BTreeSet<&str> {
    let is_sign = |sign: char| sign.is_ascii_lowercase() || sign == '_' || sign.is_ascii_digit();
    let words = text.split(|sign| !is_sign(sign));
    let is_name = |word: &&str| word.len() > "ebb_".len() && word.starts_with("ebb_");
    words.filter(is_name).collect()
}

/// The names of samples that are told.
fn told() -> BTreeSet<String> {
    let samples = strict::read(&text(&Arc::new(snapshot())));
    let names = samples.keys().map(|name| name.split('{').next().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn everything_that_the_dashboard_asks_for_is_told() {
    let told = told();
    let dashboard = include_str!("../../../packaging/grafana/ebb.json");
    let asked = names_in(dashboard);
    assert!(asked.len() > 10, "{asked:?}");
    for name in asked {
        assert!(told.contains(name), "{name}: {told:?}");
    }
}

#[test]
fn everything_that_is_told_is_explained_on_the_page_for_administrators() {
    let page = include_str!("../../../docs/administration.md");
    let explained = names_in(page);
    let told = told();
    // The page has a histogram once.
    let histogram = "_queueing_delay_seconds";
    let bare = |name: &str| match name.split_once(histogram) {
        Some((prefix, _)) => format!("{prefix}{histogram}"),
        None => name.to_owned(),
    };
    let told: BTreeSet<String> = told.iter().map(|name| bare(name)).collect();
    assert_eq!(explained, told.iter().map(String::as_str).collect());
}

#[test]
fn without_any_rule_the_text_is_whole_too() {
    let samples = strict::read(&text(&Arc::default()));
    assert!(samples.keys().all(|name| !name.starts_with("ebb_rule")));
}

#[test]
fn what_is_no_openmetrics_is_found() {
    let right = "# HELP a x\n# TYPE a counter\na_total 1\n# EOF\n";
    strict::read(right);
    for (part, wrong) in [
        ("# EOF\n", ""),
        ("# EOF", "# EOF\n# EOF"),
        ("a_total 1", "a 1"),
        ("a_total 1", "a_total NaN"),
        ("a_total 1", "a_total 1\na_total 1"),
        ("a_total 1", "a_total 1 1600000000"),
        ("a_total 1", "a_total{b=\"c} 1"),
        ("a_total 1", "a_total 1\n"),
        ("# TYPE a counter\n", ""),
        ("# HELP a x\n", ""),
        ("# HELP a x\n", "# HELP a x\n# UNIT a seconds\n"),
    ] {
        let text = right.replacen(part, wrong, 1);
        let read = std::panic::catch_unwind(|| strict::read(&text));
        assert!(read.is_err(), "{text}");
    }
}
