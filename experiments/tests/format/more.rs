// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures, sweeps of assumptions, and what is for the lab.
use ebb_experiments::{Engine, Experiment, Plan, Ran};

use crate::{EXPERIMENT, folder};

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

/// Two cases, and by hand what `each` makes of a row.
#[test]
fn a_row_for_each_of_several_cases_is_as_many_rows() {
    let cases = EXPERIMENT.replace(
        "[[row]]",
        "[[case]]\nname = \"deep, again\"\n\n[[case]]\nname = \"flat\"\n\n[[case]]\nname = \"flat, again\"\n\n[[row]]",
    );
    let (head, _) = cases.split_once("[[row]]").unwrap();
    let row = "\
[[row]]
name = \"more in {}\"
EACH
measure = { kind = \"difference\", of = { kind = \"goodput\", flows = \"mine\" }, less = { kind = \"goodput\", flows = \"mine\", case = \"{}, again\" } }
paper = { \"{}\" = 5 }
";
    let parse = |rows: &str| {
        let folder = folder();
        let text = format!("{head}{rows}");
        Experiment::parse("a/b", "b.toml", &text, folder.path())
    };
    let each = parse(&row.replace("EACH", "each = [\"deep\", \"flat\"]")).unwrap();
    let one_by_one = ["deep", "flat"].map(|name| row.replace("EACH\n", "").replace("{}", name));
    let by_hand = parse(&one_by_one.concat()).unwrap();
    assert_eq!(each.rows.len(), 2);
    assert_eq!(format!("{:?}", each.rows), format!("{:?}", by_hand.rows));
    for (each, name, told) in [
        ("", "more in {}", "`each`: it names no case"),
        (
            "\"deep\", \"deep\"",
            "more in {}",
            "`each`: `deep` is there twice",
        ),
        (
            "\"deep\", \"flat\"",
            "more",
            "`each`: all rows would be called `more`",
        ),
    ] {
        let row = row.replace("EACH", &format!("each = [{each}]"));
        let error = parse(&row.replace("more in {}", name)).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let error = parse(&row.replace("EACH", "each = [\"depe\"]")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("`each`: there is no `depe`; did you mean `deep`?"),
        "{error}"
    );
}
