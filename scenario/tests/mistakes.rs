// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What people are told about typical mistakes, word for word.

#[path = "mistakes/links.rs"]
mod links;

use std::path::Path;

use ebb_scenario::Scenario;

/// A scenario without mistakes, in parts to be replaced.
const RIGHT: &str = r#"duration = "60s"
sender = "reno"
[bottleneck]
rate = "10mbit"
delay = "50ms"
queue = 86
[[flow]]
name = "be"
"#;

/// What is said when `right` is replaced by `wrong`.
fn told(right: &str, wrong: &str) -> String {
    assert!(RIGHT.contains(right), "{right} is not in the text");
    told_of(&RIGHT.replacen(right, wrong, 1))
}

fn told_of(text: &str) -> String {
    match Scenario::parse("try.toml", text, Path::new("/nowhere")) {
        Ok(_) => panic!("no mistake was found in\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_text_that_mistakes_are_made_in_has_none() {
    Scenario::parse("try.toml", RIGHT, Path::new("")).unwrap();
}

#[test]
fn flows_may_be_left_out_but_not_all_of_them() {
    let both = format!("{RIGHT}count = 0\n[[flow]]\nname = \"lbe\"\n");
    let scenario = Scenario::parse("try.toml", &both, Path::new("")).unwrap();
    let names: Vec<_> = scenario.flows.iter().map(|flow| &flow.name).collect();
    assert_eq!(names, ["lbe"]);
    assert_eq!(
        told("name = \"be\"", "name = \"be\"\ncount = 0"),
        "\
try.toml:9:9: [[flow]] be: `count`: no flow is left; at least one has to be there
 9 | count = 0
             ^"
    );
}

#[test]
fn a_misspelt_key_is_answered_with_the_nearest_one() {
    assert_eq!(
        told("rate =", "rat ="),
        "\
try.toml:3:1: [bottleneck]: `rate` is missing; write rate = \"10mbit\", or trace = \"FILE\"
 3 | [bottleneck]
     ^^^^^^^^^^^^
try.toml:4:1: [bottleneck]: `rat`: unknown key; did you mean `rate`?
 4 | rat = \"10mbit\"
     ^^^"
    );
}

#[test]
fn a_host_that_would_wait_too_long_is_refused() {
    assert_eq!(
        told(
            "name = \"be\"",
            "name = \"be\"\ntcp = { receive_offload = \"1s\" }"
        ),
        "\
try.toml:9:27: [tcp]: `receive_offload`: is longer than 50ms, the most that a host waits
 9 | tcp = { receive_offload = \"1s\" }
                               ^^^^"
    );
}

#[test]
fn a_missing_unit_is_answered_with_examples() {
    assert_eq!(
        told("\"50ms\"", "50"),
        "\
try.toml:5:9: [bottleneck]: `delay`: the unit is missing; write it like \"50ms\", \"1.5s\" or \
\"200us\"
 5 | delay = 50
             ^^"
    );
    assert_eq!(
        told("\"10mbit\"", "\"10\""),
        "\
try.toml:4:8: [bottleneck]: `rate`: `10`: the unit is missing; write it like 10mbit, 1.5gbit or \
500kbit (bits per second)
 4 | rate = \"10\"
            ^^^^"
    );
}

#[test]
fn bits_and_bytes_are_told_apart() {
    let told = told("10mbit", "10mbps");
    assert!(
        told.contains("bits and bytes are confused here; write it like 10mbit"),
        "{told}"
    );
}

#[test]
fn an_unknown_law_is_answered_with_the_nearest_and_all() {
    let told = told("name = \"be\"", "name = \"be\"\nreceiver = \"vultur\"");
    let start = "\
try.toml:9:12: [[flow]] be: `receiver`: no law is called 'vultur' (did you mean 'vulture'?); \
there are: ebb, vulture";
    assert!(told.starts_with(start), "{told}");
}

#[test]
fn a_law_of_the_other_end_is_refused() {
    let told = told("sender = \"reno\"", "sender = \"ebb\"");
    let start = "\
try.toml:2:10: `sender`: ebb is a receiver law, and a sender law is needed here; there are: ";
    assert!(told.starts_with(start), "{told}");
}

#[test]
fn an_unknown_parameter_of_a_law_is_answered_with_the_nearest() {
    let told = told(
        "name = \"be\"",
        "name = \"be\"\nreceiver = \"ebb:taget_us=5000\"",
    );
    assert!(
        told.contains("law 'ebb' has no parameter 'taget_us' (did you mean 'target_us'?)"),
        "{told}"
    );
}

#[test]
fn a_key_of_another_kind_of_traffic_says_which() {
    assert_eq!(
        told("name = \"be\"", "name = \"be\"\nperiod = \"3s\""),
        "\
try.toml:9:1: [[flow]] be: `period`: belongs to flows of kind `on-off`, `udp-square-wave`; \
this one is `greedy`
 9 | period = \"3s\"
     ^^^^^^"
    );
    assert_eq!(
        told(
            "name = \"be\"",
            "name = \"be\"\nkind = \"call\"\nreceiver = \"ebb\""
        ),
        "\
try.toml:10:1: [[flow]] be: `receiver`: a flow of kind `call` has no TCP connection
 10 | receiver = \"ebb\"
      ^^^^^^^^"
    );
}

#[test]
fn what_is_always_fetched_needs_nobody_who_connects() {
    assert_eq!(
        told(
            "name = \"be\"",
            "name = \"be\"\nprograms = true\nconnects = \"sender\""
        ),
        "\
try.toml:10:12: [[flow]] be: `connects`: pages and real programs are always fetched: by the receiver
 10 | connects = \"sender\"
                 ^^^^^^^^"
    );
}

#[test]
fn an_unknown_node_is_answered_with_the_nearest() {
    let network = r#"duration = "60s"
sender = "reno"
hosts = ["server", "client"]
routers = ["north", "south"]
[[link]]
from = "server"
to = "nroth"
rate = "10mbit"
queue = 100
[[link]]
from = "south"
to = "client"
delay = "1ms"
[[flow]]
name = "be"
from = "server"
to = "north"
"#;
    assert_eq!(
        told_of(network),
        "\
try.toml:7:6: [[link]]: `to`: there is no `nroth`; did you mean `north`?
 7 | to = \"nroth\"
          ^^^^^^^
try.toml:17:6: [[flow]] be: `to`: `north` is a router; flows begin and end at hosts
 17 | to = \"north\"
           ^^^^^^^"
    );
    let apart = network.replace("nroth", "north");
    let (links, _) = apart.split_once("[[flow]]").unwrap();
    let apart = told_of(&format!(
        "{links}[[flow]]\nname = \"be\"\nfrom = \"server\"\nto = \"client\"\n"
    ));
    assert!(
        apart.contains("[[flow]] be: there is no way from `server` to `client`"),
        "{apart}"
    );
}

#[test]
fn values_out_of_range_are_answered_with_the_range() {
    assert_eq!(
        told("sender = \"reno\"", "runs = 0"),
        "\
try.toml:2:8: `runs`: 0 is out of range; it can be 1 to 100000
 2 | runs = 0
            ^"
    );
    let loss = told("queue = 86", "queue = 86\nloss = 2");
    assert!(
        loss.contains("[bottleneck]: `loss`: `2`: must be from 0 to 1"),
        "{loss}"
    );
}

#[test]
fn intervals_beyond_the_end_of_the_run_are_refused() {
    assert_eq!(
        told(
            "[bottleneck]",
            "[measure]\nlate = [\"45s\", \"90s\"]\n[bottleneck]"
        ),
        "\
try.toml:4:8: [measure]: `late`: ends at 90s, after the run, which takes 60s
 4 | late = [\"45s\", \"90s\"]
            ^^^^^^^^^^^^^^"
    );
}

#[test]
fn a_gateway_has_a_law_and_no_floor() {
    let told = |keys| {
        told(
            "name = \"be\"",
            &format!("name = \"be\"\ngateway = true\n{keys}"),
        )
    };
    let (no_law, floor) = (told(""), told("receiver = \"ebb\"\nminimum = \"1mbit\""));
    assert!(no_law.contains("`gateway`: has the windows by `receiver`, and none is given"));
    assert!(floor.contains("`minimum`: a gateway has no floor; take one of both away"));
}

#[test]
fn a_bottleneck_that_varies_says_what_it_needs() {
    for (rate, expected) in [
        (
            "rates = \"cell.rates\"",
            "`rates`: /nowhere/cell.rates: No such file",
        ),
        (
            "rate = \"10mbit\"\nrates = \"cell.rates\"",
            "`rates`: a link has a rate, a trace or rates, only one of them",
        ),
        (
            "rate = \"10mbit\"\nbucket = { rate = \"10mbit\", size = \"1MB\" }",
            "the rate of a token bucket must be below that of the link",
        ),
        (
            "rate = \"10mbit\"\nbucket = { rate = \"1mbit\" }",
            "[bucket]: `size` is missing; write size = \"3MB\"",
        ),
        (
            "rate = \"10mbit\"\naggregation = { overhead = \"200us\" }",
            "[aggregation]: `airtime` is missing; write airtime = \"4ms\"",
        ),
        (
            "rate = \"10mbit\"\naggregation = { overhead = 0, airtime = \"1ms\", packets = 0 }",
            "`packets`: 0 is out of range; it can be 1 to 65536",
        ),
    ] {
        let told = told("rate = \"10mbit\"", rate);
        assert!(told.contains(expected), "{rate}: {told}");
    }
}

#[test]
fn a_trace_that_is_not_there_is_named() {
    let told = told("rate = \"10mbit\"", "trace = \"cell.trace\"");
    let start = "\
try.toml:4:9: [bottleneck]: `trace`: /nowhere/cell.trace: No such file or directory";
    assert!(told.starts_with(start), "{told}");
}

#[test]
fn text_that_is_not_toml_is_answered_with_the_place() {
    let told = told("queue = 86", "queue = 86 packets");
    assert!(
        told.starts_with("try.toml:6:9: string values must be quoted"),
        "{told}"
    );
    assert!(told.contains("\n 6 | queue = 86 packets\n"), "{told}");
}

#[test]
fn two_flows_of_one_name_are_refused() {
    let told = told("name = \"be\"", "name = \"be\"\n[[flow]]\nname = \"be\"");
    assert!(
        told.contains("there are two flows `be`; `count` makes several of a kind"),
        "{told}"
    );
}

#[test]
fn a_flow_with_the_name_of_one_of_several_is_refused() {
    let told = told(
        "name = \"be\"",
        "name = \"be\"\ncount = 3\n[[flow]]\nname = \"be-2\"",
    );
    assert!(
        told.contains("[[flow]] be-2: `name`: there are two flows `be-2` then"),
        "{told}"
    );
}

#[test]
fn a_table_that_does_not_exist_is_answered_with_the_right_one() {
    let told = told("[[flow]]", "[[flows]]");
    assert!(
        told.contains("`flows`: unknown key here; write [[flow]], once for each"),
        "{told}"
    );
    assert!(
        told.contains("there is no flow; write [[flow]] with at least a name"),
        "{told}"
    );
}

#[test]
fn single_and_double_brackets_are_told_apart() {
    assert_eq!(
        told("[[flow]]", "[flow]"),
        "\
try.toml:7:1: there may be several; write [[flow]] with double brackets
 7 | [flow]
     ^^^^^^"
    );
    assert_eq!(
        told("[bottleneck]", "[[bottleneck]]"),
        "\
try.toml:3:1: `bottleneck`: there is only one; write [bottleneck] with single brackets
 3 | [[bottleneck]]
     ^^^^^^^^^^^^^^"
    );
}

#[test]
fn capitals_do_not_hide_the_nearest_name() {
    let told = told("name = \"be\"", "name = \"be\"\nclass = \"LBE\"");
    assert!(
        told.contains("`class`: there is no `LBE`; did you mean `lbe`?"),
        "{told}"
    );
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let told = told_of(
        &RIGHT
            .replace("60s", "60")
            .replace("86", "\"many\"")
            .replace("name", "nam"),
    );
    let lines: Vec<&str> = told
        .lines()
        .filter(|line| line.starts_with("try.toml"))
        .collect();
    let places: Vec<_> = lines
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "try.toml:1:12:",
            "try.toml:6:9:",
            "try.toml:7:1:",
            "try.toml:8:1:"
        ]
    );
}
