// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What ordinary users run yields by the kernel backend, where the service runs.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::{requires_feature, requires_root, until};
use ebb_lab::judging::{Attempt, judge};
use ebb_sockets::{Kind, descendants_of, sockets_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::serving::{BYTES, Service};
use support::users::{ADA, BOB, Users};
use support::{cgroup_of, stderr, stdout};

/// Below it is Ebb's first window only.
const LIMITED_BYTES: u32 = 1 << 15;
/// Connects at once, sends a word, and reads until the other end hangs up.
const FETCH: &str = "exec 3<>/dev/tcp/10.78.0.2/7000; echo sent >&3; wc -c <&3; exit 7";
/// Connects and reads nothing: the kernel raises the clamp of who reads.
const HOLD: &str = "exec 3<>/dev/tcp/10.78.0.2/7000; read -r line; exit 7";

/// Promised is that all is free so long after the service was killed.
const LEASE: Duration = Duration::from_secs(2);
const SEGMENT_EVERY: Duration = Duration::from_millis(20);
/// A machine that does nothing for so long says nothing.
const STALL: Duration = Duration::from_millis(200);

/// A command of a user's under `ebb run`, which has connected.
struct Command {
    child: Child,
    stream: TcpStream,
}

impl Command {
    fn start(users: &Users, user: u32, script: &str) -> Self {
        let arguments = ["run", "--summary", "--", "bash", "-c", script];
        let mut command = users.ebb(user, arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let stream = users.scene.listener.accept().unwrap().0;
        Self { child, stream }
    }

    /// Lets the command end; its status, what it said and what was said of it.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop((self.stream, self.child.stdin.take()));
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    }
}

fn is_limited(pid: u32) -> bool {
    let sockets = sockets_of(pid).into_iter().flatten();
    let mut tcp = sockets.filter(|socket| socket.kind() == Kind::Tcp && socket.ends().is_some());
    tcp.any(|socket| {
        socket
            .window_clamp()
            .is_ok_and(|clamp| clamp < LIMITED_BYTES)
    })
}

/// The shell under an `ebb run`.
fn shell_below(pid: u32) -> u32 {
    *descendants_of(pid).first().expect("the command runs")
}

#[test]
fn a_command_of_an_ordinary_user_yields_from_its_first_connection_on() {
    if !requires_root("a_command_of_an_ordinary_user_yields_from_its_first_connection_on") {
        return;
    }
    let users = Users::new("u");
    let service = users.serve();
    let mut command = Command::start(&users, ADA, FETCH);
    command.stream.write_all(&[7; BYTES]).unwrap();
    let seen = users.sees(ADA);
    let flows = seen[0]["flows"].as_array().unwrap();
    let directions: Vec<_> = flows.iter().map(|flow| &flow["direction"]).collect();
    assert_eq!(directions.len(), 2, "{seen:?}");
    assert_eq!(
        (seen[0]["backend"].as_str(), seen[0]["user"].as_str()),
        (Some("kernel"), None)
    );
    let shell = shell_below(command.child.id());
    let cgroup = users.own_cgroup(ADA).path().to_path_buf();
    assert_eq!(cgroup_of(shell), Some(cgroup));
    assert!(users.sees(BOB).is_empty());
    let of_root = users.root_sees();
    assert_eq!(of_root[0]["target"]["command"][0], "bash");
    assert!(of_root[0]["user"].is_string(), "{of_root:?}");
    let mut word = [0; 5];
    command.stream.read_exact(&mut word).unwrap();
    let (status, said, told) = command.end();
    assert_eq!((status, said.trim()), (Some(7), "50000"));
    for part in [
        "over 1 connection, policy ebb",
        "0.1 MB arrived",
        "policy ebb-sender",
        "kernel backend",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(users.sees(ADA).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn status_signals_and_output_are_the_commands_own() {
    if !requires_root("status_signals_and_output_are_the_commands_own") {
        return;
    }
    let users = Users::new("v");
    let service = users.serve();
    let run = |script| {
        users.output(
            ADA,
            ["run", "--backend", "kernel", "--", "sh", "-c", script],
        )
    };
    let ran = run("echo ran; exit 3");
    assert_eq!(
        (ran.status.code(), stdout(&ran).as_str()),
        (Some(3), "ran\n")
    );
    assert_eq!(stderr(&ran), "");
    assert_eq!(run("kill -TERM $$").status.code(), Some(128 + 15));
    let missing = users.output(ADA, ["run", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    // What it made would be root's.
    let arguments = [
        "run",
        "--backend",
        "kernel",
        "--",
        "/usr/bin/su",
        "--version",
    ];
    let refused = users.output(ADA, arguments);
    assert_eq!(refused.status.code(), Some(125));
    let told = stderr(&refused);
    assert!(told.contains("setuid") && told.contains("sudo"), "{told}");
    // What an orphan in its group sends to the group it has got already. It ends before the command.
    let script = "trap 'echo caught' USR1; echo ready; \
        read -r line; ( (trap '' USR1; sleep 0.2; kill -USR1 0; sleep 1) & ); \
        for i in 1 2 3 4 5 6 7 8; do sleep 0.2; done";
    let mut command = users.ebb(ADA, ["run", "--", "bash", "-c", script]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGUSR1).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let caught: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(caught, ["caught", "caught"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(users.sees(ADA).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn a_killed_ebb_run_limits_nobody_and_leaves_the_command_alone() {
    if !requires_root("a_killed_ebb_run_limits_nobody_and_leaves_the_command_alone") {
        return;
    }
    let users = Users::new("w");
    let service = users.serve();
    let mut command = Command::start(&users, ADA, HOLD);
    let shell = shell_below(command.child.id());
    until("limited", || is_limited(shell));
    command.child.kill().unwrap();
    until("let go", || !is_limited(shell));
    assert!(users.sees(ADA).is_empty());
    let shell = Pid::from_raw(shell.cast_signed());
    kill(shell, None).expect("the command runs on");
    kill(shell, Signal::SIGKILL).unwrap();
    service.end(Signal::SIGTERM);
}

#[test]
fn what_a_command_leaves_behind_keeps_yielding_until_it_is_detached() {
    if !requires_root("what_a_command_leaves_behind_keeps_yielding_until_it_is_detached") {
        return;
    }
    let users = Users::new("x");
    let service = users.serve();
    let script = "( ( exec 3<>/dev/tcp/10.78.0.2/7000; echo $BASHPID >&3; sleep 60 ) & )";
    let mut command = Command::start(&users, ADA, script);
    let mut orphan = String::new();
    let mut reader = BufReader::new(&mut command.stream);
    reader.read_line(&mut orphan).unwrap();
    let status = command.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    // The orphan has it open still.
    let mut told = String::new();
    let mut stderr = BufReader::new(command.child.stderr.take().unwrap());
    stderr.read_line(&mut told).unwrap();
    assert!(
        told.contains("1 of its processes live on and keep yielding"),
        "{told}"
    );
    let seen = users.sees(ADA);
    assert_eq!(seen[0]["flows"].as_array().unwrap().len(), 2, "{seen:?}");
    let detached = users.says(ADA, ["detach", "--pid", orphan.trim()]);
    assert!(detached.ends_with(": detached\n"), "{detached}");
    assert!(users.sees(ADA).is_empty());
    let orphan = Pid::from_raw(orphan.trim().parse().unwrap());
    kill(orphan, Signal::SIGKILL).unwrap();
    service.end(Signal::SIGTERM);
}

#[test]
fn what_a_service_held_the_next_one_takes_up_again() {
    let name = "what_a_service_held_the_next_one_takes_up_again";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("y");
    let mut service = users.serve();
    let mut command = Command::start(&users, ADA, HOLD);
    let shell = shell_below(command.child.id());
    until("limited", || is_limited(shell));
    std::thread::sleep(Duration::from_millis(1_200));
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        std::mem::replace(&mut service, Service::none()).end(signal);
        // What acts past its lease lets go at the next segment.
        until("let go", || {
            command.stream.write_all(b"x").unwrap();
            !is_limited(shell)
        });
        service = users.serve();
        let seen = users.sees(ADA);
        assert_eq!(
            seen[0]["flows"].as_array().map(Vec::len),
            Some(2),
            "{seen:?}"
        );
        assert_eq!(seen[0]["target"]["command"][0], "bash");
    }
    let (status, _, told) = command.end();
    assert_eq!(status, Some(7));
    assert!(
        told.contains("ebbd was started anew, and counted from then on"),
        "{told}"
    );
    assert!(users.sees(ADA).is_empty());
    // One that ends without a service says so, and ends as its command does.
    let command = Command::start(&users, ADA, HOLD);
    service.end(Signal::SIGTERM);
    let (status, _, told) = command.end();
    assert_eq!(status, Some(7));
    assert!(
        told.contains("the policy ended before the command did"),
        "{told}"
    );
}

#[test]
fn what_users_had_is_free_two_seconds_after_the_service_was_killed() {
    let name = "what_users_had_is_free_two_seconds_after_the_service_was_killed";
    // What attaches to a connection that is there.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("k");
    let mut service = users.serve();
    let mut ran = Command::start(&users, ADA, HOLD);
    let mut attached = users.command(BOB, "bash");
    let attached = attached.args(["-c", HOLD]).stdin(Stdio::piped()).spawn();
    let stream = users.scene.listener.accept().unwrap().0;
    let mut attached = Command {
        child: attached.unwrap(),
        stream,
    };
    let pid = attached.child.id().to_string();
    users.says(BOB, ["attach", "--pid", &pid]);
    judge(name, || {
        let pids = [shell_below(ran.child.id()), attached.child.id()];
        let limited = || pids.iter().filter(|pid| is_limited(**pid)).count();
        until("both are limited", || limited() == 2);
        std::mem::replace(&mut service, Service::none()).end(Signal::SIGKILL);
        let attempt = free_in_time(&mut [&mut ran.stream, &mut attached.stream], limited);
        // What one service held the next one takes up.
        service = users.serve();
        attempt
    });
    service.end(Signal::SIGTERM);
    attached.child.kill().unwrap();
    attached.end();
    ran.end();
}

/// Nobody renews a lease from now on: what is still limited after a segment that came later than its
/// end is too late.
fn free_in_time(streams: &mut [&mut TcpStream], limited: impl Fn() -> usize) -> Attempt {
    let (killed, mut longest) = (Instant::now(), Duration::ZERO);
    let mut wrong = Vec::new();
    loop {
        let sent = killed.elapsed();
        for stream in &mut *streams {
            stream.write_all(b"x").unwrap();
        }
        std::thread::sleep(SEGMENT_EVERY);
        longest = longest.max(killed.elapsed() - sent);
        let number = limited();
        if number == 0 {
            break;
        }
        if sent > LEASE {
            wrong.push(format!("{number} limited after a segment at {sent:?}"));
            break;
        }
    }
    Attempt {
        wrong,
        disturbed: (longest > STALL).then(|| format!("it stalled for {longest:?}")),
    }
}

#[test]
fn without_the_service_it_is_the_user_backend_and_an_error_says_what_would_be_right() {
    let name = "without_the_service_it_is_the_user_backend_and_an_error_says_what_would_be_right";
    if !requires_root(name) {
        return;
    }
    let users = Users::new("z");
    let backend = || {
        let ran = users.output(ADA, ["run", "--summary", "--", "true"]);
        assert_eq!(ran.status.code(), Some(0));
        let told = stderr(&ran);
        let backend = told.trim().rsplit("; ").next().unwrap();
        backend.to_owned()
    };
    let refusal = || {
        let refused = users.output(ADA, ["run", "--backend", "kernel", "--", "true"]);
        assert_eq!(refused.status.code(), Some(125));
        stderr(&refused)
    };
    assert_eq!(backend(), "user backend");
    let told = refusal();
    assert!(
        told.contains("'systemctl enable --now ebbd'") && told.contains("'sudo'"),
        "{told}"
    );
    let service = users.serve();
    assert_eq!(backend(), "kernel backend");
    let held = Command::start(&users, ADA, HOLD);
    users.set("[users]\nenabled = false\n");
    service.reload();
    assert_eq!(backend(), "user backend");
    let told = refusal();
    assert!(
        told.contains("an administrator has switched that off"),
        "{told}"
    );
    assert!(users.sees(ADA).is_empty());
    let (status, _, told) = held.end();
    assert_eq!(status, Some(7));
    assert!(
        told.contains("ended before the command did: ") && told.contains("switched that off"),
        "{told}"
    );
    users.set("[users]\nallow_users = [\"65534\"]\n");
    service.reload();
    assert_eq!(backend(), "kernel backend");
    users.set("[users]\ndeny_groups = \"65534\"\n");
    service.reload();
    let told = refusal();
    assert!(told.contains("does not let you"), "{told}");
    service.end(Signal::SIGTERM);
}
