// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service: what rules name yields, whoever starts it and whenever.

mod support;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use ebb_kernel::{requires_root, until};
use ebb_lab::judging::{Attempt, judge};
use nix::sys::signal::Signal;
use support::serving::{BYTES, Scene, Service, carried_by};
use support::{Ebb, stderr};

/// `systemctl restart` and an upgrade may free a connection for so long.
const FREE_AT_MOST: Duration = Duration::from_secs(2);

/// More than a cgroup has room for, if each had programs of its own.
const RULES: usize = 40;

/// Whether a service that takes so long to restart is fast enough.
fn back_within(took: Duration) -> Attempt {
    let wrong = (took >= FREE_AT_MOST).then(|| format!("free for {took:?}"));
    Attempt {
        wrong: wrong.into_iter().collect(),
        disturbed: None,
    }
}

const TWO: &str = "[[rule]]\nname = \"one\"\nunit = \"one@*\"\n\n\
    [[rule]]\nname = \"two\"\nunit = \"two@*\"\n";

#[test]
fn a_service_holds_what_its_rules_name_through_reloads_restarts_and_kills() {
    let name = "a_service_holds_what_its_rules_name_through_reloads_restarts_and_kills";
    if !requires_root(name) {
        return;
    }
    let scene = Scene::new("s");
    scene.write("a.toml", TWO);
    let service = scene.serve();
    let one = scene.connect_from("one@1.service");
    let two = scene.connect_from("two@1.service");
    let three = scene.connect_from("three@1.service");
    let all = BYTES as u64;
    scene.until_carried("one", &[all]);
    scene.until_carried("two", &[all]);

    // Reading the rules again touches no connection whose rule did not change.
    scene.write("b.toml", "[[rule]]\nname = \"three\"\nunit = \"three@*\"\n");
    scene.write(
        "a.toml",
        &TWO.replace("\"two@*\"", "\"two@*\"\npolicy = \"vulture\""),
    );
    service.reload();
    scene.until_carried("three", &[0]);
    assert_eq!(scene.carried("one"), [all]);
    assert_eq!(scene.carried("two"), [0]);
    // Nor does it where a rule has another minimum.
    let changed = TWO.replace("\"one@*\"", "\"one@*\"\nminimum = \"2mbit\"");
    scene.write("a.toml", &changed);
    service.reload();
    until("it says so", || {
        let status = scene.ebb.says(["status"]);
        status.contains("2mbit at the least, each way")
    });
    assert_eq!(scene.carried("one"), [all]);
    scene.write(
        "b.toml",
        "[[rule]]\nname = \"three\"\nunits = \"three@*\"\n",
    );
    service.reload();
    let said = service.has_said();
    assert!(
        said.contains("b.toml:3:1") && said.contains("did you mean `unit`?"),
        "{said}"
    );
    assert_eq!(scene.carried("one"), [all]);
    assert_eq!(scene.carried("three"), [0]);
    fs::remove_file(scene.rules.path().join("b.toml")).unwrap();
    service.reload();
    assert!(scene.carried("three").is_empty());

    // Off and on again.
    let off = scene.ebb.says(["rules", "off", "one"]);
    assert_eq!(off, "rule one: free for now\n");
    let listed = scene.ebb.says(["rules", "--rules", &scene.folder()]);
    assert!(listed.contains("one (off): unit one@*.service"), "{listed}");
    assert!(listed.contains("two (on): "), "{listed}");
    scene.ebb.says(["rules", "on", "one"]);

    // Another one is refused, and disturbs nothing.
    let below = scene.cgroup.path().display().to_string();
    let second = scene
        .ebb
        .output(["daemon", "--rules", &scene.folder(), "--below", &below]);
    assert!(
        stderr(&second).contains("another ebbd runs already"),
        "{}",
        stderr(&second)
    );
    assert_eq!(scene.carried("one"), [all]);

    // Killed, it is followed by one that takes over; and so it is where it is ended.
    let mut service = service;
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        judge(&format!("{name}/{signal}"), || {
            let began = Instant::now();
            std::mem::replace(&mut service, Service::none()).end(signal);
            service = scene.serve();
            // Once for both: the programs' rates take it half a second.
            let seen = scene.seen();
            let took = began.elapsed();
            assert_eq!(carried_by(&seen, "one").len(), 1);
            assert_eq!(carried_by(&seen, "two").len(), 1);
            back_within(took)
        });
    }
    service.end(Signal::SIGTERM);
    assert_eq!(scene.ebb.says(["status"]), "nothing is attached\n");
    drop((one, two, three));
}

#[test]
fn a_user_s_rule_leaves_alone_what_is_attached_by_hand() {
    if !requires_root("a_user_s_rule_leaves_alone_what_is_attached_by_hand") {
        return;
    }
    let scene = Scene::new("h");
    scene.write(
        "a.toml",
        "[[rule]]\nname = \"root\"\nuser = \"root\"\nport = 7000\n",
    );
    let service = scene.serve();
    let first = scene.connect_from("first");
    scene.until_carried("root", &[BYTES as u64]);
    let group = scene.cgroup.directory_path().join("first");
    scene
        .ebb
        .says(["attach", "--cgroup", &group.display().to_string()]);
    scene.until_carried("root", &[]);
    let second = scene.connect_from("second");
    scene.until_carried("root", &[BYTES as u64]);
    scene
        .ebb
        .says(["detach", "--cgroup", &group.display().to_string()]);
    until("the rule holds again", || scene.carried("root").len() == 2);
    service.end(Signal::SIGTERM);
    drop((first, second));
}

#[test]
fn a_number_that_a_service_left_is_nobody_s_to_be_signalled() {
    if !requires_root("a_number_that_a_service_left_is_nobody_s_to_be_signalled") {
        return;
    }
    let (ebb, rules) = (Ebb::new(), tempfile::tempdir().unwrap());
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let [(_, records)] = ebb.environment();
    fs::write(records.join("ebbd.lock"), format!("{}\n", other.id())).unwrap();
    let folder = rules.path().display().to_string();
    let reloaded = ebb.output(["rules", "reload", "--rules", &folder]);
    let said = stderr(&reloaded);
    std::thread::sleep(Duration::from_millis(100));
    let ended = other.try_wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(ended, None, "it was signalled: {said}");
    assert!(said.contains("ebbd does not run"), "{said}");
    assert_eq!(reloaded.status.code(), Some(1), "{said}");
}

#[test]
fn a_restart_takes_no_longer_for_forty_rules() {
    let name = "a_restart_takes_no_longer_for_forty_rules";
    if !requires_root(name) {
        return;
    }
    let scene = Scene::new("f");
    let rule = |number| format!("[[rule]]\nname = \"r{number}\"\nunit = \"r{number}@*\"\n\n");
    scene.write("a.toml", &(1..=RULES).map(rule).collect::<String>());
    let mut service = scene.serve();
    let last = format!("r{RULES}");
    let client = scene.connect_from(&format!("{last}@1.service"));
    scene.until_carried(&last, &[BYTES as u64]);
    judge(name, || {
        let began = Instant::now();
        std::mem::replace(&mut service, Service::none()).end(Signal::SIGTERM);
        service = scene.serve();
        let took = began.elapsed();
        assert!(service.has_said().contains("40 rules in force"));
        assert_eq!(scene.carried(&last).len(), 1);
        eprintln!("{RULES} rules: a restart took {took:?}");
        back_within(took)
    });
    service.end(Signal::SIGTERM);
    drop(client);
}
