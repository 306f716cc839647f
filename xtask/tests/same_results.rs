// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `scripts/same-results` on trees whose `ebb` is a script that writes what a test wants.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two trees with a program each.
struct Trees(tempfile::TempDir);

impl Trees {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A program that has this score, and gives these outcomes to the experiments `a/1` and `a/2`;
    /// `b/1` is not for the simulator.
    fn add(&self, name: &str, score: &str, outcomes: [&str; 2]) -> PathBuf {
        let tree = self.0.path().join(name);
        let program = tree.join("target/release/ebb");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let [first, second] = outcomes;
        let script = format!(
            r#"#!/bin/bash
if [ "$2" = --list ]; then
    echo '[{{"id": "a/1", "engines": ["sim"]}}, {{"id": "b/1", "engines": ["lab"]}},
        {{"id": "a/2", "engines": ["lab", "sim"]}}]'
elif [ "$1" = score ]; then
    mkdir -p "$3" && echo {score} > "$3/score.csv"
else
    shift 4
    runs="$2/runs/of-{name}" && mkdir -p "$runs" && shift 2
    for id in "$@"; do
        case $id in a/1) echo {first} ;; a/2) echo {second} ;; *) exit 9 ;; esac > "$runs/${{id#a/}}-{name}"
    done
fi
"#
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        tree
    }
}

fn compare(arguments: &[&Path]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/same-results");
    Command::new(script).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn programs_that_give_the_same_are_the_same_whatever_their_files_are_called() {
    let trees = Trees::new();
    let old = trees.add("old", "9.7", ["x", "y"]);
    let new = trees.add("new", "9.7", ["x", "y"]);
    let output = compare(&[&old, &new]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        said(&output).contains("outcomes: the same (2 lines)"),
        "{}",
        said(&output)
    );
}

#[test]
fn another_score_or_another_outcome_is_told() {
    let trees = Trees::new();
    let old = trees.add("old", "9.7", ["x", "y"]);
    let scored = compare(&[&old, &trees.add("scored", "3.7", ["x", "y"])]);
    assert_eq!(scored.status.code(), Some(1));
    assert!(
        said(&scored).contains("scores differ: 1 of 1"),
        "{}",
        said(&scored)
    );
    let ran = compare(&[&old, &trees.add("ran", "9.7", ["x", "z"])]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        said(&ran).contains("outcomes differ: 1 of 2"),
        "{}",
        said(&ran)
    );
    let only_first = compare(&[
        &old,
        &trees.add("later", "9.7", ["x", "z"]),
        Path::new("a/1"),
    ]);
    assert_eq!(only_first.status.code(), Some(0));
}

#[test]
fn a_tree_without_a_program_is_named() {
    let trees = Trees::new();
    let old = trees.add("old", "9.7", ["x", "y"]);
    let output = compare(&[&old, Path::new("/nowhere")]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        complaint.contains("/nowhere/target/release/ebb is missing"),
        "{complaint}"
    );
}
