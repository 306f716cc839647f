// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of flows that share, as they are written, and what people are told about mistakes.
use std::path::Path;

use ebb_link::Nanos;
use ebb_scenario::{Scenario, Setting};
use ebb_sharing::{NO_BOUND, Preferences};

const RIGHT: &str = r#"duration = "60s"
[bottleneck]
rate = "1mbit"
delay = "50ms"
queue = 50
[[flow]]
name = "film"
[[flow]]
name = "bulk"
count = 2
[[flow]]
name = "noise"
kind = "udp"
rate = "100kbit"
[[sharing]]
name = "home"
start = "10s"
flows.film = { minimum = "450kbit", priority = 1 }
flows.bulk = { weight = 3 }
[[sharing.change]]
at = "30s"
flows.bulk-2 = { minimum = "all" }
"#;

fn read(text: &str) -> Scenario {
    Scenario::parse("try.toml", text, Path::new("")).unwrap()
}

/// What is said when `right` is replaced by `wrong`.
fn told(right: &str, wrong: &str) -> String {
    assert!(RIGHT.contains(right), "{right} is not in the text");
    let text = RIGHT.replacen(right, wrong, 1);
    match Scenario::parse("try.toml", &text, Path::new("")) {
        Ok(_) => panic!("no mistake was found in\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_group_has_flows_with_preferences_that_change() {
    let scenario = read(RIGHT);
    let group = &scenario.sharing[0];
    let wanted = |weight, minimum_bits_per_s, priority| Preferences {
        weight,
        minimum_bits_per_s,
        priority,
    };
    let of = |shares: &[ebb_scenario::Share]| -> Vec<(u32, Preferences)> {
        let pair = |share: &ebb_scenario::Share| (share.flow, share.preferences);
        shares.iter().map(pair).collect()
    };
    let (film, bulk) = (wanted(1, 450_000, 1), wanted(3, 0, 0));
    assert_eq!(of(&group.shares), [(0, film), (1, bulk), (2, bulk)]);
    let later = wanted(3, NO_BOUND, 0);
    assert_eq!(group.changes[0].at, Nanos::from_secs(30));
    assert_eq!(
        of(&group.changes[0].shares),
        [(0, film), (1, bulk), (2, later)]
    );
    assert_eq!(
        (group.start, group.stop, group.period),
        (Nanos::from_secs(10), None, Nanos::from_secs(1))
    );
}

#[test]
fn flows_that_share_are_under_the_law_rate_and_no_others() {
    let scenario = read(RIGHT);
    let receivers: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| flow.receiver.as_deref())
        .collect();
    let rate = Some("rate:slack_x1024=51");
    assert_eq!(receivers, [rate, rate, rate, None]);
}

#[test]
fn the_scenario_survives_its_result_file() {
    let scenario = read(RIGHT);
    let text = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&text).unwrap(), scenario);
}

#[test]
fn values_of_a_group_can_be_set() {
    let settings: Vec<Setting> = ["sharing.home.start=60s", "sharing.*.flows.film.weight=7"]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    let scenario = read(&Setting::apply_all(&settings, RIGHT).unwrap());
    let group = &scenario.sharing[0];
    assert_eq!(group.start, Nanos::from_secs(60));
    assert_eq!(group.shares[0].preferences.weight, 7);
}

#[test]
fn an_unknown_flow_is_answered_with_the_nearest() {
    assert_eq!(
        told("flows.film", "flows.fiml"),
        "\
try.toml:18:14: [[sharing]] home: `flows.fiml`: there is no `fiml`; did you mean `film`?
 18 | flows.fiml = { minimum = \"450kbit\", priority = 1 }
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
}

#[test]
fn an_unknown_preference_is_answered_with_the_nearest() {
    let told = told("weight = 3", "wieght = 3");
    let start =
        "try.toml:19:16: [[sharing]] flows.bulk: `wieght`: unknown key; did you mean `weight`?";
    assert!(told.starts_with(start), "{told}");
}

#[test]
fn a_minimum_without_a_unit_is_answered_with_examples() {
    assert_eq!(
        told("\"450kbit\"", "450"),
        "\
try.toml:18:26: [[sharing]] flows.film: `minimum`: the unit is missing; write it like \
\"10mbit\" or \"500kbit\" (bits per second), \"all\" (as much as there is), or 0
 18 | flows.film = { minimum = 450, priority = 1 }
                               ^^^"
    );
}

#[test]
fn flows_that_cannot_be_held_are_refused_by_name() {
    let cases = [
        (
            "flows.bulk = ",
            "flows.noise = {}\nflows.bulk = ",
            "`flows.noise`: a flow without TCP cannot be held",
        ),
        (
            "name = \"film\"",
            "name = \"film\"\nkind = \"web\"",
            "`flows.film`: a flow of kind `web` has many connections",
        ),
        (
            "name = \"film\"",
            "name = \"film\"\nreceiver = \"vulture\"",
            "`flows.film`: it has receiver = \"vulture\"; flows that share are held by the law `rate`",
        ),
        (
            "name = \"film\"",
            "name = \"film\"\nclass = \"lbe\"\nduring = [\"1s\", \"2s\"]",
            "`flows.film`: the group says when it is held; take `during` away",
        ),
        (
            "flows.bulk = ",
            "flows.bulk-1 = {}\nflows.bulk = ",
            "`flows.bulk`: it is named twice",
        ),
        (
            "[[sharing.change]]",
            "[[sharing]]\nname = \"away\"\nflows.film = {}\n[[sharing.change]]",
            "`flows.film`: it is in the group `home` already",
        ),
    ];
    for (right, wrong, expected) in cases {
        let told = told(right, wrong);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn groups_without_what_they_need_say_what_that_is() {
    let cases = [
        (
            "name = \"home\"\n",
            "",
            "`name` is missing; write name = \"home\"",
        ),
        (
            "start = \"10s\"",
            "start = \"61s\"",
            "begins at 61s; the run ends at 60s",
        ),
        ("start = \"10s\"", "stop = \"0\"", "`stop`"),
        (
            "start = \"10s\"",
            "period = \"1ms\"",
            "`period`: 1ms is too short",
        ),
        (
            "start = \"10s\"",
            "policy = \"vulture\"",
            "held by the law 'rate'",
        ),
        (
            "start = \"10s\"",
            "weight = 3",
            "belongs to a flow; write flows.NAME = { weight = … }",
        ),
        (
            "at = \"30s\"",
            "at = \"61s\"",
            "must be after what comes before, 0s, and before 60s",
        ),
        (
            "flows.bulk-2 =",
            "flows.noise =",
            "it is not among the `flows` of the group",
        ),
        (
            "flows.film = { minimum = \"450kbit\", priority = 1 }\nflows.bulk = { weight = 3 }\n",
            "",
            "`flows` is missing; write flows.NAME = { weight = 1 } for each",
        ),
        (
            "flows.bulk = { weight = 3 }",
            "flows.bulk = 3",
            "a table is needed, like { weight = 2",
        ),
        ("weight = 3", "weight = -1", "`weight`"),
        ("[[sharing]]", "[sharing]", "double brackets"),
    ];
    for (right, wrong, expected) in cases {
        let told = told(right, wrong);
        assert!(told.contains(expected), "{wrong}: {told}");
    }
}

#[test]
fn flows_of_different_receivers_are_no_group() {
    let text = r#"duration = "60s"
hosts = ["a", "b", "c", "d"]
routers = ["r"]
[[link]]
from = "a"
to = "r"
[[link]]
from = "b"
to = "r"
[[link]]
from = "r"
to = "c"
[[link]]
from = "r"
to = "d"
[[flow]]
name = "one"
from = "a"
to = "c"
[[flow]]
name = "two"
from = "b"
to = "d"
[[sharing]]
name = "home"
flows.one = {}
flows.two = {}
"#;
    let error = Scenario::parse("try.toml", text, Path::new("")).unwrap_err();
    let expected =
        "[[sharing]] home: `flows`: they have neither a host to go to nor a link in common";
    assert!(error.to_string().contains(expected), "{error}");
}
