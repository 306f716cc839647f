// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A service that keeps rules below a cgroup of a test's own, and processes that connect.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::Ebb;
use super::hosts::Hosts;

/// What each connection gets at first.
pub const BYTES: usize = 50_000;

/// A folder of rules, and a cgroup that a service acts below.
pub struct Grounds {
    pub ebb: Ebb,
    pub rules: tempfile::TempDir,
    pub cgroup: Cgroup,
}

/// Two hosts on such grounds.
pub struct Scene {
    grounds: Grounds,
    hosts: Hosts,
    pub listener: TcpListener,
}

/// A service that runs, and what it says.
pub struct Service {
    pub child: Child,
    said: Arc<Mutex<String>>,
}

/// A process that has connected from its cgroup.
pub struct Client {
    child: Child,
    pub stream: TcpStream,
}

impl Grounds {
    pub fn new(test: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ebb{test}{}-{count}", std::process::id());
        Self {
            cgroup: Cgroup::root().unwrap().create_child(&name).unwrap(),
            ebb: Ebb::new(),
            rules: tempfile::tempdir().unwrap(),
        }
    }

    /// A rule for a cgroup of this name, to which lines can be added.
    pub fn rule(&self, name: &str) -> String {
        let path = self.cgroup.path().display();
        format!("[[rule]]\nname = \"{name}\"\ncgroup = \"{path}/{name}\"\n")
    }

    /// These words, to be run in a new cgroup of this name.
    pub fn words_in(&self, group: &str, words: &[String]) -> Vec<String> {
        let group = self.cgroup.create_child(group).unwrap();
        let script = "echo 0 > \"$0/cgroup.procs\"; exec \"$@\"";
        let directory = group.directory_path().display().to_string();
        let enter = ["bash", "-c", script, &directory].map(str::to_owned);
        enter.into_iter().chain(words.iter().cloned()).collect()
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.rules.path().join(file), text).unwrap();
    }

    pub fn folder(&self) -> String {
        self.rules.path().display().to_string()
    }

    /// Returns when the service is ready.
    pub fn serve(&self) -> Service {
        let below = self.cgroup.path().display().to_string();
        let arguments = ["daemon", "--rules", &self.folder(), "--below", &below];
        Service::start(&mut self.ebb.command(arguments))
    }

    /// What is attached, with its connections.
    pub fn seen(&self) -> Vec<Value> {
        let text = self.ebb.says(["status", "--flows", "--json"]);
        serde_json::from_str(&text).unwrap()
    }
}

impl Scene {
    pub fn new(test: &str) -> Self {
        let hosts = Hosts::new([10, 78, 0]);
        hosts.enter("b");
        let listener = TcpListener::bind((hosts.address("b"), 7_000)).unwrap();
        hosts.enter("a");
        Self {
            grounds: Grounds::new(test),
            hosts,
            listener,
        }
    }

    /// A process that enters a new cgroup, connects at once and gets some bytes.
    pub fn connect_from(&self, group: &str) -> Client {
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

    /// A gateway `home` with a rule `console`, on an interface that has nobody behind it.
    pub fn write_gateway(&self) {
        let pair = "link add lan0 type veth peer name far0";
        let status = Command::new("ip").args(pair.split(' ')).status();
        assert!(status.unwrap().success());
        let rule = "[[gateway.rule]]\nname = \"console\"\nclient = \"192.168.7.2\"\n";
        self.write("home.toml", &format!("[gateway]\nlan = \"lan0\"\n{rule}"));
    }

    /// What arrives from now on is carried at this rate, with a queue before it.
    pub fn narrow(&self, rate: &str) {
        self.hosts.enter("b");
        let queue = format!("qdisc add dev cable root tbf rate {rate} burst 15k limit 60k");
        let status = Command::new("tc").args(queue.split(' ')).status();
        self.hosts.enter("a");
        assert!(status.unwrap().success());
    }

    /// The connections of a rule for what arrives: what they have carried under it.
    pub fn carried(&self, rule: &str) -> Vec<u64> {
        carried_by(&self.seen(), rule)
    }

    pub fn until_carried(&self, rule: &str, expected: &[u64]) {
        until(&format!("{rule} carries {expected:?}"), || {
            self.carried(rule) == expected
        });
    }
}

/// What is attached under this rule's name: what its connections have carried, of what arrives.
pub fn carried_by(seen: &[Value], rule: &str) -> Vec<u64> {
    let found = seen.iter().find(|it| it["target"]["name"] == rule);
    let flows = found.map_or(&[][..], |it| it["flows"].as_array().unwrap());
    let down = flows.iter().filter(|flow| flow["direction"] == "down");
    down.map(|flow| flow["payload_bytes"].as_u64().unwrap())
        .collect()
}

impl Deref for Scene {
    type Target = Grounds;

    fn deref(&self) -> &Grounds {
        &self.grounds
    }
}

impl Drop for Grounds {
    fn drop(&mut self) {
        let _ = self.cgroup.remove();
    }
}

impl Service {
    /// Returns when it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (heard, pipe) = (Arc::clone(&said), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        let service = Self { child, said };
        service.until_it_says("in force");
        service
    }

    pub fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    pub fn has_said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn until_it_says(&self, part: &str) {
        until(&format!("it says '{part}'"), || {
            self.has_said().contains(part)
        });
    }

    /// Has it read its rules again.
    pub fn reload(&self) {
        self.said.lock().unwrap().clear();
        self.send(Signal::SIGHUP);
        until("it has read its rules", || !self.has_said().is_empty());
    }

    pub fn end(mut self, signal: Signal) {
        self.send(signal);
        self.child.wait().unwrap();
    }

    /// One that has ended.
    pub fn none() -> Self {
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
