// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb-lab` as people type it.
mod common;

use std::process::{Command, Output};

fn lab(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ebb-lab"))
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn unknown_names_are_answered_with_those_that_exist() {
    let said = complaint(&lab(
        &["compare", "--policy", "none", "--scenario", "s9"],
        &[],
    ));
    assert!(said.contains("`s9`") && said.contains("s4t10"), "{said}");
    let said = complaint(&lab(&["figures", "ebb/alon"], &[]));
    assert!(
        said.contains("`ebb/alon`") && said.contains("ebb/alone"),
        "{said}"
    );
    let said = complaint(&lab(&["compare", "--policy", "ebc"], &[]));
    assert!(
        said.contains("'ebc'") && said.contains("priority"),
        "{said}"
    );
}

#[test]
fn a_worker_that_cannot_be_started_is_named_with_the_remedy() {
    if !common::is_root("a_worker_that_cannot_be_started_is_named_with_the_remedy") {
        return;
    }
    let arguments = ["compare", "--policy", "none", "--scenario", "s1"];
    let said = complaint(&lab(
        &arguments,
        &[("EBB_LAB_WORKER", "/nonexistent/worker")],
    ));
    assert!(said.contains("/nonexistent/worker"), "{said}");
    assert!(said.contains("cargo build"), "{said}");
}

#[test]
fn a_worker_that_dies_is_reported_and_not_waited_for() {
    if !common::is_root("a_worker_that_dies_is_reported_and_not_waited_for") {
        return;
    }
    let arguments = ["compare", "--policy", "none", "--scenario", "s1"];
    let said = complaint(&lab(&arguments, &[("EBB_LAB_WORKER", "/bin/false")]));
    assert!(said.contains("endpoint worker failed"), "{said}");
}

#[test]
fn a_comparison_writes_a_table_and_all_series() {
    if !common::is_root("a_comparison_writes_a_table_and_all_series") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("compare.json");
    let traces = directory.path().join("traces");
    let output = Command::new(env!("CARGO_BIN_EXE_ebb-lab"))
        .args(["compare", "--scenario", "s2", "--seconds", "4"])
        .args(["--policy", "ebb", "--policy", "none"])
        .arg("--json")
        .arg(&file)
        .arg("--trace")
        .arg(&traces)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        table.contains("spare_used") && table.contains("\nebb "),
        "{table}"
    );
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    // Under either policy, and BE alone.
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["seed"], 1);
        assert!(run["late_pkts_share"].is_f64());
        assert!(run["flows"][0]["received_bytes"].as_array().unwrap().len() > 600);
    }
    assert!(traces.join("s2-ebb-0.trace").metadata().unwrap().len() > 10_000);
}
