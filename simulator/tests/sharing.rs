// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows that share what a host receives, packet by packet.
use std::path::Path;

use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::{Options, run};

/// Three downloads over 1 Mbit/s, 960 bytes of payload in packets of 1000 and timestamps of 12:
/// 948 kbit/s of payload.
const THREE: &str = r#"
sender = "reno"
tcp = { profile = "paper", timestamps = "1ms", receive_buffer = "60kB" }
[bottleneck]
rate = "1mbit"
rtt = "100ms"
queue = 40
[[flow]]
name = "s0"
[[flow]]
name = "s1"
start = "300ms"
[[flow]]
name = "s2"
start = "700ms"
"#;

fn outcome(head: &str, tail: &str) -> Outcome {
    let text = format!("{THREE}{tail}").replacen("[bottleneck]", &format!("{head}[bottleneck]"), 1);
    let scenario = Scenario::parse("try.toml", &text, Path::new("")).unwrap();
    run(&scenario, Options::default()).unwrap()
}

/// *Units:* kbit/s.
fn goodputs(outcome: &Outcome, interval: usize) -> Vec<u64> {
    let goodput = |flow: &ebb_scenario::FlowOutcome| flow.measures[interval].goodput_bits_per_s;
    let flows = outcome.flows.iter();
    flows
        .map(|flow| (goodput(flow) / 1e3).round() as u64)
        .collect()
}

/// Within 5 % of the link.
fn assert_near(goodputs: &[u64], kbit: &[u64]) {
    let is_near = |(goodput, kbit): (&u64, &u64)| goodput.abs_diff(*kbit) <= 50;
    assert!(
        goodputs.iter().zip(kbit).all(is_near),
        "{goodputs:?}, not {kbit:?}"
    );
}

#[test]
fn weights_hold_and_then_minima_by_priority() {
    let outcome = outcome(
        "duration = \"300s\"\n[measure]\nweights = [\"60s\", \"150s\"]\nminima = [\"200s\", \"300s\"]\n",
        r#"
[[sharing]]
name = "home"
flows.s0 = { weight = 1, priority = 3 }
flows.s1 = { weight = 2, priority = 2 }
flows.s2 = { weight = 3, priority = 1 }
[[sharing.change]]
at = "150s"
flows.s0.minimum = "600kbit"
flows.s1.minimum = "600kbit"
flows.s2.minimum = "600kbit"
"#,
    );
    assert_near(&goodputs(&outcome, 0), &[158, 316, 474]);
    assert_near(&goodputs(&outcome, 1), &[600, 348, 0]);
}

#[test]
fn flows_are_free_before_the_group_begins_and_after_it_ends() {
    let outcome = outcome(
        "duration = \"300s\"\n[measure]\nbefore = [\"20s\", \"100s\"]\nduring = [\"130s\", \
         \"200s\"]\nafter = [\"220s\", \"300s\"]\n",
        "[[sharing]]\nname = \"home\"\nstart = \"100s\"\nstop = \"200s\"\n\
         flows.s0 = { weight = 8 }\nflows.s1 = {}\nflows.s2 = {}\n",
    );
    let free = [goodputs(&outcome, 0), goodputs(&outcome, 2)];
    assert!(free.iter().all(|goodputs| goodputs[0] < 500), "{free:?}");
    assert_near(&goodputs(&outcome, 1), &[758, 95, 95]);
}

#[test]
fn a_flow_that_comes_and_goes_is_shared_with_while_it_is_there() {
    let outcome = outcome(
        "duration = \"240s\"\n[measure]\ntwo = [\"40s\", \"80s\"]\nthree = [\"120s\", \"160s\"]\n\
         again = [\"200s\", \"240s\"]\n",
        "[[flow]]\nname = \"guest\"\nstart = \"80s\"\nstop = \"160s\"\n[[sharing]]\nname = \"home\"\n\
         flows.s0 = { weight = 4 }\nflows.s1 = {}\nflows.s2 = {}\nflows.guest = { weight = 6 }\n",
    );
    assert_near(&goodputs(&outcome, 0), &[632, 158, 158, 0]);
    assert_near(&goodputs(&outcome, 1), &[316, 79, 79, 474]);
    assert_near(&goodputs(&outcome, 2), &[632, 158, 158, 0]);
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let json = || {
        let outcome = outcome(
            "duration = \"60s\"\n",
            "[[sharing]]\nname = \"home\"\nflows.s0 = { weight = 2 }\nflows.s1 = {}\n",
        );
        serde_json::to_string(&outcome).unwrap()
    };
    assert_eq!(json(), json());
}

#[test]
fn a_group_of_a_flow_under_another_law_is_refused() {
    let text =
        format!("duration = \"60s\"\n{THREE}[[sharing]]\nname = \"home\"\nflows.s0 = {{}}\n");
    let mut scenario = Scenario::parse("try.toml", &text, Path::new("")).unwrap();
    scenario.flows[0].receiver = Some("vulture".into());
    let error = run(&scenario, Options::default()).unwrap_err().to_string();
    let expected = "sharing 'home': vulture: flows that share are held by the law 'rate'";
    assert!(error.starts_with(expected), "{error}");
    scenario.sharing[0].shares[0].flow = 9;
    let error = run(&scenario, Options::default()).unwrap_err().to_string();
    assert_eq!(error, "sharing 'home': there is no flow 9");
}
