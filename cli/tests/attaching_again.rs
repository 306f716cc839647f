// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach` to what is attached already, with either backend.

mod support;

use std::process::{Child, Command};

use serde_json::Value;
use support::{Ebb, stderr};

/// A program to attach to; it needs no connections.
struct Program(Child);

impl Program {
    fn start() -> Self {
        Self(Command::new("sleep").arg("300").spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn record(ebb: &Ebb) -> Value {
    let text = ebb.says(["status", "--json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(records.as_array().unwrap().len(), 1, "{text}");
    records[0].clone()
}

#[test]
fn attaching_again_changes_what_is_named_and_nothing_else() {
    if !ebb_kernel::requires_root("attaching_again_changes_what_is_named_and_nothing_else") {
        return;
    }
    for (backend, law, upload) in [("kernel", "ebb", "tcp-lp"), ("user", "sampled", "paced")] {
        let ebb = Ebb::new();
        let program = Program::start();
        let pid = program.pid();
        let again = |arguments: &[&str]| {
            let mut command = ebb.command(["attach", "--pid", &pid]);
            let output = command.args(arguments).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            support::stdout(&output)
        };
        let policy = format!("{law}:target_us=9000");
        again(&["--backend", backend, "--policy", &policy]);
        let told = again(&["--upload-policy", "none"]);
        assert!(
            told.contains(&format!("{policy}, sending by none")),
            "{told}"
        );
        assert_eq!(record(&ebb)["policy"], policy);
        assert_eq!(record(&ebb)["upload_policy"], Value::Null);

        let told = again(&["--upload-policy", upload]);
        let both = format!("{policy}, sending by {upload}");
        assert!(told.contains(&format!("yields by {both}")), "{told}");
        let told = again(&[]);
        assert!(
            told.contains(&format!("yields already by {both}")),
            "{told}"
        );
        assert_eq!(record(&ebb)["policy"], policy);
        assert_eq!(record(&ebb)["upload_policy"], upload);
        let other = format!("{law}:target_us=8000");
        let told = again(&["--policy", &other]);
        assert!(
            told.contains(&format!("{other}, sending by {upload}")),
            "{told}"
        );
        ebb.says(["detach", "--pid", &pid]);
    }
}

#[test]
fn a_minimum_is_said_and_changed_while_the_policy_goes_on() {
    if !ebb_kernel::requires_root("a_minimum_is_said_and_changed_while_the_policy_goes_on") {
        return;
    }
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let program = Program::start();
        let pid = program.pid();
        let with = |minimum| ["attach", "--pid", &pid, "--minimum", minimum];
        let mut first = ebb.command(with("2mbit"));
        let first = first.args(["--backend", backend]).output().unwrap();
        assert!(first.status.success(), "{}", stderr(&first));
        let before = record(&ebb);
        assert_eq!(before["minimum"], "2mbit");
        assert!(ebb.says(["status"]).contains("2mbit at the least"));

        ebb.says(with("500kbit"));
        let after = record(&ebb);
        assert_eq!(after["minimum"], "500kbit");
        for same in ["keeper_pid", "since_unix_s", "policy"] {
            assert_eq!(after[same], before[same], "{same}");
        }
        ebb.says(with("none"));
        assert_eq!(record(&ebb)["minimum"], Value::Null);

        let refused = ebb.output(with("2Mbps"));
        assert_eq!(refused.status.code(), Some(2));
        let told = stderr(&refused);
        assert!(told.contains("as 2mbit or 500kbit"), "{told}");
        ebb.says(["detach", "--pid", &pid]);
    }
}

#[test]
fn a_deadline_is_said_and_changed_while_the_policy_goes_on() {
    if !ebb_kernel::requires_root("a_deadline_is_said_and_changed_while_the_policy_goes_on") {
        return;
    }
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let program = Program::start();
        let pid = program.pid();
        let with = |deadline, size| {
            let wish = ["attach", "--pid", &pid, "--deadline", deadline];
            let mut command = ebb.command(wish);
            command.args(["--size", size]);
            command
        };
        let mut first = with("3h", "40GB");
        let first = first.args(["--backend", backend]).output().unwrap();
        assert!(first.status.success(), "{}", stderr(&first));
        let before = record(&ebb);
        assert_eq!(before["deadline"]["size_bytes"], 40_000_000_000_u64);
        assert_eq!(before["deadline"]["standing"], "waiting");
        let told = ebb.says(["status"]);
        assert!(told.contains("  0.0 of 40.0 GB by 2"), "{told}");

        let changed = with("2200-01-02 06:00", "700MB").output().unwrap();
        assert!(changed.status.success(), "{}", stderr(&changed));
        ebb.says(["attach", "--pid", &pid, "--minimum", "2mbit"]);
        let after = record(&ebb);
        for same in ["keeper_pid", "since_unix_s", "policy"] {
            assert_eq!(after[same], before[same], "{same}");
        }
        let told = ebb.says(["status"]);
        let deadline = "  0.0 of 700.0 MB by 2200-01-02 06:00: not begun\n";
        assert!(told.contains(deadline), "{told}");
        assert!(told.contains("  2mbit at the least, each way\n"), "{told}");

        ebb.says(["attach", "--pid", &pid, "--deadline", "none"]);
        assert_eq!(record(&ebb)["deadline"], Value::Null);
        assert_eq!(record(&ebb)["minimum"], "2mbit");
        ebb.says(["detach", "--pid", &pid]);
    }
}

#[test]
fn code_points_are_kept_from_the_beginning_or_the_wish_is_refused() {
    if !ebb_kernel::requires_root("code_points_are_kept_from_the_beginning_or_the_wish_is_refused")
    {
        return;
    }
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let program = Program::start();
        let pid = program.pid();
        let wish = ["attach", "--pid", &pid, "--keep-code-point"];
        ebb.says(["attach", "--pid", &pid, "--backend", backend]);
        let refused = ebb.output(wish);
        assert_eq!(refused.status.code(), Some(1));
        let told = stderr(&refused);
        let remedy = format!("first: ebb detach --pid {pid}");
        assert!(told.contains("marked") && told.contains(&remedy), "{told}");

        ebb.says(["detach", "--pid", &pid]);
        ebb.says([
            "attach",
            "--pid",
            &pid,
            "--backend",
            backend,
            "--keep-code-point",
        ]);
        assert_eq!(record(&ebb)["keeps_code_point"], true);
        assert!(ebb.says(wish).contains("yields already"));
        ebb.says(["detach", "--pid", &pid]);
    }
}

#[test]
fn root_gets_the_backend_that_has_the_law() {
    if !ebb_kernel::requires_root("root_gets_the_backend_that_has_the_law") {
        return;
    }
    let ebb = Ebb::new();
    let program = Program::start();
    let pid = program.pid();
    let told = ebb.says(["attach", "--pid", &pid, "--policy", "sampled"]);
    assert!(
        told.contains("sampled, sending by paced (user backend)"),
        "{told}"
    );
    assert_eq!(record(&ebb)["backend"], "user");
    ebb.says(["detach", "--pid", &pid]);
    // No backend has both.
    let wrong = [
        "attach",
        "--pid",
        &pid,
        "--policy",
        "sampled",
        "--upload-policy",
        "reno",
    ];
    let refused = stderr(&ebb.output(wrong));
    for part in [
        "'sampled' is for the user backend",
        "'reno' judges every packet",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let wrong = [
        "attach",
        "--pid",
        &pid,
        "--policy",
        "sampled",
        "--backend",
        "kernel",
    ];
    let refused = stderr(&ebb.output(wrong));
    assert!(refused.contains("alone: --backend user"), "{refused}");
}
