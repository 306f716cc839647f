// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `ebb` law when a route becomes longer, there and back, and the link is idle; and when a
//! queue of others looks like one.
use std::path::Path;

use ebb_scenario::Scenario;
use ebb_simulator::Options;

fn judged(changes: &str, flows: &str, from_s: u32) -> Vec<f64> {
    let text = format!(
        "duration = \"140s\"\n[measure]\njudged = [\"{from_s}s\", \"end\"]\n[bottleneck]\nrate = \"10mbit\"\n\
         rtt = \"50ms\"\nqueue = \"4bdp\"\n{changes}\n\
         [[flow]]\nname = \"mine\"\nclass = \"lbe\"\nreceiver = \"ebb\"\n{flows}"
    );
    let scenario = Scenario::parse("route.toml", &text, Path::new("")).unwrap();
    let outcome = ebb_simulator::run(&scenario, Options::default()).unwrap();
    let flows = outcome.flows.iter();
    let rates = flows.map(|flow| flow.measures[0].goodput_bits_per_s / 1e6);
    rates.collect()
}

#[test]
fn ebb_has_the_idle_link_again_within_half_a_minute() {
    // Between the target and the point where others are suspected, the base has to grow old.
    for (delay, from_s) in [("30ms", 80), ("40ms", 50), ("80ms", 50), ("250ms", 55)] {
        let route = format!("reroute = [{{ at = \"20s\", delay = \"{delay}\" }}]");
        let rate = judged(&route, "", from_s)[0];
        println!("{delay}: {rate:.2} Mbit/s");
        assert!(rate > 9.0, "{delay}: {rate}");
    }
}

#[test]
fn a_route_that_becomes_short_again_is_used_at_once() {
    let route =
        "reroute = [{ at = \"20s\", delay = \"80ms\" }, { at = \"70s\", delay = \"10ms\" }]";
    let rate = judged(route, "", 72)[0];
    assert!(rate > 9.3, "{rate}");
}

#[test]
fn a_sender_with_a_fixed_window_loses_what_the_target_holds() {
    let other = "[[flow]]\nname = \"other\"\nstart = \"10s\"\ntcp.receive_buffer = \"200kB\"\n";
    let rates = judged("", other, 15);
    println!("mine {:.3}, other {:.3} Mbit/s", rates[0], rates[1]);
    assert!(rates[1] > 9.25, "{}", rates[1]);
}
