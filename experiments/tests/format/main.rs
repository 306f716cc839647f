// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of experiments: what is told of mistakes in them, and those of the repository.
mod more;

use std::path::Path;

use ebb_experiments::{Bound, Catalogue, Engine, Experiment, Plan};

const SCENARIO: &str = "\
duration = \"2s\"
[bottleneck]
rate = \"10mbit\"
rtt = \"20ms\"
queue = 50
[measure]
early = [\"0s\", \"1s\"]
late = [\"1s\", \"end\"]
[[flow]]
name = \"mine\"
[[flow]]
name = \"other\"
start = \"1s\"
";

const EXPERIMENT: &str = "\
title = \"two flows\"
did = \"ran two flows\"
runs = 3
scenario = \"two.toml\"

[[case]]
name = \"deep\"
set = [\"bottleneck.queue=100\"]

[[row]]
name = \"goodput\"
measure = { kind = \"goodput\", flows = \"mine\", interval = \"late\" }
paper = { deep = 5.0 }
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("two.toml"), SCENARIO).unwrap();
    folder
}

/// What is told when this part of the file is replaced by that.
fn mistake(right: &str, wrong: &str) -> String {
    assert!(EXPERIMENT.contains(right), "{right}");
    let text = EXPERIMENT.replacen(right, wrong, 1);
    let folder = folder();
    match Experiment::parse("a/b", "b.toml", &text, folder.path()) {
        Ok(_) => panic!("`{wrong}` is taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_without_mistakes_is_taken() {
    let folder = folder();
    let experiment = Experiment::parse("a/b", "b.toml", EXPERIMENT, folder.path()).unwrap();
    assert_eq!((experiment.runs, experiment.quick_runs), (3, 2));
    // A tenth.
    let tolerance = experiment.rows[0].paper[0].tolerance;
    assert!((tolerance.around(5.0) - 0.5).abs() < 1e-9);
    let plan = Plan {
        engine: Engine::Sim,
        is_quick: true,
    };
    assert_eq!(experiment.scenarios(plan)[0].runs, 2);
}

#[test]
fn a_paper_may_give_a_bound_and_a_flow_the_beginning_of_a_name() {
    let text = EXPERIMENT
        .replace("deep = 5.0", "deep = \">= 4\"")
        .replace("flows = \"mine\"", "flows = \"mi*\"");
    let folder = folder();
    let experiment = Experiment::parse("a/b", "b.toml", &text, folder.path()).unwrap();
    let paper = experiment.rows[0].paper[0];
    assert_eq!((paper.bound, paper.value), (Bound::AtLeast, 4.0));
    let told = mistake("deep = 5.0", "deep = \"> 4\"");
    assert!(
        told.contains("b.toml:13:") && told.contains("\">= 0.5\""),
        "{told}"
    );
    let told = mistake("flows = \"mine\"", "flows = \"min-*\"");
    assert!(told.contains("no flow") || told.contains("flow:"), "{told}");
}

#[test]
fn mistakes_are_told_with_file_line_key_and_what_would_be_right() {
    let cases = [
        (
            "title = \"two flows\"\n",
            "",
            "b.toml:1:1: `title` is missing",
        ),
        (
            "runs = 3",
            "runs = 0",
            "b.toml:3:8: `runs`: 0 is out of range",
        ),
        (
            "runs = 3",
            "quick_runs = 30",
            "`quick_runs`: more than the 10 runs",
        ),
        (
            "runs = 3",
            "rnus = 3",
            "b.toml:3:1: `rnus`: unknown key; did you mean `runs`?",
        ),
        ("\"two.toml\"", "\"three.toml\"", "there is no file"),
        ("queue=100", "queu=100", "b.toml:8:7: [[case]] deep: `set`"),
        ("queue=100", "queue", "write KEY=VALUE"),
        (
            "kind = \"goodput\"",
            "kind = \"godput\"",
            "did you mean `goodput`?",
        ),
        (
            "flows = \"mine\"",
            "flows = \"mien\"",
            "in case `deep` flow: there is no `mien`; did you mean `mine`?",
        ),
        (
            "interval = \"late\"",
            "interval = \"lat\"",
            "did you mean `late`?",
        ),
        ("flows = \"mine\", ", "", "[measure]: `flows` is missing"),
        (
            "interval = \"late\"",
            "period = \"1s\", phase_to = \"2s\"",
            "must come before",
        ),
        (
            "interval = \"late\"",
            "phase_to = \"2s\"",
            "it needs `period`",
        ),
        ("paper = { deep = 5.0 }", "", "`paper` is missing"),
        (
            "deep = 5.0",
            "deeper = 5.0",
            "b.toml:13:20: `paper`: among the cases there is no `deeper`",
        ),
        ("deep = 5.0", "deep = \"5\"", "`deep`: a number is needed"),
        (
            "paper = {",
            "unit = \"s\"\npaper = {",
            "`unit`: this measure has no such unit; write \"Mbit/s\"",
        ),
        (
            "paper = {",
            "precision = 0\npaper = {",
            "`precision`: it is more than 0",
        ),
        ("[[row]]", "[[row", "b.toml:10:"),
    ];
    for (right, wrong, told) in cases {
        let error = mistake(right, wrong);
        assert!(error.contains(told), "`{wrong}` is answered with:\n{error}");
    }
}

#[test]
fn two_cases_of_one_name_are_refused() {
    let error = mistake("[[row]]", "[[case]]\nname = \"deep\"\n\n[[row]]");
    assert!(error.contains("another case has this name"), "{error}");
}

#[test]
fn a_mistake_in_a_scenario_is_told_by_its_own_file_and_line() {
    let folder = folder();
    let path = folder.path().join("two.toml");
    std::fs::write(&path, SCENARIO.replace("10mbit", "10")).unwrap();
    let error = Experiment::parse("a/b", "b.toml", EXPERIMENT, folder.path()).unwrap_err();
    assert!(error.to_string().contains("two.toml:3:8"), "{error}");
}

#[test]
fn an_unknown_id_is_answered_with_the_nearest() {
    let catalogue = Catalogue::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let error = catalogue.read(&["tcp-lp/fig-66".into()]).unwrap_err();
    assert!(
        error.to_string().contains("did you mean `tcp-lp/fig-6`?"),
        "{error}"
    );
    let error = catalogue.read(&["nonsense".into()]).unwrap_err();
    assert!(error.to_string().contains("--list"), "{error}");
}

#[test]
fn every_experiment_of_the_repository_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let catalogue = Catalogue::open(folder).unwrap();
    let experiments = catalogue.read_all().unwrap();
    assert_eq!(experiments.len(), catalogue.ids().count());
    for experiment in &experiments {
        assert!(!experiment.rows.is_empty(), "{} has no rows", experiment.id);
        let paper = experiment.id.split('/').next().unwrap();
        assert!(
            folder.join(paper).join("README.md").is_file(),
            "{paper} has no page"
        );
    }
}

#[test]
fn a_folder_without_experiments_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = Catalogue::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("no experiments there"), "{error}");
}
