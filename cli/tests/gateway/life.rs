// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb gateway` on two interfaces, whose rules are read again, until one of these has gone.

use ebb_kernel::until;
use ebb_lab::emulator::SERVER_IPV4;
use ebb_lab::home::{DEVICE_INTERFACE, LAN, device_ipv4};
use std::collections::BTreeSet;
use std::fs;

use crate::home::Home;
use crate::support::{Ebb, stderr};
use crate::{BACKGROUND, LINK_MBIT_PER_S, can_run, mean};

/// A second bridge of the router, with a network of its own.
const GARDEN: &str = "garden";
const IN_GARDEN: &str = "192.168.8.11";

/// A home whose second device is behind the second bridge.
fn with_garden() -> Home {
    let home = Home::start(2);
    let router = home.path().client();
    router
        .ip(&format!(
            "link add {GARDEN} type bridge\n\
             addr add 192.168.8.1/24 dev {GARDEN}\n\
             link set {GARDEN} up\n\
             link set lan1 master {GARDEN}\n"
        ))
        .unwrap();
    let before = device_ipv4(1);
    let moves = format!(
        "addr add {IN_GARDEN}/24 dev {DEVICE_INTERFACE}\n\
         route replace default via 192.168.8.1\n\
         addr del {before}/24 dev {DEVICE_INTERFACE}\n"
    );
    home.devices[1].namespace().ip(&moves).unwrap();
    home
}

/// The devices whose transfers yield.
fn yielding(ebb: &Ebb) -> BTreeSet<String> {
    let seen = ebb.look("0.5");
    let flows = seen["flows"].as_array().unwrap().iter();
    let device = |local: &str| local.rsplit_once(':').unwrap().0.to_owned();
    flows
        .map(|flow| device(flow["local"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_gateway_on_two_interfaces_reads_its_rules_again_and_ends_when_one_of_them_goes() {
    let name = "a_gateway_on_two_interfaces_reads_its_rules_again_and_ends_when_one_of_them_goes";
    if !can_run(name) {
        return;
    }
    let (home, ebb) = (with_garden(), Ebb::new());
    let rules = "[[rule]]\nname = \"garden\"\ninterface = \"garden\"\n";
    let mut gateway = home.gateway(&ebb, &["--lan", GARDEN], rules);
    let server = SERVER_IPV4.to_string();
    let downloads = [0, 1].map(|it: usize| home.devices[it].transfer(&server, BACKGROUND, 30));
    let in_garden = BTreeSet::from([IN_GARDEN.to_owned()]);
    let of_both = BTreeSet::from([IN_GARDEN.to_owned(), device_ipv4(0).to_string()]);
    until("the garden's yields", || yielding(&ebb) == in_garden);

    // What is wrong changes nothing.
    let file = home.folder.path().join("home.toml");
    fs::write(&file, "[[rule]]\nname = \"all\"\neverything = 1\n").unwrap();
    gateway.read_again().unwrap();
    until("it is told of", || {
        let said = gateway.has_said();
        said.contains("home.toml:3:14: ") && said.contains("going on as before")
    });
    assert_eq!(yielding(&ebb), in_garden);

    fs::write(&file, format!("{rules}[[rule]]\neverything = true\n")).unwrap();
    gateway.read_again().unwrap();
    until("both yield", || yielding(&ebb) == of_both);

    let router = home.path().client();
    router.ip(&format!("link del {GARDEN}\n")).unwrap();
    assert_eq!(gateway.wait().unwrap().code(), Some(1));
    until("it says why", || gateway.has_said().contains(GARDEN));
    // It goes on without a gateway, and the other one has nowhere to go.
    let [one, other] = downloads;
    let seconds = one.seconds();
    let last = mean(&seconds, seconds.len() - 3, seconds.len());
    assert!(last > LINK_MBIT_PER_S / 2.0, "{seconds:.1?}");
    drop(other);
}

#[test]
fn interfaces_of_two_kinds_are_refused_by_their_names() {
    if !can_run("interfaces_of_two_kinds_are_refused_by_their_names") {
        return;
    }
    let (home, ebb) = (Home::start(0), Ebb::new());
    let router = home.path().client();
    router.ip("tuntap add tun7 mode tun\n").unwrap();
    let file = home.folder.path().join("home.toml");
    fs::write(&file, "[[rule]]\neverything = true\n").unwrap();
    let mut command = ebb.command(["gateway", "--lan", LAN, "--lan", "tun7"]);
    router.move_child(&mut command);
    let refused = command.arg(&file).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(
        said.contains("lan and tun7 are links of two kinds"),
        "{said}"
    );
}
