// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NewReno without SACK after a slow start that overshot by half a window.
use std::path::Path;

use ebb_scenario::Scenario;
use ebb_simulator::Options;

const SCENARIO: &str = "\
duration = \"20s\"
sender = \"reno\"
tcp = \"paper\"
[bottleneck]
rate = \"10mbit\"
rtt = \"48ms\"
queue = 156
[[flow]]
name = \"alone\"
";

#[test]
fn an_overshoot_that_loses_half_a_window_is_over_within_seconds() {
    let scenario = Scenario::parse("alone.toml", SCENARIO, Path::new("")).unwrap();
    let outcome = ebb_simulator::run(&scenario, Options::default()).unwrap();
    let flow = &outcome.flows[0].measures[0];
    // More than 200 of 430 segments are lost, and half of the window is less than what the
    // others leave in flight, so that duplicates never make room: RFC 6582 sends the first
    // all the same, and one more with each partial acknowledgement. That would take 200
    // round trips; but the timer is not restarted by the second and later of them, goes
    // off, and slow start sends the rest again.
    assert!(flow.lost_pkts.unwrap() > 200);
    assert!((1..=3).contains(&flow.timeouts), "{}", flow.timeouts);
    let used = outcome.links[0].measures[0].utilisation.unwrap();
    assert!(used > 0.85, "{used}");
}
