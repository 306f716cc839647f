// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb top`: what it says of a transfer both ways, and what its switch does.

mod support;
mod transfers;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{SERVER_IPV4, Testbed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Ebb, stderr, stdout};
use transfers::{home_link, path_with, program, words};

/// Sends and receives on one connection until it is told to end.
const BOTH_WAYS: &str = "
import socket, sys, threading
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
def drain():
    while s.recv(65536): pass
threading.Thread(target=drain, daemon=True).start()
while True: s.sendall(bytes(65536))
";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Not SIGKILL, which the command would outlive.
        let ebb = Pid::from_raw(self.0.id().cast_signed());
        let _ = kill(ebb, Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// One look of `ebb top --json`.
fn look(ebb: &Ebb) -> Value {
    let text = ebb.says(["top", "--json", "--count", "1", "--interval", "0.5"]);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The flows of one look, once there is one for each direction with traffic.
fn flows(ebb: &Ebb) -> Vec<Value> {
    let deadline = Instant::now() + support::PATIENCE;
    loop {
        let seen = look(ebb)["flows"].as_array().unwrap().clone();
        let is_moving = |flow: &Value| flow["rate_bit_per_s"].as_f64().unwrap() > 0.0;
        if seen.len() == 2 && seen.iter().all(is_moving) {
            return seen;
        }
        assert!(Instant::now() < deadline, "{seen:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_transfer_both_ways_is_seen_and_can_be_detached() {
    if !ebb_kernel::requires_root("a_transfer_both_ways_is_seen_and_can_be_detached") {
        return;
    }
    let ebb = Ebb::new();
    assert!(ebb.says(["top"]).contains("nothing is attached"));
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let path = testbed.path(0);
    let listening = path.server().run_in(|| TcpListener::bind((SERVER_IPV4, 0)));
    let listener = listening.unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut sending = stream.try_clone().unwrap();
        std::thread::spawn(move || while sending.write_all(&[0; 65_536]).is_ok() {});
        let mut buffer = [0; 65_536];
        while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let words = words([
        "python3",
        "-c",
        BOTH_WAYS,
        &SERVER_IPV4.to_string(),
        &port.to_string(),
    ]);
    let start = [env!("CARGO_BIN_EXE_ebb"), "run", "--"].map(str::to_owned);
    let all: Vec<String> = start.into_iter().chain(words).collect();
    let mut command = program(path.client(), &all);
    let running = command.envs(ebb.environment()).stdin(Stdio::null()).spawn();
    let _running = Ended(running.unwrap());

    let seen = flows(&ebb);
    for (direction, law) in [("down", "ebb"), ("up", "ledbat++")] {
        let flow = seen.iter().find(|flow| flow["direction"] == direction);
        let flow = flow.unwrap_or_else(|| panic!("no {direction} in {seen:?}"));
        assert_eq!(flow["law"], law);
        assert_eq!(flow["peer"], format!("{SERVER_IPV4}:{port}"));
        assert!(
            flow["program"].as_str().unwrap().starts_with("python3"),
            "{flow}"
        );
        assert_ne!(flow["mode"], "-");
        assert_ne!(flow["mode"], "free");
    }
    let text = ebb.says(["top"]);
    assert!(
        text.contains("python3[") && text.contains("HELD BACK"),
        "{text}"
    );

    let wrong = ebb.output(["top", "--interval", "soon"]);
    assert!(stderr(&wrong).contains("'soon' is not a number of seconds"));
    assert!(stdout(&wrong).is_empty());
    ebb.says(["detach", "--all"]);
    assert_eq!(look(&ebb)["flows"].as_array().unwrap().len(), 0);
}
