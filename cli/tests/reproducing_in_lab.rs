// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Experiments with real kernel TCP: several policies beside each other, what is kept of runs, what
//! is said when the lab's endpoints cannot be had; and that both engines start flows alike.
mod support;

use std::path::Path;
use std::process::Output;

use ebb_lab::judging::{Attempt, judge};
use ebb_scenario::Results;
use support::{Ebb, stderr, stdout};

const SCENARIO: &str = "\
duration = \"4s\"
[bottleneck]
rate = \"10mbit\"
rtt = \"40ms\"
queue = 40
[measure]
both = [\"1s\", \"end\"]
[[flow]]
name = \"be\"
kind = \"constant\"
rate = \"6mbit\"
[[flow]]
name = \"lbe\"
class = \"lbe\"
receiver = \"ebb\"
";

/// The last bound is missed by whatever it is.
const EXPERIMENT: &str = "\
title = \"beside 6 Mbit/s\"
did = \"nothing: it is a test\"
engines = [\"lab\", \"sim\"]
runs = 2
quick_runs = 1
scenario = \"constant.toml\"

[[case]]
name = \"both\"

[[case]]
name = \"alone\"
set = [\"flow.lbe.count=0\"]

[[row]]
name = \"BE, of alone\"
measure = { kind = \"ratio\", over = { kind = \"goodput\", flows = \"be\" }, under = { kind = \"goodput\", flows = \"be\", case = \"alone\" } }
bound = { both = \">= 0.5\" }

[[row]]
name = \"too much\"
measure = { kind = \"goodput\", flows = \"lbe\" }
bound = { both = \">= 20\" }
";

fn write_experiment(folder: &Path) {
    let ours = folder.join("ours");
    std::fs::create_dir(&ours).unwrap();
    for (name, text) in [
        ("folder.toml", "own = true\n"),
        ("constant.toml", SCENARIO),
        ("table.toml", EXPERIMENT),
    ] {
        std::fs::write(ours.join(name), text).unwrap();
    }
}

fn reproduce(folder: &Path, arguments: &[&str]) -> Output {
    Ebb::new()
        .command(["reproduce", "ours"])
        .arg("--experiments")
        .arg(folder)
        .arg("--out")
        .arg(folder.join("out"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn policies_are_measured_beside_each_other_and_all_is_kept_that_was_asked_for() {
    let name = "policies_are_measured_beside_each_other_and_all_is_kept_that_was_asked_for";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_experiment(folder.path());
    let results = folder.path().join("results");
    let traces = folder.path().join("traces");
    let policies = ["none", "priority", "ebb", "sampled"];
    let mut arguments = vec!["--runs", "1", "--parallel", "5"];
    for policy in policies {
        arguments.extend(["--policy", policy]);
    }
    let folders = [&results, &traces].map(|it| it.display().to_string());
    arguments.extend(["--results", &folders[0], "--trace", &folders[1]]);
    arguments.push("--check");
    let output = reproduce(folder.path(), &arguments);
    // Nobody has 20 Mbit/s.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let complaint = stderr(&output);
    assert!(
        complaint.contains("too much, both, sampled: "),
        "{complaint}"
    );
    assert!(complaint.contains("4 values are not green"), "{complaint}");
    let table = stdout(&output);
    for part in [
        "policy",
        "bound",
        "priority",
        ">= 0.5",
        "Again: sudo ebb reproduce ours/table --policy none",
    ] {
        assert!(table.contains(part), "`{part}` in\n{table}");
    }
    for policy in policies {
        let file = results.join(format!("ours/table/both-{policy}.json"));
        let read = Results::read(&file).unwrap();
        let run = &read.runs[0];
        assert_eq!(run.engine, "lab");
        assert_eq!(run.series.flows[0].goodput_bits_per_s.len(), 40);
        assert!(run.series.flows[0].cwnd_bytes.iter().flatten().count() > 20);
    }
    assert!(results.join("ours/table/alone.json").is_file());
    // Of the laws in the kernel only.
    let trace = traces.join("ours-table-both-ebb-ebb-0.trace");
    assert!(trace.metadata().unwrap().len() > 10_000, "{trace:?}");
    assert_eq!(std::fs::read_dir(&traces).unwrap().count(), 1);
}

#[test]
fn several_runs_have_a_spread_and_what_is_known_is_not_run_again() {
    let name = "several_runs_have_a_spread_and_what_is_known_is_not_run_again";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_experiment(folder.path());
    judge(name, || {
        let first = reproduce(folder.path(), &[]);
        assert!(first.status.success(), "{first:?}");
        let table = stdout(&first);
        let again = stdout(&reproduce(folder.path(), &[]));
        let is_disturbed = table.contains("disturbed").then(|| table.clone());
        let is_known = |text: &str| text.lines().take(12).collect::<Vec<_>>().join("\n");
        let same = is_known(&table) == is_known(&again);
        let has_spread = table.contains("min–max") && table.contains("2 runs of each case");
        let problem = format!("{table}\nthen\n{again}");
        Attempt {
            wrong: Vec::from_iter((!same || !has_spread).then_some(problem)),
            disturbed: is_disturbed,
        }
    });
}

/// Runs the scenario in the lab with this program as its worker; answers what was said.
fn complaint_with_worker(worker: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("constant.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mut command = Ebb::new().command(["lab", "run"]);
    let output = command.arg(&file).env("EBB_LAB_WORKER", worker).output();
    let output = output.unwrap();
    assert!(!output.status.success(), "{output:?}");
    stderr(&output)
}

#[test]
fn a_worker_that_cannot_be_started_is_named_with_the_remedy() {
    if !ebb_kernel::requires_root("a_worker_that_cannot_be_started_is_named_with_the_remedy") {
        return;
    }
    let said = complaint_with_worker("/nonexistent/worker");
    assert!(said.contains("/nonexistent/worker"), "{said}");
    assert!(said.contains("EBB_LAB_WORKER"), "{said}");
}

#[test]
fn a_worker_that_dies_is_reported_and_not_waited_for() {
    if !ebb_kernel::requires_root("a_worker_that_dies_is_reported_and_not_waited_for") {
        return;
    }
    let said = complaint_with_worker("/bin/false");
    assert!(said.contains("endpoint worker failed"), "{said}");
}

/// A flow's first byte arrives a round trip and a half after its start: here 600 ms.
const STARTED: &str = r#"
duration = "2s"
[bottleneck]
rate = "10mbit"
rtt = "400ms"
queue = 100
[measure]
too_soon = ["0s", "550ms"]
soon = ["600ms", "780ms"]
[[flow]]
name = "there"
[[flow]]
name = "back"
from = "right"
to = "left"
[[flow]]
name = "late"
kind = "constant"
rate = "1mbit"
start = "300ms"
start_spread = "900ms"
"#;

#[test]
fn flows_start_in_the_lab_as_in_the_simulator() {
    let name = "flows_start_in_the_lab_as_in_the_simulator";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("started.toml");
    std::fs::write(&file, STARTED).unwrap();
    let run = |engine: &str| {
        let out = folder.path().join(engine);
        std::fs::create_dir_all(&out).unwrap();
        let mut command = Ebb::new().command([engine, "run"]);
        let output = command.arg(&file).arg("--out").arg(&out).output().unwrap();
        let is_disturbed = !output.status.success();
        let results = Results::read(&out.join("started.json")).unwrap();
        (results.runs[0].clone(), is_disturbed, stderr(&output))
    };
    let (simulated, ..) = run("sim");
    judge(name, || {
        let (lab, is_disturbed, said) = run("lab");
        let flows = lab.flows.iter().zip(&simulated.flows);
        let wrong = flows.flat_map(|(lab, simulated)| {
            let bytes = |place: usize| lab.measures[place].delivered_bytes;
            let is_soon = lab.name == "late" || (bytes(0) == 0 && bytes(1) > 0);
            let apart_s = (lab.start_s - simulated.start_s).abs();
            let (name, start_s) = (&lab.name, lab.start_s);
            let at_another_time = format!("{name} starts at {start_s}, {apart_s} s apart");
            let no_byte = format!("{name} has its first byte at another time");
            [
                (apart_s > 1e-9).then_some(at_another_time),
                (!is_soon).then_some(no_byte),
            ]
        });
        Attempt {
            wrong: wrong.flatten().collect(),
            disturbed: is_disturbed.then_some(said),
        }
    });
}
