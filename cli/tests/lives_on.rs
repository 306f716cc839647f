// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which processes `ebb run --summary` says live on: those that still yield.

mod support;

use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use support::{Ebb, stderr};

/// `su` waits for a password on standard input, as root: out of an ordinary user's reach.
const LEAVES_SU: &str = "exec 3<&0; su root -c true <&3 >&- 2>&- & sleep 1";
const LEAVES_SLEEP: &str = "sleep 3 >&- 2>&- <&- & sleep 1";

fn summary_of(script: &str) -> String {
    let ebb = Ebb::new();
    let [(name, directory)] = ebb.environment();
    chown(&directory, Some(65_534), Some(65_534)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.args([env!("CARGO_BIN_EXE_ebb"), "run", "--summary", "--"]);
    command.args(["sh", "-c", script]).env(name, directory);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    // The pipe's other end stays open until the command has ended.
    let mut running = command.spawn().unwrap();
    let input = running.stdin.take();
    let ended = running.wait_with_output().unwrap();
    drop(input);
    stderr(&ended)
}

#[test]
fn processes_that_are_out_of_reach_are_not_said_to_yield_on() {
    if !ebb_kernel::requires_root("processes_that_are_out_of_reach_are_not_said_to_yield_on") {
        return;
    }
    let told = summary_of(LEAVES_SU);
    assert!(told.contains("out of reach: su"), "{told}");
    assert!(!told.contains("live on"), "{told}");
    let told = summary_of(LEAVES_SLEEP);
    assert!(
        told.contains("1 of its processes live on and keep yielding"),
        "{told}"
    );
}
