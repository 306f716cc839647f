// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is fitted stands in a second column, and counts for nothing.
use ebb_experiments::{Chosen, Comparison, Experiment, Plan, PolicyChoice, Verdict};
use support::{SIMULATED, compare};

mod support;

const SCENARIO: &str = "\
duration = \"3s\"
sender = \"reno\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[[flow]]
name = \"mine\"
class = \"lbe\"
";

/// The paper's values are those of a link of 5 Mbit/s, which only the second column has.
const EXPERIMENT: &str = "\
title = \"one flow\"
did = \"nothing: it is a test\"
runs = 2
scenario = \"one.toml\"
set = [\"bottleneck.rate=2mbit\"]
fitted = [\"bottleneck.rate=5mbit\"]

[[case]]
name = \"short\"
set = [\"duration=2s\"]

[[case]]
name = \"long\"
fitted = [\"duration=4s\"]

[[row]]
name = \"goodput\"
measure = { kind = \"goodput\", flows = \"mine\" }
paper = { short = 4.4, long = 4.6 }

[[row]]
name = \"long to short\"
is = \"derived\"
measure = { kind = \"ratio\", over = { kind = \"goodput\", flows = \"mine\" }, under = { kind = \"goodput\", flows = \"mine\", case = \"short\" } }
paper = { long = 1.05 }
";

fn experiment(text: &str) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    let experiment = Experiment::parse("a/b", "b.toml", text, folder.path());
    experiment.map_err(|error| error.to_string())
}

fn cells(comparison: &Comparison) -> Vec<(&str, &str, Chosen)> {
    let cells = comparison.cells.iter();
    let cells = cells.map(|cell| (&*cell.row, &*cell.case, cell.chosen));
    cells.collect()
}

#[test]
fn a_second_column_has_what_was_fitted_and_counts_for_nothing() {
    use Chosen::{Fitted, Stated};
    let comparison = compare(&experiment(EXPERIMENT).unwrap(), SIMULATED);
    assert_eq!(
        cells(&comparison),
        [
            ("goodput", "short", Stated),
            ("goodput", "long", Stated),
            ("long to short", "long", Stated),
            ("goodput", "short (fitted)", Fitted),
            ("goodput", "long (fitted)", Fitted),
            ("long to short", "long (fitted)", Fitted),
        ]
    );
    let ours: Vec<f64> = comparison.cells.iter().map(|it| it.ours.unwrap()).collect();
    assert!(ours[0] < 2.0 && ours[1] < 2.0 && ours[3] > 4.0 && ours[4] > 4.0);
    // The case that a measure names is the second column's, too.
    assert!((ours[5] - ours[4] / ours[3]).abs() < 1e-9, "{ours:?}");
    assert_eq!(comparison.cells[3].verdict, Verdict::Green);
    assert_eq!(comparison.cells[3].is_shown_as(), Some("fitted"));
    assert_eq!(comparison.cells[2].is_shown_as(), Some("derived"));
    let counts = comparison.counts();
    assert_eq!((counts.green, counts.red, counts.shown), (0, 2, 4));
    assert_eq!(comparison.counts_of(Fitted).green, 2);
    assert_eq!(comparison.not_green().len(), 2);
}

#[test]
fn what_is_quick_or_under_another_policy_has_the_first_column_only() {
    let experiment = experiment(EXPERIMENT).unwrap();
    let quick = Plan {
        is_quick: true,
        ..SIMULATED
    };
    let runs: Vec<u32> = experiment
        .scenarios(quick)
        .iter()
        .map(|it| it.runs)
        .collect();
    assert_eq!(runs, [2, 2, 0, 0]);
    assert_eq!(compare(&experiment, quick).cells.len(), 3);
    let under = experiment.under(&[PolicyChoice::None]).unwrap();
    let of_policy = compare(&under, SIMULATED);
    assert_eq!(of_policy.cells.len(), 3, "{of_policy:#?}");
}

#[test]
fn a_mistake_in_what_is_fitted_is_told_with_its_case() {
    let wrong = EXPERIMENT.replace("fitted = [\"duration=4s\"]", "fitted = [\"durration=4s\"]");
    let told = experiment(&wrong).unwrap_err();
    assert!(told.contains("`fitted`: in case `long`"), "{told}");
    let wrong = EXPERIMENT.replace("is = \"derived\"", "is = \"deriven\"");
    let told = experiment(&wrong).unwrap_err();
    assert!(told.contains("did you mean `derived`?"), "{told}");
}
