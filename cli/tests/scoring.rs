// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb score`: one cell, the command that it tells, and files.
use std::path::Path;
use std::process::{Command, Output};

fn ebb(folder: &Path, line: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(env!("CARGO_BIN_EXE_ebb"))
        .current_dir(root)
        .args(line)
        .arg("--out")
        .arg(folder)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_cell_tells_the_command_that_runs_it_and_that_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cell = [
        "score",
        "--law",
        "ebb",
        "--scenario",
        "greedy-cubic",
        "--runs",
        "1",
    ];
    let told = text(&ebb(folder.path(), &cell));
    let command = told
        .lines()
        .find_map(|line| line.strip_prefix("Run it: ebb "))
        .unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let ran = text(&ebb(&folder.path().join("run/"), &words));
    assert!(ran.contains("mine") && ran.contains("other"), "{ran}");
}

#[test]
fn two_laws_have_a_line_each_in_the_table_and_the_files_and_are_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let line = [
        "score",
        "--law",
        "cubic",
        "--law",
        "ebb",
        "--scenario",
        "greedy-cubic",
        "--runs",
        "1",
    ];
    let told = text(&ebb(folder.path(), &line));
    assert!(told.lines().any(|line| line.starts_with("ebb ")), "{told}");
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let csv = file("score.csv");
    assert!(
        csv.starts_with("law,side,scenario,runs,goodput_taken_share,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 3);
    assert!(folder.path().join("score.png").is_file() && file("score.svg").contains("cubic"));
    let json = file("score.json");
    let again = [&line[..], &["--fresh", "--jobs", "1"]].concat();
    text(&ebb(folder.path(), &again));
    assert_eq!(file("score.json"), json);
}

#[test]
fn an_unknown_scenario_is_answered_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let output = ebb(folder.path(), &["score", "--scenario", "gredy-cubic"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("did you mean `greedy-cubic`?"), "{error}");
}
