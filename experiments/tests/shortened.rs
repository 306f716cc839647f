// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the lab makes shorter with `--quick` is not the paper's scenario, and is not judged.
use std::collections::BTreeMap;

use ebb_experiments::{Comparison, Engine, Experiment, KnownValues, Plan, Verdict};
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
";

/// One case is as short as it gets already.
const EXPERIMENT: &str = "\
title = \"one flow\"
did = \"nothing: it is a test\"
engines = [\"sim\", \"lab\"]
runs = 2
scenario = \"one.toml\"

[lab]
quick_set = [\"duration=2s\"]

[[case]]
name = \"long\"

[[case]]
name = \"short\"
set = [\"duration=2s\"]

[[row]]
name = \"use\"
measure = { kind = \"utilisation\" }
why = \"the paper's values are made up\"
paper = { long = 0.1, short = 0.95 }

[[row]]
name = \"short to long\"
measure = { kind = \"ratio\", over = { kind = \"utilisation\", case = \"short\" }, under = { kind = \"utilisation\", case = \"long\" } }
paper = { short = \">= 0.5\" }
";

fn compare(engine: Engine, is_quick: bool) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    let experiment = Experiment::parse("a/b", "b.toml", EXPERIMENT, folder.path()).unwrap();
    support::compare(&experiment, Plan { engine, is_quick })
}

fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    comparison.cells.iter().map(|cell| cell.verdict).collect()
}

#[test]
fn a_shortened_case_and_what_is_measured_with_it_are_not_judged() {
    use Verdict::{Green, Red, Shortened};
    let quick = compare(Engine::Lab, true);
    assert_eq!(
        verdicts(&quick),
        [Shortened, Green, Shortened],
        "{quick:#?}"
    );
    assert_eq!((quick.counts().judged(), quick.counts().shortened), (1, 2));
    let shortened = &quick.cells[0];
    assert_eq!(shortened.ours, shortened.simulated);
    assert!(shortened.ours.is_some());
    assert_eq!(shortened.why, None);
    // With all of their length, and in the simulator, they are.
    for (engine, is_quick) in [(Engine::Lab, false), (Engine::Sim, true)] {
        let whole = compare(engine, is_quick);
        assert_eq!(verdicts(&whole), [Red, Green, Green], "{whole:#?}");
        assert!(whole.cells[0].why.is_some());
    }
}

#[test]
fn the_table_for_programs_tells_bounds_and_the_simulator_and_what_was_quick() {
    let line = |comparison: &Comparison, number: usize| -> BTreeMap<String, String> {
        let text = comparison.to_csv().unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader.deserialize().nth(number).unwrap().unwrap()
    };
    let quick = compare(Engine::Lab, true);
    let of_case = line(&quick, 1);
    assert_eq!(of_case["bound"], "exact");
    assert_eq!(of_case["tolerance_share"], "0.095");
    assert_eq!(of_case["is_quick"], "true");
    assert_eq!(of_case["simulated_share"], of_case["ours_share"]);
    assert_eq!(line(&quick, 0)["verdict"], "shortened");
    assert_eq!(line(&quick, 0)["tolerance_share"], "");

    let simulated = compare(Engine::Sim, false);
    let bound = line(&simulated, 2);
    assert_eq!(bound["bound"], "at-least");
    assert_eq!(
        (&*bound["paper_share"], &*bound["tolerance_share"]),
        ("0.5", "")
    );
    assert_eq!(bound["is_quick"], "false");
    assert!(!bound.contains_key("simulated_share"));
}

#[test]
fn what_is_shortened_is_not_held_against_what_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.csv");
    let whole = compare(Engine::Lab, false);
    KnownValues::new(&[whole]).write(&file).unwrap();
    let known = KnownValues::read(&file).unwrap();
    let mut quick = compare(Engine::Lab, true);
    for cell in &mut quick.cells {
        cell.ours = Some(7.0);
    }
    let told = known.moved(&[quick]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("a/b (lab): use, short was 0.9"),
        "{told:?}"
    );
}
