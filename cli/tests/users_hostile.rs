// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Users who want what is not theirs, and clients that are broken, in front of the service.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::{requires_root, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use support::serving::Service;
use support::stderr;
use support::users::{ADA, BOB, Users, as_user};

/// Connects, says so, and stays.
const HOLD: &str = "exec 3<>/dev/tcp/10.78.0.2/7000; read -r line";
/// What a service may have more after all that than before. Allocators keep some.
const MOST_GROWN_KIB: u64 = 16 << 10;

/// A command of Ada's that is held, with one connection.
struct Held {
    child: Child,
    _stream: TcpStream,
    id: String,
}

impl Held {
    fn start(users: &Users) -> Self {
        let mut command = users.ebb(ADA, ["run", "--", "bash", "-c", HOLD]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let stream = users.scene.listener.accept().unwrap().0;
        let id = users.sees(ADA)[0]["id"].as_str().unwrap().to_owned();
        Self {
            child,
            _stream: stream,
            id,
        }
    }

    fn shell(&self) -> u32 {
        ebb_sockets::descendants_of(self.child.id())[0]
    }

    /// Ends it; what was said of it.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success() || output.status.code() == Some(1));
        stderr(&output)
    }
}

/// Why something was refused.
fn refusal(reply: &Value) -> String {
    let cause = &reply["refused"]["cause"];
    cause
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned()
}

fn started_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let mut words = after_name.split_whitespace();
    words.nth(19).unwrap().parse().unwrap()
}

#[test]
fn what_is_anothers_a_user_can_neither_see_nor_touch_nor_have_held() {
    let name = "what_is_anothers_a_user_can_neither_see_nor_touch_nor_have_held";
    if !requires_root(name) {
        return;
    }
    let users = Users::new("h");
    let service = users.serve();
    let held = Held::start(&users);
    let (id, shell) = (&held.id, held.shell());
    assert!(users.sees(BOB).is_empty());
    assert_eq!(users.ask(BOB, &json!("records")), json!({"records": []}));
    let process = json!({"process": {"pid": shell, "started_ticks": started_ticks(shell)}});
    let found = users.ask(BOB, &json!({"find": process}));
    assert_eq!(found, json!({"records": []}));
    for request in [
        json!("flows"),
        json!("detach"),
        json!({"set-policy": "vulture"}),
        json!({"set-minimum": "1gbit"}),
        json!({"set-observing": true}),
        json!({"switch": {"whose": {"process": {"pid": shell}}, "to": "free"}}),
    ] {
        let asked = json!({"ask": {"id": id, "request": request}});
        let told = refusal(&users.ask(BOB, &asked));
        assert!(told.contains("nothing of the name"), "{request}: {told}");
    }
    // Nor does another process of the same user end it.
    for user in [ADA, BOB] {
        let told = refusal(&users.ask(user, &json!({"finish": {"id": id}})));
        assert!(told.contains("nothing of the name"), "{told}");
    }
    let hold = |whose: Value| refusal(&users.ask(BOB, &json!({"hold": {"whose": whose}})));
    let group = users.own_cgroup(ADA);
    let cgroup = |path: &str, number: u64| json!({"cgroup": {"cgroup": path, "number": number}});
    let path = group.path().to_str().unwrap();
    for (whose, part) in [
        (process, "is not yours alone"),
        // The process is root's: a thread of it is none that asks.
        (json!({"command": {"words": ["x"]}}), "is not yours alone"),
        (
            json!({"process": {"pid": 0, "started_ticks": 0}}),
            "no process",
        ),
        (cgroup(path, group.id()), "belongs to user"),
        (cgroup(path, group.id() + 1), "another cgroup"),
        (cgroup("/", 1), "belongs to user 0"),
        (cgroup(&format!("{path}/.."), group.id()), "cgroup"),
        (cgroup("/../../etc", 7), "cgroup"),
    ] {
        let told = hold(whose.clone());
        assert!(told.contains(part), "{whose}: {told}");
    }
    let mut own = users.command(BOB, "sleep").arg("60").spawn().unwrap();
    until("it is Bob's", || {
        fs::read_link(format!("/proc/{}/exe", own.id())).is_ok_and(|exe| exe.ends_with("sleep"))
            || fs::read_to_string(format!("/proc/{}/comm", own.id()))
                .is_ok_and(|it| it == "sleep\n")
    });
    let late = started_ticks(own.id()) + 1;
    let told = hold(json!({"process": {"pid": own.id(), "started_ticks": late}}));
    assert!(told.contains("another one by now"), "{told}");
    own.kill().unwrap();
    own.wait().unwrap();
    let pid = shell.to_string();
    for arguments in [
        ["attach", "--backend", "kernel", "--pid", &pid],
        [
            "attach",
            "--backend",
            "kernel",
            "--pid",
            &std::process::id().to_string(),
        ],
    ] {
        let refused = users.output(BOB, arguments);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            stderr(&refused).contains("yours alone"),
            "{}",
            stderr(&refused)
        );
    }
    assert_eq!(
        users.output(BOB, ["detach", "--pid", &pid]).status.code(),
        Some(1)
    );
    let seen = users.sees(ADA);
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    assert_eq!(seen[0]["policy"], "ebb");
    held.end();
    service.end(Signal::SIGTERM);
}

#[test]
fn a_number_that_was_anothers_takes_nothing_away_from_what_that_left() {
    let name = "a_number_that_was_anothers_takes_nothing_away_from_what_that_left";
    let next = "/proc/sys/kernel/ns_last_pid";
    if !requires_root(name)
        || !ebb_kernel::requires(name, "process-numbers", next, fs::exists(next).unwrap())
    {
        return;
    }
    let users = Users::new("i");
    let service = users.serve();
    let script = "( ( exec 3<>/dev/tcp/10.78.0.2/7000; echo $BASHPID >&3; sleep 60 ) & )";
    let mut left = users.ebb(ADA, ["run", "--", "bash", "-c", script]);
    let mut left = left
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut orphan = String::new();
    let stream = users.scene.listener.accept().unwrap().0;
    BufReader::new(&stream).read_line(&mut orphan).unwrap();
    left.wait().unwrap();
    let expected = format!("run-{}", left.id());
    assert_eq!(users.sees(ADA)[0]["id"], expected.as_str());
    // Others fork as well: it takes some tries.
    let mut of_bob = None;
    for _ in 0..200 {
        fs::write(next, (left.id() - 1).to_string()).unwrap();
        let mut command = users.ebb(BOB, ["run", "--", "sh", "-c", "read line"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        if child.id() == left.id() {
            of_bob = Some(child);
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let Some(mut of_bob) = of_bob else {
        eprintln!("{name}: skipped: the number was never given again");
        let _ = kill(
            Pid::from_raw(orphan.trim().parse().unwrap()),
            Signal::SIGKILL,
        );
        return;
    };
    until("Bob's is held, too", || !users.sees(BOB).is_empty());
    assert_eq!(users.sees(BOB)[0]["id"], format!("{expected}-2"));
    let seen = users.sees(ADA);
    assert_eq!(seen[0]["id"], expected.as_str());
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    drop(of_bob.stdin.take());
    of_bob.wait().unwrap();
    assert_eq!(users.sees(ADA).len(), 1);
    kill(
        Pid::from_raw(orphan.trim().parse().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    service.end(Signal::SIGTERM);
}

/// Memory of a service, in KiB, and its descriptors.
fn size_of(service: &Service) -> (u64, usize) {
    let folder = format!("/proc/{}", service.child.id());
    let status = fs::read_to_string(format!("{folder}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    let descriptors = fs::read_dir(format!("{folder}/fd")).unwrap().count();
    (kib.parse().unwrap(), descriptors)
}

/// Frames, some of whose bytes are others; plain noise; one that never ends.
fn nonsense(random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let frames = [
        json!("records"),
        json!({"hold": {"whose": {"process": {"pid": 7, "started_ticks": 9}}, "minimum": "2mbit"}}),
        json!({"hold": {"whose": {"command": {"words": ["a"]}}, "policy": "ebb:target_us=8000"}}),
        json!({"find": {"cgroup": {"cgroup": "/a/b", "number": 7}}}),
        json!({"ask": {"id": "run-7", "request": {"set-policy": "ebb"}}}),
    ];
    let frame = &frames[random.random_range(0..frames.len())];
    let mut bytes = format!("{}\n", json!({"ebb": 1, "message": frame})).into_bytes();
    match random.random_range(0..4) {
        0 => (0..200).map(|_| random.random()).collect(),
        1 => vec![b' '; 80_000],
        _ => {
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
            bytes
        }
    }
}

/// Says nonsense, and hears whatever comes.
fn bother(users: &Users, random: &mut Xoshiro256PlusPlus) {
    let Ok(mut stream) = UnixStream::connect(users.socket()) else {
        return;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
    let _ = stream.write_all(&nonsense(random));
    let _ = stream.read(&mut [0; 4_096]);
}

#[test]
fn clients_that_flood_or_are_silent_or_talk_nonsense_cost_nobody_else_anything() {
    let name = "clients_that_flood_or_are_silent_or_talk_nonsense_cost_nobody_else_anything";
    if !requires_root(name) {
        return;
    }
    let users = Users::new("j");
    let service = users.serve();
    let held = Held::start(&users);
    let run = || {
        let ran = users.output(ADA, ["run", "--backend", "kernel", "--", "true"]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    };
    run();
    let before = size_of(&service);
    let until = Instant::now() + Duration::from_secs(4);
    std::thread::scope(|scope| {
        // A thousand at once, most of them silent, one after another refused.
        scope.spawn(|| {
            as_user(BOB, || {
                let streams = (0..1_000).map(|_| UnixStream::connect(users.socket()));
                let streams: Vec<_> = streams.collect();
                while Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(50));
                }
                drop(streams);
            });
        });
        for seed in 1..=3 {
            let users = &users;
            scope.spawn(move || {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                as_user(BOB, || {
                    while Instant::now() < until {
                        bother(users, &mut random);
                    }
                });
            });
        }
        while Instant::now() < until {
            run();
        }
    });
    run();
    // Who says nothing is sent away in the end.
    ebb_kernel::until("nobody is left", || size_of(&service).1 <= before.1);
    let after = size_of(&service);
    assert!(after.0 < before.0 + MOST_GROWN_KIB, "{before:?} {after:?}");
    let seen = users.sees(ADA);
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    held.end();
    service.end(Signal::SIGTERM);
}

/// Asks to be held, and is gone before the answer comes.
const RUDE: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{\"ebb\":1,\"message\":{\"hold\":{\"whose\":{\"command\":{\"words\":[\"x\"]}}}}}\\n')
";

#[test]
fn a_client_that_dies_or_has_too_many_leaves_and_gets_nothing_more() {
    if !requires_root("a_client_that_dies_or_has_too_many_leaves_and_gets_nothing_more") {
        return;
    }
    let users = Users::new("k");
    users.set("[users]\npolicies = 2\n");
    let service = users.serve();
    let before = size_of(&service).1;
    for _ in 0..8 {
        let mut command = users.command(ADA, "/usr/bin/python3");
        let status = command.args(["-c", RUDE]).arg(users.socket()).status();
        assert!(status.unwrap().success());
    }
    until("nothing is held", || users.sees(ADA).is_empty());
    until("no descriptor is left", || size_of(&service).1 <= before);
    let held = [Held::start(&users), Held::start(&users)];
    let refused = users.output(ADA, ["run", "--backend", "kernel", "--", "true"]);
    assert_eq!(refused.status.code(), Some(125));
    let told = stderr(&refused);
    assert!(told.contains("you have 2 policies here already"), "{told}");
    // By itself it is the user backend then, and others have their own.
    assert!(users.output(ADA, ["run", "--", "true"]).status.success());
    let other = users.output(BOB, ["run", "--backend", "kernel", "--", "true"]);
    assert!(other.status.success(), "{}", stderr(&other));
    // Root may end what is anybody's, and who attends to it is told.
    let pid = held[0].shell().to_string();
    let mut command = users.scene.ebb.command(["detach", "--pid", &pid]);
    let detached = command.env("EBB_SERVICE_SOCKET", users.socket()).output();
    assert!(detached.unwrap().status.success());
    for (held, part) in held.into_iter().zip(["it was detached by root", ""]) {
        let told = held.end();
        assert!(told.contains(part), "{told}");
    }
    service.end(Signal::SIGTERM);
}
