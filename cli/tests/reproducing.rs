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

/// The file that a killed `ebb reproduce` would not have written yet.
#[test]
fn what_was_broken_off_goes_on_where_it_stopped() {
    let out = tempfile::tempdir().unwrap();
    let runs = || {
        let versions = std::fs::read_dir(out.path().join("runs")).unwrap();
        let folder = versions.map(|entry| entry.unwrap().path()).next().unwrap();
        let files = std::fs::read_dir(folder).unwrap();
        files.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let changed = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let first = reproduce(out.path(), &["vulture/fig-17", "--quick", "--json"]);
    assert!(first.status.success(), "{}", stderr(&first));
    let before = runs();
    assert_eq!(before.len(), 3);
    std::fs::remove_file(&before[0]).unwrap();
    let kept: Vec<_> = before[1..].iter().map(|path| changed(path)).collect();
    let again = reproduce(out.path(), &["vulture/fig-17", "--quick", "--json"]);
    assert_eq!(stdout(&first), stdout(&again));
    assert!(before[0].is_file(), "the missing run was not done");
    let after: Vec<_> = before[1..].iter().map(|path| changed(path)).collect();
    assert_eq!(kept, after, "known runs were done again");
    reproduce(out.path(), &["vulture/fig-17", "--quick", "--fresh"]);
    assert_ne!(changed(&before[1]), after[0]);
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
