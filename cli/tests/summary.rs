// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line of `ebb run --summary`: bytes each way, time held back, queueing delay, peers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use ebb_kernel::until;
use ebb_lab::emulator::{CLIENT_IPV4, Path, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use support::{Ebb, stderr};
use transfers::{home_link, path_with, program, words};

mod support;
mod transfers;

const SENT_BYTES: usize = 400_000;
const RECEIVED_BYTES: usize = 3_000_000;

/// Sends, then receives to the end. (Linux tells no round trip of a connection whose own end is shut
/// down, so that the user backend could not see that others want the link.)
const CLIENT: &str = "
import socket, sys, time
s = socket.create_connection((sys.argv[1], 8081))
s.sendall(bytes(int(sys.argv[2])))
while s.recv(65536):
    pass
time.sleep(0.2)
";

/// Receives all, then sends.
fn serve(path: &Path) {
    let bind = || TcpListener::bind((SERVER_IPV4, 8_081));
    let listener = path.server().run_in(bind).unwrap().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut vec![0; SENT_BYTES]).unwrap();
        stream.write_all(&vec![1; RECEIVED_BYTES]).unwrap();
    });
}

/// Somebody else's greedy transfer to the client.
fn disturb(path: &Path) -> TcpStream {
    let bind = || TcpListener::bind((CLIENT_IPV4, 8_080));
    let listener = path.client().run_in(bind).unwrap().unwrap();
    let connect = || TcpStream::connect((CLIENT_IPV4, 8_080));
    let stream = path.server().run_in(connect).unwrap().unwrap();
    let mut sending = stream.try_clone().unwrap();
    std::thread::spawn(move || while sending.write_all(&[1; 16_384]).is_ok() {});
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 65_536];
        while matches!(stream.read(&mut buffer), Ok(1..)) {}
    });
    stream
}

fn start(path: &Path, ebb: &Ebb, options: &[&str]) -> Child {
    let (address, bytes) = (SERVER_IPV4.to_string(), SENT_BYTES.to_string());
    let own = env!("CARGO_BIN_EXE_ebb");
    let run = [&[own, "run", "--summary"], options, &["--"]].concat();
    let client = words(["python3", "-c", CLIENT, &address, &bytes]);
    let run = run.into_iter().map(str::to_owned);
    let all: Vec<String> = run.chain(client).collect();
    let mut command = program(path.client(), &all);
    command.envs(ebb.environment()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The number behind some words of the line.
fn number_after(line: &str, words: &str) -> Option<f64> {
    let rest = line.split_once(words)?.1;
    rest.split_whitespace().next()?.parse().ok()
}

/// What is not as it must be in the line.
fn misses(backend: &str, line: &str) -> Vec<String> {
    let received = number_after(line, "ebb: ");
    let sent = line.split(" MB sent, policy").next();
    let sent = sent.and_then(|start| start.rsplit(' ').next()?.parse::<f64>().ok());
    let held_back_s = number_after(line, "; held back ");
    let queue_ms = number_after(line, "; queueing delay ");
    let is_in = |value: Option<f64>, least: f64, most: f64| {
        value.is_some_and(|value| (least..=most).contains(&value))
    };
    let checks = [
        // The user backend does not see the last bytes of a connection.
        ("arrived", is_in(received, 2.5, 3.0)),
        ("sent", is_in(sent, 0.3, 0.4)),
        ("held back", is_in(held_back_s, 0.3, 30.0)),
        ("queueing delay", is_in(queue_ms, 0.0, 300.0)),
        ("peer", line.contains("; peer 10.77.0.1;")),
        ("backend", line.ends_with(&format!("; {backend} backend"))),
        ("one line", line.lines().count() == 1),
    ];
    let wrong = checks.iter().filter(|(_, holds)| !holds);
    wrong.map(|(what, _)| format!("{what}: {line}")).collect()
}

#[test]
fn the_line_tells_bytes_each_way_time_held_back_queueing_delay_and_peers() {
    let name = "the_line_tells_bytes_each_way_time_held_back_queueing_delay_and_peers";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let testbed = Testbed::start(vec![path_with(home_link()); 2]).unwrap();
        let ebb = Ebb::new();
        let runs = testbed.paths().iter().zip(["kernel", "user"]);
        let children: Vec<_> = runs
            .map(|(path, backend)| {
                serve(path);
                (backend, start(path, &ebb, &["--backend", backend]))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(2_000));
        let others: Vec<_> = testbed.paths().iter().map(disturb).collect();
        std::thread::sleep(Duration::from_millis(2_000));
        for stream in others {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let mut wrong = Vec::new();
        for (backend, child) in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            wrong.extend(misses(backend, stderr(&output).trim_end()));
            eprintln!("{}", stderr(&output));
        }
        Attempt::over(&testbed.stop().unwrap(), wrong)
    });
}

#[test]
fn what_is_sent_under_no_policy_is_told_as_well() {
    if !ebb_kernel::requires_root("what_is_sent_under_no_policy_is_told_as_well") {
        return;
    }
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let ebb = Ebb::new();
    serve(testbed.path(0));
    let child = start(testbed.path(0), &ebb, &["--upload-policy", "none"]);
    let line = stderr(&child.wait_with_output().unwrap());
    assert!(
        line.contains("; 0.4 MB sent, under no policy; ") && line.contains("3.0 MB arrived"),
        "{line}"
    );
}

#[test]
fn what_came_before_it_was_detached_is_told() {
    if !ebb_kernel::requires_root("what_came_before_it_was_detached_is_told") {
        return;
    }
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let ebb = Ebb::new();
    serve(testbed.path(0));
    let child = start(testbed.path(0), &ebb, &["--backend", "kernel"]);
    // The client sends first; what it receives after that takes 2.5 s.
    let mut status = serde_json::Value::Null;
    until("0.2 MB have arrived", || {
        let seen = ebb.says(["status", "--flows", "--json"]);
        status = serde_json::from_str(&seen).unwrap();
        let flows = status[0]["flows"].as_array();
        flows.into_iter().flatten().any(|flow| {
            flow["direction"] == "down" && flow["payload_bytes"].as_u64() > Some(200_000)
        })
    });
    let cgroup = status[0]["target"]["cgroup"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let detached = ebb.output(["detach", "--cgroup", &cgroup]);
    let line = stderr(&child.wait_with_output().unwrap());
    assert!(detached.status.success(), "{} {status}", stderr(&detached));
    // The first line says that the policy ended before the command.
    let arrived = line.lines().last().and_then(|it| number_after(it, "ebb: "));
    assert!(
        arrived.is_some_and(|megabytes| (0.2..2.9).contains(&megabytes))
            && line.contains("over 1 connection,")
            && line.contains("; peer 10.77.0.1;"),
        "{line}"
    );
}
