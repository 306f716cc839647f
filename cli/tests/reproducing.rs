// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb reproduce`: what is printed and stored of what papers report.

mod support;

use std::path::Path;
use std::process::Output;

use support::{Ebb, stderr, stdout};

fn reproduce(out: &Path, arguments: &[&str]) -> Output {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    Ebb::new()
        .command(["reproduce"])
        .args(arguments)
        .arg("--out")
        .arg(out)
        .arg("--experiments")
        .arg(experiments)
        .output()
        .unwrap()
}

#[test]
fn values_of_papers_are_printed_beside_ours_and_stored() {
    let out = tempfile::tempdir().unwrap();
    let output = reproduce(out.path(), &["vulture/fig-17", "tcp-lp/fig-6", "--quick"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "vulture/fig-17: ",
        "0.99",
        "quick: fewer than it takes",
        "11.25",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(
        text.lines()
            .all(|line| { line.starts_with("Result: ") || line.chars().count() <= 80 })
    );
    let stored = std::fs::read_to_string(out.path().join("vulture/fig-17.csv")).unwrap();
    assert!(stored.contains("ours_half_width_95_share"), "{stored}");

    let output = reproduce(out.path(), &["--list"]);
    let list = stdout(&output);
    let line = |id: &str| {
        list.lines()
            .find(|line| line.starts_with(id))
            .unwrap()
            .to_owned()
    };
    assert!(line("tcp-lp/fig-6 ").contains("analytic"), "{list}");
    assert!(line("tcp-lp/fig-6 ").contains("1/0/0"), "{list}");
    assert!(line("vulture/fig-17 ").ends_with("(quick)"), "{list}");
    assert!(line("vulture/table-1 ").ends_with("not run"), "{list}");
}

#[test]
fn json_has_every_run_of_every_cell() {
    let out = tempfile::tempdir().unwrap();
    let output = reproduce(out.path(), &["tcp-lp/fig-6", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cell = &json[0]["cells"][0];
    assert_eq!(cell["verdict"], "green");
    assert_eq!(cell["values"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_id_is_answered_with_the_nearest() {
    let out = tempfile::tempdir().unwrap();
    let output = reproduce(out.path(), &["vulture/table-11"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("did you mean `vulture/table-1`?"), "{text}");
}
