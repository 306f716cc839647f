// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service: what rules name yields, whoever starts it and whenever.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{requires_root, until};
use ebb_lab::judging::{Attempt, judge};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::hosts::Hosts;
use support::{Ebb, stderr};

const BYTES: usize = 50_000;
/// `systemctl restart` and an upgrade may free a connection for so long.
const FREE_AT_MOST: Duration = Duration::from_secs(2);

/// More than a cgroup has room for, if each had programs of its own.
const RULES: usize = 40;

/// Two hosts, and a cgroup that a service acts below.
struct Scene {
    _hosts: Hosts,
    ebb: Ebb,
    rules: tempfile::TempDir,
    cgroup: Cgroup,
    listener: TcpListener,
}

/// A service that runs, and what it says.
struct Service {
    child: Child,
    said: Arc<Mutex<String>>,
}

/// A process that has connected from its cgroup.
struct Client {
    child: Child,
    stream: TcpStream,
}

impl Scene {
    fn new(test: &str) -> Self {
        let name = format!("ebb{test}{}", std::process::id());
        let hosts = Hosts::new([10, 78, 0]);
        hosts.enter("b");
        let listener = TcpListener::bind((hosts.address("b"), 7_000)).unwrap();
        hosts.enter("a");
        Self {
            cgroup: Cgroup::root().unwrap().create_child(&name).unwrap(),
            _hosts: hosts,
            ebb: Ebb::new(),
            rules: tempfile::tempdir().unwrap(),
            listener,
        }
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.rules.path().join(file), text).unwrap();
    }

    fn folder(&self) -> String {
        self.rules.path().display().to_string()
    }

    /// Returns when the service is ready.
    fn serve(&self) -> Service {
        let below = self.cgroup.path().display().to_string();
        let mut command =
            self.ebb
                .command(["daemon", "--rules", &self.folder(), "--below", &below]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (heard, pipe) = (Arc::clone(&said), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        let service = Service { child, said };
        service.until_it_says("in force");
        service
    }

    /// A process that enters a new cgroup, connects at once and gets some bytes.
    fn connect_from(&self, group: &str) -> Client {
        let group = self.cgroup.create_child(group).unwrap();
        let script = "echo 0 > $0/cgroup.procs; exec 3<>/dev/tcp/10.78.0.2/7000; cat <&3 >&2";
        let child = Command::new("bash")
            .args(["-c", script])
            .arg(group.directory_path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stream = self.listener.accept().unwrap().0;
        stream.write_all(&[7; BYTES]).unwrap();
        Client { child, stream }
    }

    /// The connections of a rule for what arrives: what they have carried under it.
    fn carried(&self, rule: &str) -> Vec<u64> {
        let text = self.ebb.says(["status", "--flows", "--json"]);
        let seen: Value = serde_json::from_str(&text).unwrap();
        let mut attachments = seen.as_array().unwrap().iter();
        let found = attachments.find(|it| it["target"]["name"] == rule);
        let flows = found.map_or(&[][..], |it| it["flows"].as_array().unwrap());
        let down = flows.iter().filter(|flow| flow["direction"] == "down");
        down.map(|flow| flow["payload_bytes"].as_u64().unwrap())
            .collect()
    }

    fn until_carried(&self, rule: &str, expected: &[u64]) {
        until(&format!("{rule} carries {expected:?}"), || {
            self.carried(rule) == expected
        });
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.cgroup.remove();
    }
}

impl Service {
    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    fn has_said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    fn until_it_says(&self, part: &str) {
        until(&format!("it says '{part}'"), || {
            self.has_said().contains(part)
        });
    }

    /// Has it read its rules again.
    fn reload(&self) {
        self.said.lock().unwrap().clear();
        self.send(Signal::SIGHUP);
        until("it has read its rules", || !self.has_said().is_empty());
    }

    fn end(mut self, signal: Signal) {
        self.send(signal);
        self.child.wait().unwrap();
    }

    /// One that has ended.
    fn none() -> Self {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        Self {
            child,
            said: Arc::default(),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
            assert_eq!(scene.carried("one").len(), 1);
            assert_eq!(scene.carried("two").len(), 1);
            back_within(began.elapsed())
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
