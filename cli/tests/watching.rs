// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb top`: what it says of a transfer both ways, and what its switch does.

mod support;
mod transfers;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::until;
use ebb_lab::emulator::{Path, SERVER_IPV4, Testbed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
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

/// Receives on a connection, and on one more for each SIGUSR1.
const MORE_AND_MORE: &str = "
import signal, socket, sys, threading
def receive(*_):
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
    def drain():
        while s.recv(65536): s.sendall(b'on')
    threading.Thread(target=drain, daemon=True).start()
signal.signal(signal.SIGUSR1, receive)
receive()
while True: signal.pause()
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

/// The flows of one look, once there is one for each direction with traffic.
fn flows(ebb: &Ebb) -> Vec<Value> {
    let deadline = Instant::now() + support::PATIENCE;
    loop {
        let seen = ebb.look("0.5")["flows"].as_array().unwrap().clone();
        let is_moving = |flow: &Value| flow["rate_bit_per_s"].as_f64().unwrap() > 0.0;
        if seen.len() == 2 && seen.iter().all(is_moving) {
            return seen;
        }
        assert!(Instant::now() < deadline, "{seen:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Sends and receives on every connection; answers its port.
fn serve(path: &Path) -> u16 {
    let listening = path.server().run_in(|| TcpListener::bind((SERVER_IPV4, 0)));
    let listener = listening.unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut sending = stream.try_clone().unwrap();
            std::thread::spawn(move || while sending.write_all(&[0; 65_536]).is_ok() {});
            std::thread::spawn(move || {
                let mut buffer = [0; 65_536];
                while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
            });
        }
    });
    port
}

/// A Python script under `ebb run`, told the server.
fn start(ebb: &Ebb, path: &Path, script: &str, port: u16) -> Ended {
    let (address, port) = (SERVER_IPV4.to_string(), port.to_string());
    let run = words([env!("CARGO_BIN_EXE_ebb"), "run", "--"]).into_iter();
    let script = words(["python3", "-c", script, &address, &port]);
    let mut command = program(path.client(), &run.chain(script).collect::<Vec<_>>());
    let running = command.envs(ebb.environment()).stdin(Stdio::null()).spawn();
    Ended(running.unwrap())
}

/// What a keeper answers to a request, as `ebb top` makes it.
fn ask(ebb: &Ebb, attachment: &str, request: &Value) -> Value {
    let [(_, directory)] = ebb.environment();
    support::ask(&directory.join(format!("{attachment}.sock")), request)
}

fn cause(reply: &Value) -> &str {
    reply["refused"]["cause"].as_str().unwrap_or_default()
}

/// Direction and whether it is held back, of every connection, in order.
fn held(ebb: &Ebb) -> Vec<(String, bool)> {
    let seen = ebb.look("0.1")["flows"].as_array().unwrap().clone();
    let mut held: Vec<_> = seen
        .iter()
        .map(|flow| {
            let is_acting = flow["is_acting"].as_bool().unwrap();
            assert_eq!(flow["mode"] == "free", !is_acting, "{flow}");
            let direction = flow["direction"].as_str().unwrap().to_owned();
            (direction, is_acting)
        })
        .collect();
    held.sort();
    held
}

fn of_each(count: usize, down: bool, up: bool) -> Vec<(String, bool)> {
    let each = [("down", down), ("up", up)];
    let all = each.map(|(way, is_held)| vec![(way.to_owned(), is_held); count]);
    all.concat()
}

#[test]
fn a_connection_and_a_process_are_switched_by_themselves_with_the_kernel_backend() {
    let name = "a_connection_and_a_process_are_switched_by_themselves_with_the_kernel_backend";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let ebb = Ebb::new();
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let path = testbed.path(0);
    let _running = start(&ebb, path, MORE_AND_MORE, serve(path));
    let seen = flows(&ebb);
    let attachment = seen[0]["attachment"].as_str().unwrap();
    let (cookie, pid) = (&seen[0]["cookie"], &seen[0]["pid"]);
    let switch = |whose: Value, to: Value| {
        let request = json!({ "switch": { "whose": whose, "to": to } });
        ask(&ebb, attachment, &request)
    };
    let one =
        |direction: &str| json!({ "connection": { "cookie": cookie, "direction": direction } });
    let process = || json!({ "process": { "pid": pid } });

    assert_eq!(switch(one("up"), json!("free")), "done");
    assert_eq!(held(&ebb), of_each(1, true, false));
    assert_eq!(switch(one("down"), json!("free")), "done");
    assert_eq!(switch(one("up"), json!("held")), "done");
    assert_eq!(held(&ebb), of_each(1, false, true));
    assert!(ebb.says(["status", "--flows"]).contains(", free\n"));

    assert_eq!(switch(process(), json!("free")), "done");
    assert_eq!(held(&ebb), of_each(1, false, false));
    let python = Pid::from_raw(i32::try_from(pid.as_i64().unwrap()).unwrap());
    kill(python, Signal::SIGUSR1).unwrap();
    until("the new connection is free, too", || {
        held(&ebb) == of_each(2, false, false)
    });
    assert_eq!(switch(process(), json!("held")), "done");
    assert_eq!(held(&ebb), of_each(2, true, true));
    // The unit is switched with all that is in it, and what comes later is as all are.
    assert_eq!(switch(process(), json!("free")), "done");
    let unit = json!({ "set-observing": false });
    assert_eq!(ask(&ebb, attachment, &unit), "done");
    kill(python, Signal::SIGUSR1).unwrap();
    until("the third connection is held back", || {
        held(&ebb) == of_each(3, true, true)
    });

    // A policy that begins while all is free begins free.
    for request in [
        json!({ "set-observing": true }),
        json!({ "set-upload-policy": "none" }),
        json!({ "set-upload-policy": "ledbat++" }),
    ] {
        assert_eq!(ask(&ebb, attachment, &request), "done");
    }
    assert_eq!(held(&ebb), of_each(3, false, false));

    let policy = switch(process(), json!({ "policy": "ebb:target_us=9000" }));
    assert!(
        cause(&policy).contains("together has one policy"),
        "{policy}"
    );
    let nobody = json!({ "connection": { "cookie": 1, "direction": "up" } });
    let nobody = switch(nobody, json!("free"));
    assert!(
        cause(&nobody).contains("the connection has ended"),
        "{nobody}"
    );
    let nobody = switch(json!({ "process": { "pid": 4_194_305 } }), json!("free"));
    assert!(cause(&nobody).contains("process 4194305: "), "{nobody}");
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
    let port = serve(path);
    let _running = start(&ebb, path, BOTH_WAYS, port);

    let seen = flows(&ebb);
    for (direction, law) in [("down", "ebb"), ("up", "ebb-sender")] {
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
    assert_eq!(ebb.look("0.1")["flows"].as_array().unwrap().len(), 0);
}

/// On a terminal, with the attachment chosen: `l` would ask for a policy, `d` would detach it.
#[test]
fn control_and_a_letter_is_not_that_letters_command_and_the_end_of_input_is_the_end() {
    let ebb = Ebb::new();
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleep.id().to_string();
    ebb.says(["attach", "--backend=user", "--pid", &pid]);
    let top = concat!(
        "stty rows 24 columns 80; exec ",
        env!("CARGO_BIN_EXE_ebb"),
        " top"
    );
    let mut script = Command::new("timeout");
    script.args(["60", "script", "-qec", top, "/dev/null"]);
    let script = script.envs(ebb.environment()).stdin(Stdio::piped());
    let mut typed = script.stdout(Stdio::piped()).spawn().unwrap();
    let mut terminal = typed.stdin.take().unwrap();
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    let mut output = typed.stdout.take().unwrap();
    while !String::from_utf8_lossy(&shown).contains("detach") {
        let length = output.read(&mut piece).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend(&piece[..length]);
    }
    terminal.write_all(b"\x0c\x04").unwrap();
    output.read_to_end(&mut shown).unwrap();
    assert_eq!(typed.wait().unwrap().code(), Some(0));
    let shown = String::from_utf8_lossy(&shown);
    assert!(!shown.contains("policy for"), "{shown}");
    assert!(ebb.says(["status"]).contains(&format!("process {pid}")));
    ebb.says(["detach", "--pid", &pid]);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}
