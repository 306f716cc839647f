// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` as its caller and its command see it: status, streams, signals, what stays.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{detach_all, owner_of, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Ebb, Running, cgroup_of, stderr, stdout};

/// Tests that detach everything take turns: it clears up after the killed Ebbs of all others.
static DETACHING_ALL: Mutex<()> = Mutex::new(());

macro_rules! needs_root {
    ($name:literal) => {
        if !ebb_kernel::requires_root($name) {
            return;
        }
    };
}

// Below the macro that it uses.
#[path = "running/signals.rs"]
mod signals;

#[test]
fn the_exit_status_is_that_of_the_command_as_a_shell_gives_it() {
    needs_root!("the_exit_status_is_that_of_the_command_as_a_shell_gives_it");
    let ebb = Ebb::new();
    let status = |words: [&str; 5]| ebb.output(words).status.code();
    assert_eq!(status(["run", "--", "sh", "-c", "exit 0"]), Some(0));
    assert_eq!(status(["run", "--", "sh", "-c", "exit 77"]), Some(77));
    assert_eq!(
        status(["run", "--", "sh", "-c", "kill -KILL $$"]),
        Some(128 + 9)
    );
    assert_eq!(
        status(["run", "--", "sh", "-c", "kill -SEGV $$"]),
        Some(128 + 11)
    );
}

#[test]
fn a_command_that_cannot_be_started_is_named() {
    needs_root!("a_command_that_cannot_be_started_is_named");
    let ebb = Ebb::new();
    let output = ebb.output(["run", "no-such-command"]);
    let said = (output.status.code(), stderr(&output));
    assert_eq!(
        said,
        (
            Some(127),
            "ebb: no-such-command: command not found\n".to_owned()
        )
    );
    let output = ebb.output(["run", "/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
    assert!(stderr(&output).starts_with("ebb: /etc/passwd: Permission denied"));
    assert_eq!(ebb.says(["status"]), "nothing is attached\n");
}

#[test]
fn standard_streams_and_arguments_reach_the_command_untouched() {
    needs_root!("standard_streams_and_arguments_reach_the_command_untouched");
    let script = "cat; printf '<%s>' \"$@\"; echo error >&2";
    let mut child = Ebb::new()
        .command(["run", "--", "sh", "-c", script, "sh", "--policy", "a b", ""])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\x00\xffinput")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"\x00\xffinput<--policy><a b><>");
    assert_eq!(stderr(&output), "error\n");
}

#[test]
fn the_command_starts_in_a_cgroup_of_its_own_that_goes_with_it() {
    needs_root!("the_command_starts_in_a_cgroup_of_its_own_that_goes_with_it");
    let said = Ebb::new().says(["run", "cat", "/proc/self/cgroup"]);
    let path = said
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap();
    assert!(path.contains("/ebb-run-"), "{said}");
    assert!(Cgroup::at(path).is_err(), "{path} is left");
}

#[test]
fn the_command_starts_with_the_signal_mask_and_the_ignored_signals_of_its_caller() {
    needs_root!("the_command_starts_with_the_signal_mask_and_the_ignored_signals_of_its_caller");
    let ebb = Ebb::new();
    let grep = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];
    let plain = Command::new("nohup").args(grep).output().unwrap();
    let run = [env!("CARGO_BIN_EXE_ebb"), "run", "--"];
    let mut nohup = Command::new("nohup");
    nohup.envs(ebb.environment());
    let under_ebb = nohup.args(run).args(grep).output().unwrap();
    assert!(
        stdout(&plain).contains("SigBlk:\t0000000000000000"),
        "{}",
        stdout(&plain)
    );
    // The last bit is SIGHUP's; who began the tests may have ignored others.
    let ignored = stdout(&plain).trim_end().chars().last();
    let ignored = ignored.and_then(|digit| digit.to_digit(16));
    assert!(
        ignored.is_some_and(|bits| bits & 1 == 1),
        "{}",
        stdout(&plain)
    );
    assert_eq!(stdout(&under_ebb), stdout(&plain));
}

#[test]
fn a_killed_ebb_leaves_the_command_running_and_nothing_attached() {
    needs_root!("a_killed_ebb_leaves_the_command_running_and_nothing_attached");
    let ebb = Ebb::new();
    let mut running = ebb.run_script("echo ready; read -r line; echo got $line");
    assert!(ebb.says(["status"]).starts_with("ebb run -- sh -c"));
    let mut input = running.child.stdin.take().unwrap();
    running.send(Signal::SIGKILL);
    running.child.wait().unwrap();
    until("nothing is attached", || {
        ebb.says(["status"]) == "nothing is attached\n"
    });
    input.write_all(b"it\n").unwrap();
    assert_eq!(running.line(), "got it");
}

#[test]
fn a_killed_keeper_leaves_the_command_and_its_status_alone() {
    needs_root!("a_killed_keeper_leaves_the_command_and_its_status_alone");
    let ebb = Ebb::new();
    let mut running = ebb.run_script("echo ready; read -r line; exit 6");
    let status: serde_json::Value = serde_json::from_str(&ebb.says(["status", "--json"])).unwrap();
    let keeper = i32::try_from(status[0]["keeper_pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    until("nothing is attached", || {
        ebb.says(["status"]) == "nothing is attached\n"
    });
    running
        .child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"it\n")
        .unwrap();
    assert_eq!(running.status(), Some(6));
}

#[test]
fn processes_that_outlive_the_command_keep_yielding_until_they_end() {
    needs_root!("processes_that_outlive_the_command_keep_yielding_until_they_end");
    let ebb = Ebb::new();
    let began = Instant::now();
    let script = "sleep 60 >/dev/null 2>&1 & echo $!";
    let pid: u32 = ebb
        .says(["run", "--", "sh", "-c", script])
        .trim()
        .parse()
        .unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "ebb run waited for the grandchild"
    );
    assert!(ebb.says(["status"]).starts_with("ebb run -- sh -c"));
    let cgroup = cgroup_of(pid).unwrap();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGTERM).unwrap();
    until("nothing is attached", || {
        ebb.says(["status"]) == "nothing is attached\n"
    });
    until("the cgroup is removed", || Cgroup::at(&cgroup).is_err());
}

#[test]
fn nobody_waits_for_the_keeper_at_the_end_of_a_pipe() {
    needs_root!("nobody_waits_for_the_keeper_at_the_end_of_a_pipe");
    let ebb = Ebb::new();
    let began = Instant::now();
    // The grandchild has closed its streams; output() reads until everybody has.
    let output = ebb.output([
        "run",
        "--",
        "sh",
        "-c",
        "sleep 30 >/dev/null 2>&1 <&1 & echo out",
    ]);
    assert_eq!(stdout(&output), "out\n");
    assert!(began.elapsed() < Duration::from_secs(20));
    let _turn = DETACHING_ALL.lock().unwrap_or_else(PoisonError::into_inner);
    ebb.says(["detach", "--all"]);
}

#[test]
fn a_command_can_be_run_as_somebody_else() {
    needs_root!("a_command_can_be_run_as_somebody_else");
    let ebb = Ebb::new();
    let script = "id -un; id -Gn; echo $USER; touch /root/x 2>/dev/null || echo no";
    let said = ebb.says(["run", "--user", "nobody", "--", "sh", "-c", script]);
    assert_eq!(said, "nobody\nnogroup\nnobody\nno\n");
    let output = ebb.output(["run", "--user", "nobody-at-all", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("--user nobody-at-all: there is no such user"));
}

/// Groups, capabilities, descriptors and environment: as with `su -`.
#[test]
fn a_command_of_somebody_else_has_nothing_of_roots() {
    needs_root!("a_command_of_somebody_else_has_nothing_of_roots");
    let script = "id -G; grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f2 | sort -u; \
                  ls /proc/self/fd; env";
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let words = "exec 7</etc/shadow; exec setpriv --inh-caps=+net_admin,+kill --ambient-caps=+net_admin,+kill \
                     \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", words, "sh", env!("CARGO_BIN_EXE_ebb"), "run"]);
        command.args([
            "--backend",
            backend,
            "--user",
            "nobody",
            "--",
            "sh",
            "-c",
            script,
        ]);
        command
            .envs(ebb.environment())
            .env("SECRET", "roots")
            .env("LC_ALL", "C");
        let output = command.output().unwrap();
        let told = stdout(&output);
        let mut lines = told.lines();
        assert_eq!(lines.next(), Some("65534"), "{told}{}", stderr(&output));
        assert_eq!(lines.next(), Some("0000000000000000"), "{told}");
        // The last is that of the folder that is listed.
        let open: Vec<&str> = lines.by_ref().take(4).collect();
        assert_eq!(open, ["0", "1", "2", "3"], "{told}");
        let environment: Vec<&str> = lines.collect();
        let has = |line: &str| environment.contains(&line);
        assert!(
            has("USER=nobody") && has("LC_ALL=C") && !has("SECRET=roots"),
            "{told}"
        );
        assert!(!told.contains("EBB_RUNTIME_DIR"), "{told}");
    }
}

#[test]
fn no_new_privileges_are_to_be_had_if_that_is_asked_for() {
    needs_root!("no_new_privileges_are_to_be_had_if_that_is_asked_for");
    let ebb = Ebb::new();
    let script = "grep NoNewPrivs /proc/self/status";
    for backend in ["kernel", "user"] {
        let words = [
            "run",
            "--backend",
            backend,
            "--no-new-privileges",
            "--",
            "sh",
            "-c",
            script,
        ];
        assert_eq!(ebb.says(words), "NoNewPrivs:\t1\n");
    }
}

#[test]
fn ebb_run_within_ebb_run_runs_under_the_outer_one() {
    needs_root!("ebb_run_within_ebb_run_runs_under_the_outer_one");
    let ebb = Ebb::new();
    let inner = env!("CARGO_BIN_EXE_ebb");
    let output = ebb.output([
        "run",
        "--",
        inner,
        "run",
        "--",
        "sh",
        "-c",
        "echo in; exit 5",
    ]);
    let said = (output.status.code(), stdout(&output), stderr(&output));
    assert_eq!(said, (Some(5), "in\n".to_owned(), String::new()));
}

#[test]
fn the_summary_says_what_arrived_only_if_asked_for() {
    needs_root!("the_summary_says_what_arrived_only_if_asked_for");
    let ebb = Ebb::new();
    assert_eq!(stderr(&ebb.output(["run", "true"])), "");
    let complaint = stderr(&ebb.output(["run", "--summary", "--policy", "vulture", "true"]));
    assert!(
        complaint.contains("0 connections, policy vulture"),
        "{complaint}"
    );
}

#[test]
fn what_a_killed_ebb_left_on_a_cgroup_is_taken_off_by_detaching_all() {
    needs_root!("what_a_killed_ebb_left_on_a_cgroup_is_taken_off_by_detaching_all");
    let _turn = DETACHING_ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let ebb = Ebb::new();
    let name = format!("ebb-left-{}", std::process::id());
    let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
    ebb.says(["attach", "--cgroup", cgroup.path().to_str().unwrap()]);
    let status: serde_json::Value = serde_json::from_str(&ebb.says(["status", "--json"])).unwrap();
    let keeper = i32::try_from(status[0]["keeper_pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    // Until the lease has run out it might be another Ebb's.
    until("the lease has run out", || owner_of(&cgroup).is_none());
    let said = ebb.says(["detach", "--all"]);
    assert!(said.contains("of a killed Ebb taken off"), "{said}");
    // Not asked of Ebb again: tests beside this one kill theirs and leave programs elsewhere.
    assert_eq!(detach_all(&cgroup).unwrap(), 0);
    cgroup.remove().unwrap();
}

#[test]
fn a_runtime_directory_that_cannot_be_written_keeps_no_command_from_running() {
    needs_root!("a_runtime_directory_that_cannot_be_written_keeps_no_command_from_running");
    let ebb = Ebb::new();
    let mut command = ebb.command(["run", "--summary", "--", "sh", "-c", "exit 3"]);
    let output = command
        .env("EBB_RUNTIME_DIR", "/proc/none")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("policy ebb"),
        "{}",
        stderr(&output)
    );
    let mut command = ebb.command(["attach", "--pid", "2"]);
    let output = command
        .env("EBB_RUNTIME_DIR", "/proc/none")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("ebb: /proc/none: "),
        "{}",
        stderr(&output)
    );
}
