// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb reproduce`: what is printed and stored of what papers report.

mod support;

use std::path::Path;
use std::process::Output;

use support::{Ebb, stderr, stdout};

#[path = "reproducing/refused.rs"]
mod refused;

fn reproduce(out: &Path, arguments: &[&str]) -> Output {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    reproduce_in(&experiments, out, arguments)
}

fn reproduce_in(experiments: &Path, out: &Path, arguments: &[&str]) -> Output {
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
        "within",
        "experiments/vulture/alone.toml",
        "Again: ebb reproduce vulture/fig-17 --quick\n",
        "sim: 1 experiment, ",
        "analytic: 1 experiment, 1 green, 0 yellow, 0 red\n",
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

/// An experiment of a second: long enough to run, too short to mean anything.
fn short_experiment(folder: &Path) {
    let paper = folder.join("paper");
    std::fs::create_dir(&paper).unwrap();
    let scenario = "\
duration = \"2s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[[flow]]
name = \"mine\"
";
    let experiment = "\
title = \"one flow\"
did = \"nothing: it is a test\"
engines = [\"sim\", \"lab\"]
runs = 2
scenario = \"one.toml\"
[lab]
quick_set = [\"duration=1s\"]
quick_runs = 1
[[case]]
name = \"short\"
[[row]]
name = \"goodput\"
measure = { kind = \"goodput\", flows = \"mine\" }
paper = { short = 4.5 }
precision = 5
[[sweep]]
assumption = \"the queue has 20 packets\"
key = \"bottleneck.queue\"
values = [10, 20]
";
    std::fs::write(paper.join("one.toml"), scenario).unwrap();
    std::fs::write(paper.join("fig-1.toml"), experiment).unwrap();
}

#[test]
fn what_is_stored_is_shown_again_checked_and_made_into_pages() {
    let folder = tempfile::tempdir().unwrap();
    short_experiment(folder.path());
    let out = folder.path().join("out");
    let run = |arguments: &[&str]| reproduce_in(folder.path(), &out, arguments);
    let nothing = run(&["--stored"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("was run yet"),
        "{}",
        stderr(&nothing)
    );

    let file = folder.path().join("values.csv");
    let values = file.display().to_string();
    let first = run(&["--values", &values]);
    assert!(first.status.success(), "{}", stderr(&first));
    let swept = stdout(&run(&["paper/fig-1", "--assumptions"]));
    assert!(swept.contains("the queue has 20 packets"), "{swept}");
    assert!(swept.contains("mean of 2 runs"), "{swept}");

    let pages = folder.path().join("pages");
    let shown = run(&["--stored", "--html", &pages.display().to_string()]);
    assert!(stdout(&shown).contains("paper/fig-1: one flow"));
    let page = std::fs::read_to_string(pages.join("paper/fig-1.html")).unwrap();
    assert!(page.contains("How it matters: the queue has 20 packets"));
    assert!(pages.join("index.html").is_file());

    assert!(run(&["--stored", "--check", &values]).status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("paper/fig-1,sim,goodput,short,,reported,stated,Mbit/s,exact,4.5,5.0,4."),
        "{text}"
    );
    // A slower link: the value leaves its interval.
    let scenario = folder.path().join("paper/one.toml");
    let slower = std::fs::read_to_string(&scenario)
        .unwrap()
        .replace("5mbit", "4mbit");
    std::fs::write(&scenario, slower).unwrap();
    let moved = run(&["--check", &values]);
    assert_eq!(moved.status.code(), Some(1));
    for told in ["goodput, short was 4.", "1 value left the intervals of"] {
        assert!(stderr(&moved).contains(told), "{}", stderr(&moved));
    }
}

#[test]
fn long_names_are_told_whole_and_values_beside_what_they_may_differ_by() {
    let folder = tempfile::tempdir().unwrap();
    short_experiment(folder.path());
    let file = folder.path().join("paper/fig-1.toml");
    let row = "goodput of the one flow that is there, and that has a name which is long";
    let case = "short, that is shorter than others";
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text
        .replace("\"goodput\"\nmeasure", &format!("\"{row}\"\nmeasure"))
        .replace("name = \"short\"", &format!("name = \"{case}\""))
        .replace(
            "{ short = 4.5 }\nprecision = 5",
            &format!("{{ \"{case}\" = 4.5 }}\nprecision = 1.2"),
        );
    let bound = text.replace("= 4.5 }\nprecision = 1.2", "= \">= 4\" }");
    std::fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let shown = stdout(&reproduce_in(folder.path(), &out, &["--engine", "sim"]));
    assert!(shown.contains(&format!("\n{row}, Mbit/s\n")), "{shown}");
    let line = shown.lines().find(|line| line.contains(case)).unwrap();
    let values: Vec<&str> = line
        .split(case)
        .nth(1)
        .unwrap()
        .split_whitespace()
        .collect();
    // One flow without a seed's part in it: the interval is nothing.
    assert_eq!(
        (values[0], values[1], values[3]),
        ("4.5", "1.2", "0.0"),
        "{line}"
    );
    assert!(shown.contains("nothing: it is a test.\n"), "{shown}");
    let is_path = |line: &str| line.contains("/paper/");
    let lines = || shown.lines().filter(|line| !is_path(line));
    assert!(lines().all(|line| line.chars().count() <= 80), "{shown}");

    std::fs::write(&file, bound).unwrap();
    let swept = stdout(&reproduce_in(folder.path(), &out, &["--assumptions"]));
    let line = swept.lines().find(|line| line.contains(case)).unwrap();
    assert!(line.contains(&format!("{case}   >= 4  ")), "{swept}");
}

#[test]
fn our_own_figures_are_listed_and_run_when_they_are_named() {
    let out = tempfile::tempdir().unwrap();
    let list = stdout(&reproduce(out.path(), &["--list"]));
    assert!(
        list.lines().any(|line| line.starts_with("ebb/kernel")),
        "{list}"
    );
    let arguments = [
        "ebb/kernel",
        "--engine",
        "sim",
        "--runs",
        "1",
        "--case",
        "alone",
        "--case",
        "constant",
    ];
    let output = reproduce(
        out.path(),
        &[
            &arguments[..],
            &["--set", "bottleneck.queue=100", "--check"],
        ]
        .concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let table = stdout(&output);
    for part in [
        "LBE, share of the link",
        "bound",
        ">= 0.985",
        "Again: ebb reproduce ebb/kernel --engine sim --case 'alone' --case 'constant' --set",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(!table.contains("BE's share"), "{table}");
    // A part does not take the place of the whole.
    assert!(out.path().join("ebb/kernel.part.json").is_file());
    assert!(!out.path().join("ebb/kernel.json").is_file());
}

/// Those of fast ones that are in the repository; `make reproduce-quick` does all.
#[test]
fn values_stay_within_the_intervals_that_are_kept() {
    let out = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/results/sim-quick.csv");
    let file = file.display().to_string();
    let ids = ["tcp-lp/fig-6", "cubic-plus/table-5"];
    let known = std::fs::read_to_string(&file).unwrap();
    for id in ids {
        assert!(known.contains(id), "{id} is not in {file}");
    }
    let output = reproduce(
        out.path(),
        &[&ids[..], &["--quick", "--check", &file]].concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn the_lab_runs_the_same_experiment_beside_the_simulator() {
    if !ebb_kernel::requires_root("the_lab_runs_the_same_experiment_beside_the_simulator") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    short_experiment(folder.path());
    let out = folder.path().join("out");
    let output = reproduce_in(
        folder.path(),
        &out,
        &["--quick", "--engine", "lab", "--json"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json[0]["engine"], &json[0]["runs"]),
        (&"lab".into(), &1.into())
    );
    // How far apart they are says little after a second; that both were measured does.
    let cell = &json[0]["cells"][0];
    for of in ["ours", "simulated"] {
        let mbit_per_s = cell[of].as_f64().unwrap();
        assert!((0.1..5.0).contains(&mbit_per_s), "{of} is {mbit_per_s}");
    }
    assert!(json[0]["goodput_apart"].as_f64().is_some());
    // The paper's lasts 2 s.
    assert_eq!(cell["verdict"], "shortened");
    let shown = reproduce_in(folder.path(), &out, &["--stored", "--engine", "lab"]);
    let shown = stdout(&shown);
    assert!(
        shown.contains("shortened: not the paper's scenario"),
        "{shown}"
    );
    assert!(out.join("paper/fig-1.lab.parquet").is_file());
    let list = stdout(&reproduce_in(folder.path(), &out, &["--list"]));
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[2].contains("sim") && lines[2].ends_with("not run"),
        "{list}"
    );
    assert!(
        lines[3].contains("lab") && lines[3].ends_with("shortened (quick)"),
        "{list}"
    );
}

#[test]
fn an_experiment_that_is_not_for_the_lab_is_refused_by_name() {
    let out = tempfile::tempdir().unwrap();
    let output = reproduce(out.path(), &["tcp-lp/fig-6", "--engine", "lab"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("tcp-lp/fig-6 does not run in the lab"),
        "{text}"
    );
    let output = reproduce(out.path(), &["bwss/internet-1", "--engine", "sim"]);
    let text = stderr(&output);
    assert!(
        text.contains("bwss/internet-1 runs in the lab only"),
        "{text}"
    );
}
