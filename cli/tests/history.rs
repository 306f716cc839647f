// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of the service's rules: now, and in the last 24 hours.

mod support;

use ebb_kernel::requires_root;
use nix::sys::signal::Signal;
use serde_json::Value;
use support::serving::{BYTES, Scene};

#[test]
fn what_came_of_a_rule_is_in_the_history_however_often_the_service_begins_again() {
    let name = "what_came_of_a_rule_is_in_the_history_however_often_the_service_begins_again";
    if !requires_root(name) {
        return;
    }
    let scene = Scene::new("h");
    scene.write("a.toml", "[[rule]]\nname = \"one\"\nunit = \"one@*\"\n");
    let service = scene.serve();
    let nothing = scene.ebb.says(["status", "--history"]);
    assert!(nothing.contains("nothing is known"), "{nothing}");
    let received = || {
        let text = scene.ebb.says(["status", "--history", "--json"]);
        let minutes: Value = serde_json::from_str(&text).unwrap();
        let minutes = minutes.as_array().unwrap().iter();
        let of_rule = minutes.map(|minute| minute["rules"]["one"]["received_bytes"].as_u64());
        of_rule.map(Option::unwrap_or_default).sum::<u64>()
    };

    // What the last look did not see any more is there as well.
    let client = scene.connect_from("one@1.service");
    scene.until_carried("one", &[BYTES as u64]);
    // Meanwhile its rule and its connection are among all that yields.
    let top = scene.ebb.look("1");
    assert_eq!(top["attachments"][0]["target"]["name"], "one", "{top}");
    let mut flows = top["flows"].as_array().unwrap().iter();
    assert!(flows.any(|flow| flow["attachment"] == "rule-one"), "{top}");
    service.end(Signal::SIGTERM);
    assert_eq!(received(), BYTES as u64);
    drop(client);
    let service = scene.serve();
    let client = scene.connect_from("one@2.service");
    scene.until_carried("one", &[BYTES as u64]);
    service.end(Signal::SIGTERM);
    assert_eq!(received(), 2 * BYTES as u64);
    drop(client);

    // Who is killed takes nothing of it along.
    scene.serve().end(Signal::SIGKILL);
    assert_eq!(received(), 2 * BYTES as u64);
    let told = scene.ebb.says(["status", "--history"]);
    assert!(told.starts_with("rule one: 0.1 MB arrived"), "{told}");
    assert!(told.contains("\neverything else: "), "{told}");
}
