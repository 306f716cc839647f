// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals, the terminal, and its keys.

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::*;

#[test]
fn signals_sent_to_ebb_alone_reach_the_command_once() {
    needs_root!("signals_sent_to_ebb_alone_reach_the_command_once");
    let ebb = Ebb::new();
    let script = "for s in HUP INT QUIT TERM USR1 USR2 WINCH CONT; do trap \"echo $s\" $s; done
        echo ready; while [ ! -e /nonexistent ]; do sleep 0.02; done";
    let mut running = ebb.run_script(script);
    for (signal, name) in [
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGQUIT, "QUIT"),
        (Signal::SIGTERM, "TERM"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGWINCH, "WINCH"),
        (Signal::SIGCONT, "CONT"),
        (Signal::SIGTERM, "TERM"),
    ] {
        running.send(signal);
        assert_eq!(running.line(), name);
    }
    running.send_to_group(Signal::SIGKILL);
    assert_eq!(running.line(), "", "a signal came twice");
}

#[test]
fn a_signal_that_ends_the_command_gives_128_and_its_number() {
    needs_root!("a_signal_that_ends_the_command_gives_128_and_its_number");
    let mut running = Ebb::new().run_script("echo ready; exec sleep 60");
    running.send(Signal::SIGTERM);
    assert_eq!(running.status(), Some(128 + 15));
}

#[test]
fn what_the_command_sends_to_its_group_does_not_come_back_to_it() {
    needs_root!("what_the_command_sends_to_its_group_does_not_come_back_to_it");
    let script = "trap 'echo USR1' USR1; echo ready; kill -USR1 0; sleep 0.5; echo end";
    let mut running = Ebb::new().run_script(script);
    let lines: Vec<_> = (0..3).map(|_| running.line()).collect();
    assert_eq!(lines, ["USR1", "end", ""]);
}

#[test]
fn control_c_reaches_the_command_once_and_its_handling_counts() {
    needs_root!("control_c_reaches_the_command_once_and_its_handling_counts");
    // `script` gives it a terminal and types what it reads. The shell in between has to go: one
    // that stays, as dash does, is in the foreground too and dies of the key.
    // Who began the tests may have ignored the key's signal.
    let command = format!(
        "exec env --default-signal=INT {} run -- sh -c 'trap \"echo caught\" INT; echo ready; sleep 1; sleep 0.3; exit 9'",
        env!("CARGO_BIN_EXE_ebb")
    );
    let ebb = Ebb::new();
    let mut script = std::process::Command::new("script");
    script.envs(ebb.environment()).env("SHELL", "/bin/sh");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let mut running = Running::start(&mut script);
    running
        .child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"\x03")
        .unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut running.output, &mut rest).unwrap();
    assert_eq!(rest.matches("caught").count(), 1, "{rest:?}");
    assert_eq!(running.status(), Some(9), "{rest:?}");
}

#[test]
fn the_command_has_the_terminal() {
    needs_root!("the_command_has_the_terminal");
    let command = format!(
        "{} run -- sh -c 'test -t 0 && test -t 1 && tty'",
        env!("CARGO_BIN_EXE_ebb")
    );
    let output = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success() && stdout(&output).contains("/dev/pts/"),
        "{output:?}"
    );
}

/// Waits until the shell, which is us, sees its job stopped.
fn is_stopped(pid: Pid) -> bool {
    let flags = WaitPidFlag::WUNTRACED | WaitPidFlag::WNOHANG;
    matches!(waitpid(pid, Some(flags)).unwrap(), WaitStatus::Stopped(..))
}

#[test]
fn control_z_stops_the_whole_job_and_fg_continues_it() {
    needs_root!("control_z_stops_the_whole_job_and_fg_continues_it");
    stop_and_continue(Running::send_to_group);
}

#[test]
fn stopping_ebb_alone_stops_its_command_and_continuing_it_continues_both() {
    needs_root!("stopping_ebb_alone_stops_its_command_and_continuing_it_continues_both");
    stop_and_continue(Running::send);
}

/// The command goes on where it was, and has what is typed then.
fn stop_and_continue(send: impl Fn(&Running, Signal)) {
    let mut running = Ebb::new().run_script("echo ready; read -r line; echo got $line; exit 4");
    send(&running, Signal::SIGTSTP);
    until("the job is stopped", || is_stopped(running.pid()));
    send(&running, Signal::SIGCONT);
    let input = running.child.stdin.as_mut().unwrap();
    input.write_all(b"it\n").unwrap();
    assert_eq!(running.line(), "got it");
    assert_eq!(running.status(), Some(4));
}
