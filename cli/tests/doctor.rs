// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb doctor` on machines that have everything, and on those that do not.

mod support;

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use serde_json::Value;
use support::{Ebb, stderr, stdout};

fn check<'a>(diagnosis: &'a Value, key: &str) -> &'a Value {
    let checks = diagnosis["checks"].as_array().unwrap();
    checks.iter().find(|check| check["key"] == key).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

#[test]
fn a_machine_that_has_everything_is_usable_and_nothing_stays_behind() {
    if !ebb_kernel::requires_root("a_machine_that_has_everything_is_usable") {
        return;
    }
    let ebb = Ebb::new();
    let output = ebb.output(["doctor", "--json"]);
    let diagnosis = json(&output);
    assert_eq!(output.status.code(), Some(0), "{diagnosis:#}");
    assert_eq!(
        (&diagnosis["is_usable"], &diagnosis["backend"]),
        (&true.into(), &"kernel".into())
    );
    assert_eq!(check(&diagnosis, "trial")["presence"], "present");
    let text = ebb.says(["doctor"]);
    assert!(
        text.contains("`ebb run` uses the kernel backend here."),
        "{text}"
    );
    assert!(!text.contains("MISSING"), "{text}");
}

#[test]
fn without_privileges_it_says_what_to_do_and_that_the_user_backend_serves() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    if nix::unistd::geteuid().is_root() {
        // Root without any capability, as in a container.
        command = Command::new("setpriv");
        command.args([
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--ambient-caps=-all",
        ]);
        command.arg(env!("CARGO_BIN_EXE_ebb"));
    }
    let output = command
        .args(["doctor", "--json"])
        .current_dir("/")
        .output()
        .unwrap();
    let diagnosis = json(&output);
    // The kernel backend cannot be had, the user backend can.
    assert_eq!(output.status.code(), Some(0), "{diagnosis:#}");
    assert_eq!(
        (&diagnosis["is_usable"], &diagnosis["backend"]),
        (&true.into(), &"user".into())
    );
    let privileges = check(&diagnosis, "privileges");
    assert_eq!(privileges["presence"], "missing");
    assert!(
        privileges["detail"].as_str().unwrap().contains("CAP_BPF"),
        "{privileges}"
    );
    assert!(
        privileges["remedy"].as_str().unwrap().contains("sudo"),
        "{privileges}"
    );
}

#[test]
fn root_without_capabilities_is_told_which_are_missing_and_the_command_is_not_run() {
    if !ebb_kernel::requires_root("root_without_capabilities_is_told_which_are_missing") {
        return;
    }
    let output = Command::new("setpriv")
        .args([
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--ambient-caps=-all",
        ])
        .args([env!("CARGO_BIN_EXE_ebb"), "run", "--backend=kernel"])
        .args(["--", "echo", "ran"])
        .output()
        .unwrap();
    let said = (output.status.code(), stdout(&output));
    assert_eq!(said, (Some(125), String::new()), "{}", stderr(&output));
    let complaint = stderr(&output);
    assert!(complaint.contains("--if-unavailable=run"), "{complaint}");
    assert!(
        complaint.contains("not permitted") || complaint.contains("CAP_"),
        "{complaint}"
    );
}

#[test]
fn where_no_cgroups_are_mounted_ebb_works_all_the_same() {
    if !ebb_kernel::requires_root("where_no_cgroups_are_mounted_ebb_works_all_the_same") {
        return;
    }
    let ebb = Ebb::new();
    let script =
        "umount -l -R /sys/fs/cgroup && \"$0\" doctor --json && \"$0\" run -- sh -c 'exit 42'";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_ebb")]);
    unshare.envs(ebb.environment()).process_group(0);
    let output = unshare.output().unwrap();
    let diagnosis = json(&output);
    assert_eq!(output.status.code(), Some(42), "{}", stderr(&output));
    assert_eq!(
        check(&diagnosis, "cgroup2")["detail"],
        "not mounted; a private mount works"
    );
}
