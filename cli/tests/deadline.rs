// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run --deadline --size`, and the same in a rule: in time where the path carries it, and a fair
//! share where not.

#[path = "transfers/greedy.rs"]
mod greedy;
#[path = "transfers/one_way.rs"]
mod one_way;
mod support;
mod transfers;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_keeper::Direction;
use ebb_lab::emulator::{Path, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use greedy::{Others, receive, serve};
use one_way::{OURS, others};
use serde_json::Value;
use support::serving::{Grounds, Service};
use support::{Ebb, PATIENCE, Running, stderr};
use transfers::{program, quick_path, words};

/// Sends so much, and takes whatever comes; is seen to the end.
const CLIENT: &str = "
import socket, sys, time
s = socket.create_connection((sys.argv[1], 8081))
s.sendall(bytes(int(sys.argv[2])))
s.shutdown(socket.SHUT_WR)
while s.recv(65536):
    pass
time.sleep(0.3)
";

const RULE: &str = "rule";

/// Beside one greedy flow at 10 Mbit/s.
struct Case {
    /// Or `rule`, which is a rule's.
    backend: &'static str,
    direction: Direction,
    bytes: usize,
    deadline: &'static str,
    size: &'static str,
    /// How long it may take. *Units:* seconds.
    takes_s: [f64; 2],
    /// What is said of the deadline in the end, one of these.
    says: &'static [&'static str],
}

const CASES: [Case; 5] = [
    in_time("kernel", Direction::Down),
    in_time("user", Direction::Up),
    too_late("kernel", Direction::Up),
    too_late("user", Direction::Down),
    in_time(RULE, Direction::Down),
];

/// It needs 1 Mbit/s: much less than a fair share, with which it would take 7 s.
const fn in_time(backend: &'static str, direction: Direction) -> Case {
    Case {
        backend,
        direction,
        bytes: 2_500_000,
        deadline: "20s",
        // Of what is sent the user backend does not see all. What is left comes as it yields; to a
        // rule it is the next transfer.
        size: match (backend.as_bytes(), direction) {
            (b"rule", _) => "2.5MB",
            (_, Direction::Down) => "2.45MB",
            (_, Direction::Up) => "2.2MB",
        },
        takes_s: [12.0, 40.0],
        // It is looked at once in a second.
        says: &[
            ": done; ",
            ": done, 1 s late; ",
            ": done\n",
            ": done, 1 s late\n",
        ],
    }
}

/// It needs more than the link has: plain TCP takes about 10 s. As it yields it would take more
/// than a minute.
const fn too_late(backend: &'static str, direction: Direction) -> Case {
    Case {
        backend,
        direction,
        bytes: 4_000_000,
        deadline: "3s",
        size: "3.85MB",
        takes_s: [4.0, 25.0],
        says: &[" s late; "],
    }
}

/// A transfer under a deadline, and what holds it if that is a service.
struct Transfer {
    child: Child,
    began: Instant,
    under: Option<Rule>,
}

/// A service with a rule for what runs in a cgroup `mine`, in the order in which it is to end.
struct Rule {
    _service: Service,
    grounds: Grounds,
}

impl Rule {
    fn of(case: &Case) -> Option<Self> {
        let grounds = (case.backend == RULE).then(|| Grounds::new("deadline"))?;
        let (by, size) = (case.deadline, case.size);
        let wish = format!("deadline = \"{by}\"\nsize = \"{size}\"\n");
        grounds.write("a.toml", &(grounds.rule("mine") + &wish));
        Some(Self {
            _service: grounds.serve(),
            grounds,
        })
    }
}

impl Transfer {
    /// Waits for its end; answers how long that took, and what is said of it then.
    fn end(self) -> (f64, String) {
        let output = self.child.wait_with_output().unwrap();
        let took_s = self.began.elapsed().as_secs_f64();
        let Some(rule) = self.under else {
            return (took_s, stderr(&output));
        };
        // It looks once in a second.
        std::thread::sleep(Duration::from_millis(1_500));
        (took_s, rule.grounds.ebb.says(["status"]))
    }
}

fn start(path: &Path, ebb: &Ebb, case: &Case, under: Option<Rule>) -> Transfer {
    let [down, up] = match case.direction {
        Direction::Down => [case.bytes, 0],
        Direction::Up => [0, case.bytes],
    };
    serve(
        path.server(),
        (SERVER_IPV4, OURS),
        move |mut stream: &TcpStream| {
            // It may be killed in the middle.
            let _ = stream.write_all(&vec![7; down]);
            let _ = stream.shutdown(Shutdown::Write);
            receive(stream);
        },
    );
    let own = env!("CARGO_BIN_EXE_ebb");
    let address = SERVER_IPV4.to_string();
    let up = up.to_string();
    let client = ["python3", "-c", CLIENT, &address, &up];
    let run = [own, "run", "--summary", "--backend", case.backend];
    let wish = ["--deadline", case.deadline, "--size", case.size, "--"];
    let all = match &under {
        Some(rule) => rule.grounds.words_in("mine", &words(client)),
        None => [&run[..], &wish, &client]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    let mut command = program(path.client(), &all);
    command.envs(ebb.environment()).stderr(Stdio::piped());
    Transfer {
        began: Instant::now(),
        child: command.spawn().unwrap(),
        under,
    }
}

/// What is not as it must be.
fn misses(case: &Case, took_s: f64, said: &str) -> Vec<String> {
    let [least_s, most_s] = case.takes_s;
    let told = format!(
        "{} {:?}, {}: {took_s:.1} s: {said}",
        case.backend, case.direction, case.deadline
    );
    eprintln!("{told}");
    let is_right =
        (least_s..most_s).contains(&took_s) && case.says.iter().any(|it| said.contains(it));
    (!is_right).then_some(told).into_iter().collect()
}

#[test]
fn a_transfer_is_done_by_its_deadline_and_has_a_fair_share_where_that_cannot_be() {
    let name = "a_transfer_is_done_by_its_deadline_and_has_a_fair_share_where_that_cannot_be";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let testbed = Testbed::start(vec![quick_path(); CASES.len()]).unwrap();
        let ebb = Ebb::new();
        let pairs = testbed.paths().iter().zip(&CASES);
        // Before there is anything to carry: it takes a while.
        let rules = CASES.each_ref().map(Rule::of);
        let others: Vec<Others> = pairs
            .clone()
            .map(|(path, case)| others(path, case.direction))
            .collect();
        std::thread::sleep(Duration::from_secs(3));
        let all = pairs.zip(rules);
        let all = all.map(|((path, case), rule)| start(path, &ebb, case, rule));
        let all: Vec<Transfer> = all.collect();
        let wrong = std::thread::scope(|scope| {
            let wait = |(transfer, case): (Transfer, &'static Case)| {
                scope.spawn(move || {
                    let (took_s, said) = transfer.end();
                    misses(case, took_s, &said)
                })
            };
            let all: Vec<_> = all.into_iter().zip(&CASES).map(wait).collect();
            let all = all.into_iter().map(|thread| thread.join().unwrap());
            all.flatten().collect::<Vec<String>>()
        });
        drop(others);
        Attempt::over(&testbed.stop().unwrap(), wrong)
    });
}

/// Fetches once, and again when it is told to.
const FETCHES: &str = "
import socket, sys
s = socket.create_connection((sys.argv[1], 8081))
def fetch(size):
    s.sendall(size.to_bytes(8, 'little'))
    while size:
        size -= len(s.recv(min(size, 65536)))
fetch(1000000)
print('ready', flush=True)
sys.stdin.readline()
fetch(100000)
sys.stdin.readline()
";

/// As much as is asked for.
fn answer(mut stream: &TcpStream) {
    let mut size = [0; 8];
    while stream.read_exact(&mut size).is_ok() {
        let content = vec![7; u64::from_le_bytes(size) as usize];
        stream.write_all(&content).unwrap();
    }
}

/// What has been done by the deadline of all that is attached, and how that stands.
fn done(ebb: &Ebb) -> (u64, Value) {
    let text = ebb.says(["status", "--json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    let deadline = &records[0]["deadline"];
    let done = deadline["done_bytes"].as_u64().unwrap();
    (done, deadline["standing"].clone())
}

#[test]
fn what_came_before_the_deadline_was_set_is_not_counted() {
    if !ebb_kernel::requires_root("what_came_before_the_deadline_was_set_is_not_counted") {
        return;
    }
    let testbed = Testbed::start(vec![quick_path()]).unwrap();
    let path = testbed.path(0);
    serve(path.server(), (SERVER_IPV4, OURS), answer);
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let client = words(["python3", "-c", FETCHES, &SERVER_IPV4.to_string()]);
        let mut client = Running::start(&mut program(path.client(), &client));
        let pid = client.child.id().to_string();
        let mut attach = ebb.command(["attach", "--pid", &pid, "--deadline", "3h"]);
        let attach = attach.args(["--size", "1MB", "--backend", backend]);
        let output = attach.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        client.go_on();
        let begun = Instant::now();
        while done(&ebb).0 < 90_000 {
            assert!(begun.elapsed() < PATIENCE, "{backend}: {:?}", done(&ebb));
            std::thread::sleep(Duration::from_millis(100));
        }
        let (bytes, standing) = done(&ebb);
        assert!(
            bytes < 200_000 && standing == "on-time",
            "{backend}: {bytes} {standing}"
        );
        ebb.says(["detach", "--pid", &pid]);
        client.go_on();
        assert_eq!(client.status(), Some(0));
    }
    testbed.stop().unwrap();
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
