// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--upload-policy` and `ebb laws`: which congestion control a program's connections get.

mod support;

use std::io::Read;
use std::net::TcpListener;

use ebb_lab::emulator::{SERVER_IPV4, Testbed};
use support::{Ebb, stderr, stdout};
use transfers::{home_link, path_with, program, words};

mod transfers;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Connects, says which congestion control it has, sends 100 kB, says it again and waits until
/// all has arrived.
const UPLOAD: &str = "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
def told():
    print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())
told()
s.sendall(bytes(100000))
told()
s.shutdown(socket.SHUT_WR)
s.recv(1)
";

fn available() -> String {
    std::fs::read_to_string(AVAILABLE).unwrap()
}

#[test]
fn an_upload_gets_the_law_and_everything_else_stays_as_it_was() {
    if !ebb_kernel::requires_root("an_upload_gets_the_law_and_everything_else_stays_as_it_was") {
        return;
    }
    let ebb = Ebb::new();
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let path = testbed.path(0);
    let listener = path
        .server()
        .run_in(|| TcpListener::bind((SERVER_IPV4, 0)))
        .unwrap()
        .unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let receiving = std::thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert_eq!(received.len(), 100_000);
        }
    });
    let upload = words(["python3", "-c", UPLOAD, &SERVER_IPV4.to_string(), &port]);
    let under = |policies: &[&str]| {
        let run = ["run", "--summary"].iter().chain(policies).chain(&["--"]);
        let start = [env!("CARGO_BIN_EXE_ebb")].into_iter().chain(run.copied());
        let all: Vec<String> = start.map(str::to_owned).chain(upload.clone()).collect();
        let mut command = program(path.client(), &all);
        let output = command.envs(ebb.environment()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        output
    };
    let output = under(&["--upload-policy", "ledbat:target_us=20000"]);
    let names: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        assert!(
            name.starts_with("ebb") && name.ends_with("_ledbat"),
            "{name}"
        );
    }
    let said = stderr(&output);
    assert!(
        said.contains("0.1 MB sent, policy ledbat:target_us=20000"),
        "{said}"
    );

    let output = under(&[]);
    let said = stdout(&output);
    assert!(
        said.lines().all(|name| name.ends_with("_ebb_sender")),
        "{said}"
    );
    assert!(
        stderr(&output).contains("sent, policy ebb-sender;"),
        "{output:?}"
    );

    let output = under(&["--upload-policy", "none"]);
    assert_eq!(stdout(&output), "cubic\ncubic\n");
    receiving.join().unwrap();
    testbed.stop().unwrap();
}

#[test]
fn laws_can_be_selected_while_they_are_loaded() {
    if !ebb_kernel::requires_root("laws_can_be_selected_while_they_are_loaded") {
        return;
    }
    let ebb = Ebb::new();
    let names = ebb.says(["laws", "load", "tcp-lp", "ledbat++"]);
    assert_eq!(names, "ebb_tcp_lp\nebb_ledbatpp\n");
    assert!(names.lines().all(|name| available().contains(name)));
    assert!(
        ebb.says(["status"])
            .contains("ebb_tcp_lp, ebb_ledbatpp: tcp-lp ledbat++")
    );
    let again = ebb.output(["laws", "load", "reno"]);
    assert!(
        stderr(&again).contains("ebb laws unload"),
        "{}",
        stderr(&again)
    );
    ebb.says(["laws", "unload"]);
    assert!(!available().contains("ebb_tcp_lp"));
    assert!(!ebb.output(["laws", "unload"]).status.success());
}

#[test]
fn a_law_of_the_wrong_end_is_refused_with_those_that_fit() {
    let ebb = Ebb::new();
    let refused = ebb.output(["run", "--upload-policy", "vulture", "--", "true"]);
    let said = stderr(&refused);
    assert!(
        said.contains("vulture is a receiver law") && said.contains("tcp-lp"),
        "{said}"
    );
    let refused = ebb.output(["laws", "load", "ebb"]);
    assert!(stderr(&refused).contains("ebb is a receiver law"));
    let refused = ebb.output(["run", "--policy", "tcp-lp", "--", "true"]);
    assert!(stderr(&refused).contains("tcp-lp is a sender law"));
}
