// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The shell behind an emulated link, with real programs in it.
mod common;

use std::fs;
use std::path::Path;

use ebb_lab::emulator::PathSpec;
use ebb_lab::shell::{self, Shell};
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};

/// Runs `sh -c script` behind a link without a bottleneck; answers the exit status.
fn run(script: &str) -> u8 {
    run_behind(PathSpec::default(), None, script)
}

fn run_behind(path: PathSpec, server: Option<String>, script: &str) -> u8 {
    let command = ["sh", "-c", script].map(Into::into).to_vec();
    let shell = Shell {
        path,
        server,
        command,
    };
    shell::run(&shell).unwrap()
}

fn link(rate_mbit_per_s: u32, delay_ms: u64) -> PathSpec {
    let rate = Rate::from_mbit_per_s(rate_mbit_per_s);
    let delay = Nanos::from_millis(delay_ms);
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
    PathSpec::new(link.clone(), link)
}

fn read(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file))
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn answers_the_exit_status_of_its_command() {
    if !common::is_root("answers_the_exit_status_of_its_command") {
        return;
    }
    assert_eq!(run("exit 0"), 0);
    assert_eq!(run("exit 7"), 7);
    assert_eq!(run("kill -TERM $$"), 128 + 15);
}

/// Fetches a page when the server is there; prints its length and the seconds that
/// the connection took.
const CLIENT: &str = r#"
import os, socket, sys, time, urllib.request
host = os.environ["EBB_LAB_SERVER"]
for attempt in range(100):
    try:
        begin = time.monotonic()
        socket.create_connection((host, 80), timeout=3).close()
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
took = time.monotonic() - begin
print(len(urllib.request.urlopen(f"http://{host}/page").read()), took)
"#;

#[test]
fn fetches_from_the_server_through_the_link() {
    if !common::is_root("fetches_from_the_server_through_the_link") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("page"), vec![b'x'; 50_000]).unwrap();
    fs::write(path.join("client.py"), CLIENT).unwrap();
    let here = path.display();
    // In a session of its own, as daemons are.
    let daemon = format!("echo $$ > {here}/pid; exec python3 -m http.server 80 2> {here}/log");
    let server = format!("cd {here}; setsid sh -c '{daemon}' &");
    let fetch = format!("for i in 1 2 3; do python3 {here}/client.py; done > {here}/result");
    assert_eq!(run_behind(link(10, 50), Some(server), &fetch), 0);

    let results = read(path, "result");
    let results: Vec<_> = results
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .collect();
    assert!(
        results.iter().all(|(length, _)| *length == "50000"),
        "{results:?}"
    );
    // A round trip of 100 ms; a busy machine is not late each time.
    let took_s = results
        .iter()
        .map(|(_, took_s)| took_s.parse::<f64>().unwrap());
    let least_s = took_s.fold(f64::INFINITY, f64::min);
    assert!((0.100..0.150).contains(&least_s), "{results:?}");
    // Who has ended is in no namespace, even where init has not buried it yet.
    let namespace = format!("/proc/{}/ns/net", read(path, "pid"));
    assert!(fs::read_link(namespace).is_err(), "the server has ended");
}

#[test]
fn changes_nothing_but_the_network() {
    if !common::is_root("changes_nothing_but_the_network") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let script = format!("cat /proc/self/mountinfo > {here}/mounts");
    assert_eq!(run_behind(link(1, 0), None, &script), 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert_eq!(read(directory.path(), "mounts"), mounts.trim());
    let own = fs::read_link("/proc/thread-self/ns/net").unwrap();
    assert_eq!(
        run(&format!("readlink /proc/self/ns/net > {here}/namespace")),
        0
    );
    assert_ne!(Path::new(&read(directory.path(), "namespace")), own);
}
