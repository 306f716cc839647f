// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that could not be measured in each run.
use ebb_experiments::{Catalogue, Cell, Experiment, Ran};
use ebb_scenario::{ApplicationMeasure, Results};
use support::{SIMULATED, simulate};

mod support;

const SCENARIO: &str = "\
duration = \"10s\"
sender = \"reno\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[[flow]]
name = \"web\"
kind = \"web\"
object_size = \"10kB\"
[[flow]]
name = \"file\"
kind = \"fixed\"
size = \"100kB\"
start_spread = \"100ms\"
";

const EXPERIMENT: &str = "\
title = \"what came\"
did = \"nothing: it is a test\"
runs = 10
scenario = \"web.toml\"

[[case]]
name = \"one\"

[[row]]
name = \"object\"
measure = { kind = \"object-time\", flows = \"web\", size_bytes = 10000 }
paper = { one = \"<= 5\" }

[[row]]
name = \"objects to file\"
measure = { kind = \"ratio\", over = { kind = \"object-time\", flows = \"web\" }, under = { kind = \"completion\", flows = \"file\" } }
paper = { one = \"<= 100\" }

[[row]]
name = \"file\"
measure = { kind = \"completion\", flows = \"file\" }
paper = { one = \"<= 5\" }
";

fn experiment() -> (Experiment, Vec<Results>) {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    std::fs::create_dir(&paper).unwrap();
    std::fs::write(paper.join("web.toml"), SCENARIO).unwrap();
    std::fs::write(paper.join("table.toml"), EXPERIMENT).unwrap();
    let catalogue = Catalogue::open(folder.path()).unwrap();
    let experiment = catalogue.read(&["paper".into()]).unwrap().remove(0);
    let results = simulate(&experiment.scenarios(SIMULATED));
    (experiment, results)
}

fn cells(experiment: &Experiment, results: &[Results]) -> Vec<Cell> {
    let ran = Ran {
        plan: SIMULATED,
        results,
        simulated: None,
        disturbed: &[],
    };
    experiment.compare(&ran).cells
}

/// As if no object had been complete in this run.
fn without_objects(results: &mut [Results], run: usize) {
    let flow = &mut results[0].runs[run].flows[0];
    let Some(ApplicationMeasure::Web {
        object_s,
        object_s_by_size,
        ..
    }) = &mut flow.measures[0].application
    else {
        panic!("{flow:?}");
    };
    *object_s = Default::default();
    object_s_by_size.clear();
}

#[test]
fn a_mean_over_objects_does_without_one_run_in_ten_and_says_so() {
    let (experiment, mut results) = experiment();
    let whole = cells(&experiment, &results);
    assert!(
        whole.iter().all(|cell| cell.ours.is_some()
            && cell.missing_runs().is_none()
            && cell.values.len() == 10),
        "{whole:?}"
    );

    without_objects(&mut results, 3);
    let missing = cells(&experiment, &results);
    for place in [0, 1] {
        let (with, without) = (&whole[place], &missing[place]);
        let others = with.values.iter().enumerate().filter(|(run, _)| *run != 3);
        let sum: f64 = others.map(|(_, value)| value.unwrap()).sum();
        let ours = without.ours.unwrap();
        assert!((ours - sum / 9.0).abs() < 1e-9, "{ours} {with:?}");
        assert_eq!(without.values[3], None);
        assert_eq!(
            without.missing_runs().unwrap(),
            format!(
                "{}, one: of 9 of 10 runs, none came in the others",
                with.row
            )
        );
    }
    assert_eq!(missing[2], whole[2]);

    without_objects(&mut results, 7);
    let missing = cells(&experiment, &results);
    assert_eq!((missing[0].ours, missing[1].ours), (None, None));
    assert_eq!(missing[0].missing_runs(), None);
}

#[test]
fn a_transfer_that_did_not_end_in_one_run_has_no_mean() {
    let (experiment, mut results) = experiment();
    results[0].runs[3].flows[1].completion_s = None;
    let cells = cells(&experiment, &results);
    assert!(cells[0].ours.is_some());
    assert_eq!(cells[2].ours, None);
}
