// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of experiments: what is told of mistakes in them, and those of the repository.
use std::path::Path;

use ebb_experiments::{Bound, Catalogue, Engine, Experiment, Plan, Ran};

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
    // 5 % of the 10 Mbit/s that the flow could have.
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
            "tolerance = \"5\"\npaper = {",
            "`tolerance`: write \"20%\"",
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
    let experiments = catalogue.read(&[]).unwrap();
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

const MORE: &str = "
[lab]
quick_set = [\"duration=1500ms\"]

[[plot]]
x = { label = \"queue\", log = true }
y = { label = \"goodput\", unit = \"Mbit/s\" }

[[plot.line]]
name = \"ours\"
row = \"goodput\"
x = [100]

[[plot]]
form = \"time\"
y = { label = \"window\", unit = \"packets\" }
bin = \"100ms\"

[[plot.line]]
name = \"mine\"
series = \"cwnd\"
flow = \"mine\"

[[sweep]]
assumption = \"the queue is deep\"
key = \"bottleneck.queue\"
values = [50, 100]
";

/// The experiment with pictures, sweeps and the lab, of which a part is replaced.
fn with_more(right: &str, wrong: &str) -> Result<Experiment, String> {
    let text = EXPERIMENT.replacen("runs = 3", "engines = [\"sim\", \"lab\"]\nruns = 3", 1) + MORE;
    assert!(text.contains(right), "{right}");
    let folder = folder();
    Experiment::parse(
        "a/b",
        "b.toml",
        &text.replacen(right, wrong, 1),
        folder.path(),
    )
    .map_err(|error| error.to_string())
}

#[test]
fn pictures_sweeps_and_the_lab_have_scenarios_of_their_own() {
    let experiment = with_more("", "").unwrap();
    assert_eq!(experiment.engines, [Engine::Sim, Engine::Lab]);
    let scenario = |engine, is_quick| experiment.scenarios(Plan { engine, is_quick }).remove(0);
    assert_eq!(scenario(Engine::Lab, true).duration.as_secs_f64(), 1.5);
    assert_eq!(scenario(Engine::Lab, false).duration.as_secs_f64(), 2.0);
    // The curve over time needs bins, in both engines.
    assert!(scenario(Engine::Sim, false).has_flow_series);
    assert_eq!(scenario(Engine::Lab, true).bin.as_secs_f64(), 0.1);
    let swept = experiment.sweeps[0].scenarios(&experiment);
    assert_eq!(swept.len(), 2);
    assert_ne!(swept[0].links, swept[1].links);
}

#[test]
fn a_curve_has_several_measures_of_one_case() {
    let of = |more| format!("{{ kind = \"goodput\", flows = \"mine\"{more} }}");
    let measures = format!(
        "measures = [{}, {}]\nx = [1, 2]",
        of(""),
        of(", of = \"1mbit\"")
    );
    let row = "row = \"goodput\"\nx = [100]";
    let error = with_more(row, &measures).unwrap_err();
    assert!(error.contains("no such unit"), "{error}");
    let measures = measures.replacen(", of = \"1mbit\"", "", 1);
    let experiment = with_more(row, &measures).unwrap();
    assert_eq!(experiment.plots[0].lines.len(), 1);
    let one = measures.replacen("[1, 2]", "[1]", 1);
    let error = with_more(row, &one).unwrap_err();
    assert!(error.contains("there are 1 for 2 values"), "{error}");
    let none = "measures = []\nx = []";
    let error = with_more(row, none).unwrap_err();
    assert!(error.contains("there is nothing to measure"), "{error}");
}

const FORMULA: &str = "\
title = \"a formula\"
did = \"wrote it down\"
engine = \"analytic\"
runs = 1

[[row]]
name = \"n\"
measure = { kind = \"inference-bound\", rate = \"1500kbit\", packet_bytes = 1000, threshold = 0.4 }
unit = \"count\"
paper = 11.25

[[plot]]
x = { label = \"threshold\" }
y = { label = \"n\" }

[[plot.line]]
name = \"ours\"
measures = [
    { kind = \"inference-bound\", rate = \"1600kbit\", packet_bytes = 1000, threshold = 0.25 },
    { kind = \"inference-bound\", rate = \"1600kbit\", packet_bytes = 1000, threshold = 1.0 },
]
x = [0.25, 1]
";

#[test]
fn a_formula_is_drawn_without_cases_or_runs() {
    let folder = folder();
    let parse = |text: &str| Experiment::parse("a/b", "b.toml", text, folder.path());
    let ran = Ran {
        plan: Plan {
            engine: Engine::Analytic,
            is_quick: false,
        },
        results: &[],
        simulated: None,
        disturbed: &[],
    };
    let comparison = parse(FORMULA).unwrap().compare(&ran);
    // 200 packets a second: sqrt(1000) (1 - 1/2), and nothing where all of the queue is free.
    let heights = comparison.pictures[0].curves[0].ours.iter().map(|it| it.y);
    let heights: Vec<f64> = heights.collect();
    assert!(
        (heights[0] - 1000f64.sqrt() / 2.0).abs() < 1e-9,
        "{heights:?}"
    );
    assert_eq!(heights[1], 0.0);
    let one = FORMULA.replacen("x = [0.25, 1]", "x = [1]", 1);
    let error = parse(&one).unwrap_err().to_string();
    assert!(error.contains("there are 1 for 2 values"), "{error}");
}

#[test]
fn what_the_lab_does_not_run_has_no_runs_there() {
    let only = "name = \"deep\"\nengines = [\"sim\"]";
    let experiment = with_more("name = \"deep\"", only).unwrap();
    let runs = |engine| {
        let plan = Plan {
            engine,
            is_quick: true,
        };
        experiment.scenarios(plan)[0].runs
    };
    assert_eq!((runs(Engine::Sim), runs(Engine::Lab)), (2, 0));
}

#[test]
fn a_mistake_in_a_picture_a_sweep_or_the_lab_is_told_with_what_would_be_right() {
    let cases = [
        ("[\"sim\", \"lab\"]", "[\"sim\"]", "`lab`: it needs engines"),
        (
            "[\"sim\", \"lab\"]",
            "[\"sim\", \"lap\"]",
            "did you mean `lab`?",
        ),
        ("duration=1500ms", "duration=1500", "`set`: "),
        (
            "row = \"goodput\"",
            "row = \"godput\"",
            "did you mean `goodput`?",
        ),
        (
            "x = [100]",
            "x = [1, 2]",
            "there are 2 for 1 values, which are those of: deep",
        ),
        ("x = [100]", "", "`x` is missing"),
        (
            "x = { label = \"queue\", log = true }",
            "",
            "`x` is missing; write x = { label",
        ),
        ("log = true", "log = true, from = 0", "begins above 0"),
        ("form = \"time\"", "form = \"tiem\"", "did you mean `time`?"),
        (
            "series = \"cwnd\"",
            "series = \"rtt\"",
            "has the unit \"packets\"; it can be \"ms\", \"s\"",
        ),
        (
            "flow = \"mine\"\n",
            "flow = \"mien\"\n",
            "did you mean `mine`?",
        ),
        (
            "values = [50, 100]",
            "values = [50]",
            "2 to 8 values are needed",
        ),
        (
            "bottleneck.queue\"\nvalues",
            "bottleneck.queu\"\nvalues",
            "did you mean `queue`?",
        ),
    ];
    for (right, wrong, told) in cases {
        let error = with_more(right, wrong).err();
        let error = error.unwrap_or_else(|| panic!("`{wrong}` is taken"));
        assert!(error.contains("b.toml:"), "{error}");
        assert!(error.contains(told), "`{wrong}` is answered with:\n{error}");
    }
}
