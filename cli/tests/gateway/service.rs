// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gateway as the service keeps it, by its files of rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ebb_kernel::until;
use ebb_lab::emulator::SERVER_IPV4;
use ebb_lab::home::{LAN, device_ipv4};
use ebb_lab::judging::{self, Attempt};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::held::{EMPTY_MS, FULL_MS, Look, START, Way};
use crate::home::Home;
use crate::support::serving::{Grounds, Service};
use crate::support::stdout;
use crate::{BACKGROUND, OTHERS, WITHIN, can_run};

const RULES: &str = "[[gateway.rule]]\nname = \"the television\"\nclient = \"192.168.7.11\"\n\
    yields = false\n[[gateway.rule]]\nname = \"console\"\nclient = \"192.168.7.0/24\"\n";

fn file(lan: &str) -> String {
    format!("[gateway]\nlan = {lan}\n{RULES}")
}

/// A service on a home's router.
struct Kept {
    home: Home,
    grounds: Grounds,
}

impl Kept {
    fn new(devices: u8, text: &str) -> Self {
        let grounds = Grounds::new("w");
        grounds.write("home.toml", text);
        Self {
            home: Home::start(devices),
            grounds,
        }
    }

    fn serve(&self) -> Service {
        let below = self.grounds.cgroup.path().display().to_string();
        let folder = self.grounds.folder();
        let arguments = ["daemon", "--rules", &folder, "--below", &below];
        let mut command = self.grounds.ebb.command(arguments);
        self.home.path().client().move_child(&mut command);
        Service::start(&mut command)
    }

    fn rules(&self) -> String {
        let folder = self.grounds.folder();
        self.grounds.ebb.says(["rules", "--rules", &folder])
    }

    /// Payload of each download that the gateway holds.
    fn carried(&self) -> Vec<u64> {
        let seen = self.grounds.seen();
        let gateway = seen.iter().find(|it| it["target"]["kind"] == "gateway");
        let flows = gateway.map_or(&[][..], |it| it["flows"].as_array().unwrap());
        let down = flows.iter().filter(|flow| flow["direction"] == "down");
        down.map(|flow| flow["payload_bytes"].as_u64().unwrap())
            .collect()
    }

    /// The devices whose connections it holds.
    fn devices_held(&self) -> BTreeSet<String> {
        let seen = self.grounds.seen();
        let flows = seen.iter().flat_map(|it| it["flows"].as_array().unwrap());
        let ends = flows.map(|flow| flow["local"].as_str().unwrap());
        ends.map(|end| end.split(':').next().unwrap().to_owned())
            .collect()
    }

    /// What the service tells of its gateway, by names with their labels.
    fn samples(&self) -> BTreeMap<String, f64> {
        let [(_, records)] = self.grounds.ebb.environment();
        let mut stream = UnixStream::connect(records.join("metrics.sock")).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: ebbd\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        let of_gateway = told.lines().filter(|line| line.starts_with("ebb_gateway"));
        let split = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name
                .replace("gateway=\"home\"", "")
                .replace("ebb_gateway_", "");
            (name, value.parse().unwrap())
        };
        of_gateway.map(split).collect()
    }

    /// Waits until something is at least so much, and answers it.
    #[track_caller]
    fn until(&self, name: &str, least: f64) -> f64 {
        let mut now = 0.0;
        until(&format!("{name} is {least}"), || {
            now = self.samples().get(name).copied().unwrap_or(-1.0);
            now >= least
        });
        now
    }
}

#[test]
fn the_service_keeps_a_gateway_through_reloads_on_interfaces_that_come_and_go() {
    let name = "the_service_keeps_a_gateway_through_reloads_on_interfaces_that_come_and_go";
    if !can_run(name) {
        return;
    }
    let kept = Kept::new(2, &file("[\"lan\", \"late0\"]"));
    let service = kept.serve();
    service.until_it_says("there is no interface late0 yet");
    let listed = kept.rules();
    assert!(
        listed.contains("gateway of lan late0 (on, without late0)"),
        "{listed}"
    );
    assert!(listed.contains("console: yields"), "{listed}");
    assert!(listed.contains("home.toml:7"), "{listed}");

    // One more interface, while the programs of the other one go on.
    let [ours, theirs] = &kept.home.devices[..] else {
        unreachable!()
    };
    let server = SERVER_IPV4.to_string();
    let download = ours.transfer(&server, BACKGROUND, 9);
    until("it is held", || {
        kept.carried().iter().any(|bytes| *bytes > 500_000)
    });
    // The television is an exception.
    theirs.transfer(&server, OTHERS, 1).seconds();
    assert_eq!(kept.carried().len(), 1);
    let router = kept.home.path().client();
    router
        .ip("link add late0 type veth peer name late1\n")
        .unwrap();
    until("it is taken", || kept.rules().contains("late0 (on)"));
    router.ip("link del late0\n").unwrap();
    until("it is missed", || kept.rules().contains("without late0"));

    // Another file of rules: the download stays under its law, and keeps its count.
    let before = kept.carried();
    let another = format!(
        "{}[[gateway.rule]]\nname = \"rest\"\ndscp = \"CS1\"\n",
        file("\"lan\"")
    );
    kept.grounds.write("home.toml", &another);
    service.reload();
    assert!(kept.rules().contains("rest: yields"), "{}", kept.rules());
    let after = kept.carried();
    assert!(
        after.len() == 1 && after[0] >= before[0],
        "{before:?}, then {after:?}"
    );

    // A mistake changes nothing; it is told with line and key.
    kept.grounds
        .write("home.toml", &another.replace("client", "klient"));
    service.reload();
    let said = service.has_said();
    assert!(
        said.contains("home.toml:5:1") && said.contains("`client`"),
        "{said}"
    );
    assert!(kept.carried()[0] >= after[0]);
    download.seconds();

    // `ebb gateway` explains the same file, and does not take it for one of its own.
    kept.grounds.write("home.toml", &another);
    let path = kept
        .grounds
        .rules
        .path()
        .join("home.toml")
        .display()
        .to_string();
    let ebb = &kept.grounds.ebb;
    let why = ebb.says(["gateway", "why", &path, "192.168.7.10", "198.51.100.7:443"]);
    assert!(
        why.contains(&format!("yields by console ({path}:7)")),
        "{why}"
    );

    // What is in force is one of what is attached, and can be let go by hand.
    ebb.says(["detach", "--all"]);
    until("it is let go", || kept.rules().contains("(not in force)"));
    service.reload();
    until("it is back", || kept.rules().contains("lan (on)"));
    kept.grounds.write("home.toml", "");
    service.reload();
    let seen: Vec<Value> = kept.grounds.seen();
    assert!(seen.is_empty(), "{seen:?}");
    service.end(Signal::SIGTERM);
}

#[test]
fn metrics_tell_what_came_of_a_gateways_rules_and_what_could_not_be_held() {
    let name = "metrics_tell_what_came_of_a_gateways_rules_and_what_could_not_be_held";
    if !can_run(name) {
        return;
    }
    let kept = Kept::new(2, &file("[\"lan\", \"late0\"]"));
    let [ours, theirs] = &kept.home.devices[..] else {
        unreachable!()
    };
    let server = SERVER_IPV4.to_string();
    // It is there before the service is: nobody knows the scale of its windows.
    let early = theirs.transfer(&server, OTHERS, 12);
    std::thread::sleep(Duration::from_secs(1));
    let service = kept.serve();
    kept.until("left_alone_total{,reason=\"scale\"}", 1.0);
    assert_eq!(
        kept.samples()["interface_in_force{,interface=\"lan\"}"],
        1.0
    );
    assert_eq!(
        kept.samples()["interface_in_force{,interface=\"late0\"}"],
        0.0
    );
    let quic = kept.until("quic_bytes_total{}", 0.0);
    let send = "import socket,sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        for _ in range(20): s.sendto(bytes(1000), (sys.argv[1], 443))";
    let mut sending = ours.namespace().command("python3");
    assert!(
        sending
            .args(["-c", send, &server])
            .status()
            .unwrap()
            .success()
    );
    kept.until("quic_bytes_total{}", quic + 20_000.0);

    let of_rule = |name: &str, more: &str| format!("rule_{name}{{,rule=\"console\"{more}}}");
    let payload = of_rule("payload_bytes_total", ",direction=\"down\"");
    assert_eq!(kept.until(&payload, 0.0), 0.0);
    let download = ours.transfer(&server, BACKGROUND, 10);
    // It yields to the early one.
    kept.until(
        &of_rule("held_back_seconds_total", ",direction=\"down\""),
        1.0,
    );
    kept.until(
        &of_rule("queueing_delay_seconds_count", ",direction=\"down\""),
        1.0,
    );
    let received = kept.until(&payload, 1.0);
    assert_eq!(kept.until(&of_rule("connections_total", ""), 1.0), 1.0);
    assert_eq!(kept.until(&of_rule("open_connections", ""), 1.0), 1.0);
    // What is excepted yields by no rule.
    assert!(
        !kept
            .samples()
            .keys()
            .any(|name| name.contains("television"))
    );

    // A rule that changes goes on with its count, and so does a gateway that begins anew.
    let changed = file("\"lan\"").replace("7.0/24", "7.10");
    kept.grounds.write("home.toml", &changed);
    service.reload();
    let received = kept.until(&payload, received);
    kept.grounds.write(
        "home.toml",
        &changed.replace("lan =", "policy = \"vulture\"\nlan ="),
    );
    service.reload();
    kept.until(&payload, received);
    kept.until("quic_bytes_total{}", quic + 20_000.0);
    kept.grounds.write("home.toml", &changed);
    service.reload();

    download.seconds();
    early.seconds();
    let failures = of_rule("failures_open_total", "");
    assert_eq!(kept.until(&failures, 0.0), 0.0);
    let download = ours.transfer(&server, BACKGROUND, 8);
    kept.until(&of_rule("open_connections", ""), 1.0);
    service.send(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(3));
    service.send(Signal::SIGCONT);
    kept.until(&failures, 1.0);
    download.seconds();
    let received = kept.until(&payload, received);
    service.end(Signal::SIGTERM);

    // The history has it all.
    let told = kept.grounds.ebb.says(["status", "--history", "--json"]);
    let minutes: Vec<Value> = serde_json::from_str(&told).unwrap();
    let past = minutes
        .iter()
        .filter_map(|it| it["gateway_rules"].get("home/console"));
    let written: u64 = past.map(|it| it["received_bytes"].as_u64().unwrap()).sum();
    assert!(
        written as f64 >= received,
        "{written} of {received}: {told}"
    );
}

/// Kills the service in the middle of a download, and starts it again in the middle of the next.
fn killed(_: &()) -> Attempt {
    let kept = Kept::new(1, &file(&format!("\"{LAN}\"")));
    let service = kept.serve();
    let server = SERVER_IPV4.to_string();
    let download = kept.home.devices[0].transfer(&server, BACKGROUND, 20);
    std::thread::sleep(START);
    let held = Look::begin();
    service.end(Signal::SIGKILL);
    std::thread::sleep(WITHIN);
    let free = Look::begin();
    download.seconds();
    let service = kept.serve();
    let download = kept.home.devices[0].transfer(&server, BACKGROUND, 10);
    std::thread::sleep(START);
    let again = Look::begin();
    download.seconds();
    service.end(Signal::SIGTERM);
    let epoch = kept.home.testbed().epoch_instant();
    let report = kept.home.stop();
    let waited = |look: Look| look.waiting_ms(epoch, &report, Way::Download);
    let (held_ms, free_ms, again_ms) = (waited(held), waited(free), waited(again));
    let told = format!("queue {held_ms:.1} ms, {free_ms:.1} ms killed, {again_ms:.1} ms again");
    eprintln!("{told}");
    let is_right = held_ms <= EMPTY_MS && free_ms >= FULL_MS && again_ms <= EMPTY_MS;
    Attempt::over(&report, (!is_right).then_some(told).into_iter().collect())
}

#[test]
fn a_killed_service_frees_what_passes_and_its_successor_holds_it_again() {
    let name = "a_killed_service_frees_what_passes_and_its_successor_holds_it_again";
    if can_run(name) {
        judging::judge(name, || killed(&()));
    }
}

#[test]
fn a_rule_is_for_a_network_namespace_behind_a_bridge_once_it_is_there() {
    let name = "a_rule_is_for_a_network_namespace_behind_a_bridge_once_it_is_there";
    if !can_run(name) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let container = place.path().join("box");
    let rule = format!(
        "[[gateway.rule]]\nname = \"box\"\nnetns = \"{}\"\n",
        container.display()
    );
    let kept = Kept::new(2, &format!("[gateway]\nlan = \"{LAN}\"\n{rule}"));
    let service = kept.serve();
    let [ours, theirs] = &kept.home.devices[..] else {
        unreachable!()
    };
    let server = SERVER_IPV4.to_string();
    // It is for nobody yet.
    let downloads = [ours, theirs].map(|device| device.transfer(&server, OTHERS, 8));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(kept.carried(), [0; 0]);
    let told = format!("network namespace {}: No such file", container.display());
    let tells = || service.has_said().matches(&told).count();
    assert_eq!(tells(), 1, "{}", service.has_said());
    std::os::unix::fs::symlink(ours.namespace().path(), &container).unwrap();
    until("one of the two is held", || !kept.carried().is_empty());
    let held = kept.devices_held();
    assert_eq!(held, [device_ipv4(0).to_string()].into());
    // Another one of the same name: the first is free again.
    std::fs::remove_file(&container).unwrap();
    std::os::unix::fs::symlink(theirs.namespace().path(), &container).unwrap();
    let another = device_ipv4(1).to_string();
    until("the other one is held", || {
        kept.devices_held().contains(&another)
    });
    let path = kept.grounds.rules.path().join("home.toml");
    let path = path.display().to_string();
    let mut ip = theirs.namespace().command("ip");
    let shown = ip.args(["-br", "link", "show", "eth0"]).output().unwrap();
    let shown = stdout(&shown);
    let mac = shown.split_whitespace().nth(2).unwrap();
    let ask = |mac: &str| {
        let server = "198.51.100.7:443";
        let words = ["gateway", "why", &path, &another, server, "--mac", mac];
        kept.grounds.ebb.says(words)
    };
    assert!(ask(mac).contains("yields by box"), "{mac}");
    assert!(ask("02:00:00:00:00:01").contains("no rule is for it"));
    // Once gone, that is told anew.
    std::fs::remove_file(&container).unwrap();
    until("it says so", || tells() == 2);
    for download in downloads {
        download.seconds();
    }
    assert_eq!(tells(), 2, "{}", service.has_said());
    service.end(Signal::SIGTERM);
}
