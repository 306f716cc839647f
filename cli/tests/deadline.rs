// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run --deadline --size`: in time where the path carries it, and a fair share where not.

#[path = "transfers/greedy.rs"]
mod greedy;
mod support;
mod transfers;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{Path, PathSpec, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use greedy::{Others, serve};
use support::{Ebb, stderr};
use transfers::program;

const OURS: u16 = 8_081;
const OTHERS: u16 = 8_080;

/// Takes whatever comes; is seen to the end.
const CLIENT: &str = "
import socket, sys, time
s = socket.create_connection((sys.argv[1], 8081))
while s.recv(65536):
    pass
time.sleep(0.3)
";

/// Beside one greedy flow at 10 Mbit/s.
struct Case {
    backend: &'static str,
    bytes: usize,
    deadline: &'static str,
    size: &'static str,
    /// How long it may take. *Units:* seconds.
    takes_s: [f64; 2],
    /// What is said of the deadline in the end.
    says: &'static str,
}

const CASES: [Case; 4] = [
    in_time("kernel"),
    in_time("user"),
    too_late("kernel"),
    too_late("user"),
];

/// It needs 1 Mbit/s: much less than a fair share, with which it would take 7 s.
const fn in_time(backend: &'static str) -> Case {
    Case {
        backend,
        bytes: 2_500_000,
        deadline: "20s",
        size: "2.49MB",
        // What little is left beyond the size comes as it yields.
        takes_s: [12.0, 22.0],
        says: ": done; ",
    }
}

/// It needs more than the link has: plain TCP takes about 10 s. As it yields it would take more
/// than a minute.
const fn too_late(backend: &'static str) -> Case {
    Case {
        backend,
        bytes: 4_000_000,
        deadline: "3s",
        size: "3.99MB",
        takes_s: [4.0, 25.0],
        says: " s late; ",
    }
}

/// Two flows have their fair shares of it within a few seconds.
fn path() -> PathSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(20));
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(40));
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link.clone(), link)
    }
}

fn start(path: &Path, ebb: &Ebb, case: &Case) -> Child {
    let bytes = case.bytes;
    serve(
        path.server(),
        (SERVER_IPV4, OURS),
        move |mut stream: &TcpStream| {
            // It may be killed in the middle.
            let _ = stream.write_all(&vec![7; bytes]);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read(&mut [0]);
        },
    );
    let own = env!("CARGO_BIN_EXE_ebb");
    let address = SERVER_IPV4.to_string();
    let run = [own, "run", "--summary", "--backend", case.backend];
    let wish = ["--deadline", case.deadline, "--size", case.size, "--"];
    let client = ["python3", "-c", CLIENT, &address];
    let all = run.into_iter().chain(wish).chain(client);
    let all: Vec<String> = all.map(str::to_owned).collect();
    let mut command = program(path.client(), &all);
    command.envs(ebb.environment()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What is not as it must be.
fn misses(case: &Case, took_s: f64, said: &str) -> Vec<String> {
    let [least_s, most_s] = case.takes_s;
    let told = format!("{}, {}: {took_s:.1} s: {said}", case.backend, case.deadline);
    eprintln!("{told}");
    let is_right = (least_s..most_s).contains(&took_s) && said.contains(case.says);
    (!is_right).then_some(told).into_iter().collect()
}

#[test]
fn a_transfer_is_done_by_its_deadline_and_has_a_fair_share_where_that_cannot_be() {
    let name = "a_transfer_is_done_by_its_deadline_and_has_a_fair_share_where_that_cannot_be";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let testbed = Testbed::start(vec![path(); CASES.len()]).unwrap();
        let ebb = Ebb::new();
        let begin = |path: &Path| {
            Others::expect(path, OTHERS);
            Others::begin_download(path, OTHERS)
        };
        let others: Vec<Others> = testbed.paths().iter().map(begin).collect();
        std::thread::sleep(Duration::from_secs(3));
        let began = Instant::now();
        let pairs = testbed.paths().iter().zip(&CASES);
        let children: Vec<Child> = pairs.map(|(path, case)| start(path, &ebb, case)).collect();
        let wrong = std::thread::scope(|scope| {
            let wait = |(child, case): (Child, &'static Case)| {
                scope.spawn(move || {
                    let output = child.wait_with_output().unwrap();
                    misses(case, began.elapsed().as_secs_f64(), &stderr(&output))
                })
            };
            let all: Vec<_> = children.into_iter().zip(&CASES).map(wait).collect();
            let all = all.into_iter().map(|thread| thread.join().unwrap());
            all.flatten().collect::<Vec<String>>()
        });
        drop(others);
        Attempt::over(&testbed.stop().unwrap(), wrong)
    });
}

#[test]
fn a_deadline_without_a_size_and_one_that_has_passed_are_refused() {
    let ebb = Ebb::new();
    for (options, told) in [
        (
            ["--deadline", "3h", "--minimum", "none"],
            "Add --size, as 40GB",
        ),
        (
            ["--deadline", "2020-01-01 06:00", "--size", "1GB"],
            "has passed",
        ),
        (
            ["--deadline", "soon", "--size", "1GB"],
            "as 06:00, 2026-11-26 06:00 or 1h30m",
        ),
        (
            ["--deadline", "06:00", "--size", "40"],
            "as 40GB, 1.5TB or 700MiB",
        ),
    ] {
        let mut run = ebb.command(["run"]);
        let output = run.args(options).args(["--", "true"]).output().unwrap();
        let said = stderr(&output);
        assert!(
            !output.status.success() && said.contains(told),
            "{options:?}: {said}"
        );
    }
}
