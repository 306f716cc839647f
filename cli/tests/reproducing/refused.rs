// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is refused, and with which words.
use super::*;

#[test]
fn policies_and_cases_that_do_not_exist_are_answered_with_those_that_do() {
    let out = tempfile::tempdir().unwrap();
    let said = |status: i32, arguments: &[&str]| {
        let output = reproduce(out.path(), arguments);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        stderr(&output)
    };
    let complaint = said(2, &["ebb/kernel", "--policy", "ebc"]);
    assert!(
        complaint.contains("'ebc'") && complaint.contains("priority"),
        "{complaint}"
    );
    let complaint = said(1, &["ebb", "--engine", "sim", "--case", "bursts of 2 s"]);
    assert!(
        complaint.contains("did you mean `bursts of 1 s`?"),
        "{complaint}"
    );
    let complaint = said(1, &["tcp-lp/fig-6", "--engine", "sim", "--policy", "ebb"]);
    assert!(complaint.contains("no flow in it yields"), "{complaint}");
    let complaint = said(2, &["--check", "ebb/kernel"]);
    assert!(complaint.contains("--check comes last"), "{complaint}");
    let complaint = said(1, &["ebb", "--case", "four", "--check", "known.csv"]);
    assert!(
        complaint.contains("values are kept of whole experiments"),
        "{complaint}"
    );
}

#[test]
fn what_cannot_be_right_is_told_before_anything_runs() {
    let out = tempfile::tempdir().unwrap();
    let wrong = out.path().join("wrong.csv");
    std::fs::write(&wrong, "id,engine\nvulture/fig-17,sim\n").unwrap();
    let missing = out.path().join("missing.csv").display().to_string();
    let wrong = wrong.display().to_string();
    for (arguments, parts) in [
        (["--check", &*missing], [&*missing, "No such file"]),
        (["--check", &*wrong], [&*wrong, "not a file of values"]),
        (["--trace", "traces"], ["--trace", "--engine lab"]),
        (["--jobs", "0"], ["--jobs", "a whole number from 1 on"]),
        (
            ["--parallel", "0"],
            ["--parallel", "a whole number from 1 on"],
        ),
    ] {
        let output = reproduce(out.path(), &[&["tcp-lp/table-1"][..], &arguments].concat());
        assert!(!output.status.success(), "{arguments:?}");
        let message = stderr(&output);
        for part in parts {
            assert_eq!(message.matches(part).count(), 1, "{arguments:?}: {message}");
        }
    }
    assert!(!out.path().join("tcp-lp").exists());
    let simulated = ["vulture/fig-17", "--engine", "sim", "--trace", "traces"];
    let message = stderr(&reproduce(out.path(), &simulated));
    assert!(message.contains("--trace: only the lab"), "{message}");
}

#[test]
fn cases_of_several_experiments_are_listed_once() {
    let out = tempfile::tempdir().unwrap();
    let message = stderr(&reproduce(out.path(), &["ebb", "--case", "zzz"]));
    assert_eq!(
        message.matches("; greedy, BE first; ").count(),
        1,
        "{message}"
    );
}

#[test]
fn where_there_are_no_experiments_the_message_says_what_names_them() {
    let nowhere = tempfile::tempdir().unwrap();
    for (command, flag) in [
        ("reproduce", "--experiments DIR"),
        ("score", "--matrix DIR"),
    ] {
        let output = Ebb::new()
            .command([command, "--list"])
            .current_dir(nowhere.path())
            .output()
            .unwrap();
        let message = stderr(&output);
        assert!(
            message.contains(flag) && message.contains("experiments"),
            "{message}"
        );
    }
}
