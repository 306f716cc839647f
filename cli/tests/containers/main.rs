// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules on containers, by a real Podman under a real systemd, with the service as it is packaged.

mod podman;
#[path = "../support/mod.rs"]
mod support;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use ebb_kernel::{requires, until};
use podman::{
    ALONE, BRIDGED, BYTES, PODMAN, Server, ends_of, has_started, prepare, start, try_start,
};
use support::hosts::Hosts;
use support::machine::{Machine, SYSTEMD};

/// All of them are made with EBB_STARTS=1000.
const STARTS: usize = 8;
/// So many connections are open at once; with EBB_AT_ONCE other ones.
const AT_ONCE: usize = 20;

const RULES: &str = "
[[rule]]\nname = \"named\"\ncontainer = { name = \"pull*\" }
[[rule]]\nname = \"image\"\ncontainer = { image = \"*/mirror:*\" }
[[rule]]\nname = \"label\"\ncontainer = { label = \"ebb=yes\" }\n";

const NAMES: [&str; 3] = ["named", "image", "label"];
/// So often, and so long, it is looked at before something is wrong.
const TRIES: usize = 30;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What each container is, and its rule.
const KINDS: [(&str, &str, &str); 4] = [
    ("--name=pull-NUMBER", "other:1", "named"),
    ("", "mirror:1", "image"),
    ("--annotation=ebb=yes", "other:1", "label"),
    ("--name=other-NUMBER", "other:1", ""),
];

/// Two hosts, and a machine with Podman and the service on one of them.
struct Scene {
    machine: Machine,
    server: Server,
    to: String,
    _hosts: Hosts,
    /// Where containers are: in the host's network, and in one of their own if that can be had.
    networks: [&'static str; 2],
}

impl Scene {
    /// None, and said so: it cannot be had here.
    fn of(test: &str, network: u8, seconds: u64) -> Option<Self> {
        let has_systemd = || requires(test, "systemd", SYSTEMD, Path::new(SYSTEMD).exists());
        if !ebb_kernel::requires_root(test) || !has_systemd() {
            return None;
        }
        let hosts = Hosts::new([10, 80, network]);
        hosts.enter("b");
        let server = Server::of(TcpListener::bind((hosts.address("b"), 7_000)).unwrap());
        hosts.enter("a");
        let machine = Machine::boot_for(seconds);
        let prepared = prepare(&machine).err().unwrap_or_default();
        let what = format!("Podman and runc, and that they start containers {prepared}");
        if !requires(test, "podman", what.trim_end(), prepared.is_empty()) {
            return None;
        }
        let apart = try_start(&machine, BRIDGED).err().unwrap_or_default();
        let what = format!("networks of Podman's own {apart}");
        let has_apart = requires(test, "podman-networks", what.trim_end(), apart.is_empty());
        machine.serve(RULES);
        Some(Self {
            machine,
            server,
            to: format!("{} 7000", hosts.address("b")),
            _hosts: hosts,
            networks: [ALONE, if has_apart { BRIDGED } else { ALONE }],
        })
    }

    fn ends(&self, rule: &str) -> Vec<(SocketAddr, u64)> {
        ends_of(&self.machine.flows(rule))
    }

    /// Exactly these are under the rule, and all that arrived at them came under it. Podman's
    /// masquerade may have changed their ports: of those behind the bridge, and of the host's own as
    /// well, where one of these has the same. Then as many as the server knows are all of them.
    fn until_held(&self, rule: &str, streams: &[TcpStream]) {
        let ports: Vec<u16> = streams.iter().map(port).collect();
        let is_masqueraded = self.networks.contains(&BRIDGED);
        let is_one = |end: &SocketAddr| is_masqueraded || ports.contains(&end.port());
        until(
            &format!("{rule} holds {ports:?}, not {:?}", self.ends(rule)),
            || {
                let ends = self.ends(rule);
                let are_all = ends
                    .iter()
                    .all(|(end, bytes)| is_one(end) && *bytes == BYTES);
                ends.len() == streams.len() && are_all
            },
        );
    }

    /// Every connection that is under a rule.
    fn held(&self) -> Vec<(u16, &'static str)> {
        let mut held = Vec::new();
        for rule in NAMES {
            held.extend(self.ends(rule).iter().map(|(end, _)| (end.port(), rule)));
        }
        held.sort_unstable();
        held
    }

    fn until_none_is_left(&self) {
        for rule in NAMES {
            self.until_held(rule, &[]);
        }
    }
}

fn port(stream: &TcpStream) -> u16 {
    stream.peer_addr().unwrap().port()
}

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn containers_of_podman_are_governed_from_their_first_connection_on() {
    let starts = number("EBB_STARTS", STARTS);
    let name = "containers_of_podman_are_governed_from_their_first_connection_on";
    let Some(scene) = Scene::of(name, 0, 120 + 3 * starts as u64) else {
        return;
    };
    let numbers: Vec<usize> = (0..starts).collect();
    for some in numbers.chunks(number("EBB_AT_ONCE", AT_ONCE)) {
        let start_one = |number: &usize| {
            let network = scene.networks[number % 2];
            let options = format!("{network} --name=pull-{number}");
            start(&scene.machine, &options, "other:1", &scene.to)
        };
        let starters: Vec<_> = some.iter().map(start_one).collect();
        let streams = scene.server.connections(some.len());
        scene.until_held("named", &streams);
        drop(streams);
        starters.into_iter().for_each(has_started);
        scene.until_none_is_left();
    }
}

#[test]
fn rules_find_containers_of_podman_by_name_image_and_annotation_and_after_a_restart() {
    let name = "rules_find_containers_of_podman_by_name_image_and_annotation_and_after_a_restart";
    let Some(scene) = Scene::of(name, 1, 300) else {
        return;
    };
    let machine = &scene.machine;
    let mut starters = Vec::new();
    let mut held: Vec<(&str, TcpStream)> = Vec::new();
    for (options, image, rule) in KINDS {
        let options = format!("{ALONE} {}", options.replace("NUMBER", "1"));
        starters.push(start(machine, &options, image, &scene.to));
        held.push((rule, scene.server.connections(1).remove(0)));
    }
    let until_all_are_held = |held: &[(&str, TcpStream)]| {
        let mut expected: Vec<(u16, &str)> =
            held.iter().map(|(rule, it)| (port(it), *rule)).collect();
        expected.retain(|(_, rule)| !rule.is_empty());
        expected.sort_unstable();
        let mut found = Vec::new();
        for _ in 0..TRIES {
            found = scene.held();
            if found == expected {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        assert_eq!(found, expected, "{}", scene.machine.log());
    };
    until_all_are_held(&held);

    // In the cgroup of a unit, as Quadlet has it, and where Podman does without systemd.
    for options in ["--cgroups=split --name=pull-unit", "--name=pull-alone"] {
        let manager = if options.contains("split") {
            "systemd"
        } else {
            "cgroupfs"
        };
        let script = format!(
            "systemd-run --quiet --collect {PODMAN} --cgroup-manager={manager} run --quiet --rm \
             {ALONE} {options} localhost/other:1 /first {}",
            scene.to
        );
        machine.says(&script);
        held.push(("named", scene.server.connections(1).remove(0)));
        until_all_are_held(&held);
    }

    // In a network namespace of its own.
    let options = format!("{} --name=pull-apart", scene.networks[1]);
    starters.push(start(machine, &options, "other:1", &scene.to));
    held.push(("named", scene.server.connections(1).remove(0)));
    until_all_are_held(&held);

    assert_eq!(machine.says("systemctl restart ebbd"), "");
    until_all_are_held(&held);
    machine.says("systemctl kill --signal=KILL ebbd");
    until_all_are_held(&held);

    drop(held);
    starters.into_iter().for_each(has_started);
    scene.until_none_is_left();
}
