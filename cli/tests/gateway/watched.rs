// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `ebb top` shows of a gateway, and asks of it.

use ebb_kernel::until;
use ebb_lab::emulator::SERVER_IPV4;
use ebb_lab::home::{LAN, device_ipv4};
use serde_json::{Value, json};

use crate::home::Home;
use crate::support::{Ebb, ask};
use crate::{BACKGROUND, can_run};

/// Its one connection, once there is one that moves.
fn moving(ebb: &Ebb) -> Value {
    let mut found = Value::Null;
    until("it moves", || {
        let seen = ebb.look("0.5")["flows"].as_array().unwrap().clone();
        found = seen.first().cloned().unwrap_or_default();
        found["rate_bit_per_s"].as_f64().is_some_and(|it| it > 0.0)
    });
    found
}

#[test]
fn a_gateway_is_seen_set_free_given_other_parameters_and_let_go_in_top() {
    let name = "a_gateway_is_seen_set_free_given_other_parameters_and_let_go_in_top";
    if !can_run(name) {
        return;
    }
    let (home, ebb) = (Home::start(1), Ebb::new());
    let rules = "[[rule]]\nname = \"console\"\nclient = \"192.168.7.0/24\"\n";
    let gateway = home.gateway(&ebb, &[], rules);
    let download = home.devices[0].transfer(&SERVER_IPV4.to_string(), BACKGROUND, 12);

    let flow = moving(&ebb);
    let device = device_ipv4(0).to_string();
    assert!(
        flow["local"].as_str().unwrap().starts_with(&device),
        "{flow}"
    );
    assert_eq!(flow["direction"], "down");
    assert_eq!(flow["is_acting"], true);
    let seen = ebb.look("0.5");
    let attachment = &seen["attachments"][0];
    assert_eq!(attachment["target"]["interfaces"], json!([LAN]), "{seen}");
    let id = attachment["id"].as_str().unwrap().to_owned();
    let [(_, records)] = ebb.environment();
    let socket = records.join(format!("{id}.sock"));

    for is_observing in [true, false] {
        let request = json!({ "set-observing": is_observing });
        assert_eq!(ask(&socket, &request), "done");
        assert_eq!(moving(&ebb)["is_acting"], !is_observing);
    }
    let request = json!({ "set-policy": "ebb:target_us=9000" });
    assert_eq!(ask(&socket, &request), "done");
    let policy = ebb.look("0.5")["attachments"][0]["policy"].clone();
    assert_eq!(policy, "ebb:target_us=9000");

    // Its law is of all that passes, and rules say of what.
    for (request, why) in [
        (
            json!({ "set-policy": "vulture" }),
            "another one needs another start",
        ),
        (json!({ "set-upload-policy": "ledbat++" }), "its rules say"),
        (
            json!({ "switch": { "whose": { "connection":
                { "cookie": flow["cookie"], "direction": "down" } }, "to": "free" } }),
            "its rules say",
        ),
    ] {
        let answer = ask(&socket, &request);
        let cause = answer["refused"]["cause"].as_str().unwrap_or_default();
        assert!(cause.contains(why), "{request}: {answer}");
    }
    assert_eq!(moving(&ebb)["is_acting"], true);

    assert_eq!(ask(&socket, &json!("detach")), "done");
    let gone = || {
        ebb.look("0.5")["attachments"]
            .as_array()
            .unwrap()
            .is_empty()
    };
    until("it is gone", gone);
    assert!(gateway.end().unwrap().success());
    download.seconds();
}
