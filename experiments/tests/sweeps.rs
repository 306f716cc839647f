// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sweeps of the repository's experiments: none stands there twice, and each shows something.
use std::path::Path;

use ebb_experiments::{Catalogue, Experiment, Sweep};
use ebb_link::Nanos;
use ebb_scenario::{Interval, Scenario};
use ebb_simulator::Options;

/// Lengths of runs in which most keys have an effect already; what has none in these is run whole.
const SHORT: [Nanos; 2] = [Nanos::from_secs(10), Nanos::from_secs(100)];

fn experiments(folder: &str) -> Vec<Experiment> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let catalogue = Catalogue::open(root).unwrap();
    catalogue.read(&[folder.to_owned()]).unwrap()
}

/// Sweeps that run what another one of the experiment runs.
fn twins(experiment: &Experiment) -> Vec<&Sweep> {
    let runs = |sweep: &Sweep| (sweep.key.clone(), sweep.values.clone(), sweep.cases.clone());
    let mut found = Vec::new();
    for (place, sweep) in experiment.sweeps.iter().enumerate() {
        let mut before = experiment.sweeps[..place].iter();
        if before.any(|other| runs(other) == runs(sweep)) {
            found.push(sweep);
        }
    }
    found
}

/// Sweeps whose key has no effect on what is run; of a law's parameters, those with two values
/// that run alike, since each value has several of them.
fn idle(experiment: &Experiment) -> Vec<(&Sweep, Vec<(usize, usize)>)> {
    let sweeps = experiment.sweeps.iter();
    let found = sweeps.filter_map(|sweep| Some((sweep, idle_pairs(sweep, experiment)?)));
    found.collect()
}

/// Places of the values that run alike, if a sweep is idle.
fn idle_pairs(sweep: &Sweep, experiment: &Experiment) -> Option<Vec<(usize, usize)>> {
    let all = sweep.scenarios(experiment);
    let by_value: Vec<&[Scenario]> = all.chunks(all.len() / sweep.values.len()).collect();
    let places = 0..by_value.len();
    let pairs = places.flat_map(|one| (0..one).map(move |other| (other, one)));
    let mut alike: Vec<(usize, usize)> = pairs.collect();
    if sweep.key.starts_with("measure.") {
        // What is run is the same; what is looked at is not.
        let intervals = |place: usize| by_value[place].iter().map(|it| &it.intervals);
        alike.retain(|(one, other)| intervals(*one).eq(intervals(*other)));
        return (!alike.is_empty()).then_some(alike);
    }
    let is_looked_at = |case: &usize| by_value[0][*case].runs > 0;
    let cases: Vec<usize> = sweep.cases.iter().copied().filter(is_looked_at).collect();

    let most = match has_policies(sweep) {
        true => 0,
        false => alike.len() - 1,
    };
    let whole = (0..sweep.runs).map(|number| (None, number));
    let tries = SHORT
        .map(|length| (Some(length), 0))
        .into_iter()
        .chain(whole);
    for (length, number) in tries {
        for case in &cases {
            if alike.len() <= most {
                return None;
            }
            let runs = by_value.iter().map(|cases| match length {
                Some(length) => run(shortened(&cases[*case], length), number),
                None => run(cases[*case].clone(), number),
            });
            let runs: Vec<String> = runs.collect();
            alike.retain(|(one, other)| runs[*one] == runs[*other]);
        }
    }
    (alike.len() > most).then_some(alike)
}

fn has_policies(sweep: &Sweep) -> bool {
    let last = sweep.key.rsplit('.').next();
    matches!(last, Some("sender" | "receiver" | "policy"))
}

/// The beginning of a run in which all flows are there, and under their laws.
fn shortened(scenario: &Scenario, length: Nanos) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.duration = scenario.duration.min(length);
    for flow in &mut scenario.flows {
        flow.start = flow.start.min(Nanos(length.0 / 10));
        flow.during.clear();
    }
    scenario
}

/// What flows had in all of a run. *Returns:* text, in which what is no number is equal to itself.
fn run(scenario: Scenario, number: u32) -> String {
    let whole = Interval {
        name: "all".into(),
        from: Nanos::ZERO,
        to: scenario.duration,
    };
    let scenario = Scenario {
        bin: scenario.duration,
        has_flow_series: false,
        intervals: vec![whole],
        ..scenario
    };
    let options = Options {
        run: number,
        ..Options::default()
    };
    let outcome = ebb_simulator::run(&scenario, options).unwrap();
    let measures = outcome.flows.iter().map(|flow| &flow.measures);
    format!("{:?}", measures.collect::<Vec<_>>())
}

#[track_caller]
fn check(folder: &str) {
    let experiments = experiments(folder);
    let name = |of: &Experiment, sweep: &Sweep| format!("{}: {}", of.id, sweep.assumption);
    let twins = experiments.iter().flat_map(|it| {
        let twins = twins(it).into_iter();
        twins.map(|sweep| name(it, sweep))
    });
    let twins: Vec<String> = twins.collect();
    assert!(twins.is_empty(), "are there twice: {twins:#?}");
    let idle = experiments.iter().flat_map(|it| {
        let idle = idle(it).into_iter();
        idle.map(|(sweep, alike)| format!("{}: values {alike:?}", name(it, sweep)))
    });
    let idle: Vec<String> = idle.collect();
    assert!(idle.is_empty(), "change nothing: {idle:#?}");
}

#[test]
fn sweeps_of_bwss_differ_and_show_something() {
    check("bwss");
}

#[test]
fn sweeps_of_cubic_plus_differ_and_show_something() {
    check("cubic-plus");
}

#[test]
fn sweeps_of_ledbat_lbdp_differ_and_show_something() {
    check("ledbat-lbdp");
}

#[test]
fn sweeps_of_tcp_lp_differ_and_show_something() {
    check("tcp-lp");
}

#[test]
fn sweeps_of_vulture_differ_and_show_something() {
    check("vulture");
}

const SCENARIO: &str = "\
duration = \"2s\"
[bottleneck]
rate = \"10mbit\"
rtt = \"20ms\"
queue = 500
[[flow]]
name = \"mine\"
sender = \"ledbat\"
";

const EXPERIMENT: &str = "\
title = \"a flow\"
did = \"ran a flow\"
scenario = \"one.toml\"

[[case]]
name = \"one\"

[[row]]
name = \"goodput\"
measure = { kind = \"goodput\", flows = \"mine\" }
paper = { one = 9.0 }
";

/// An experiment with sweeps of these keys and values.
fn with_sweeps(sweeps: &[(&str, &str)]) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    let one = |(key, values): &(&str, &str)| {
        format!("[[sweep]]\nassumption = \"{key}\"\nkey = \"{key}\"\nvalues = {values}\n")
    };
    let text: String = sweeps.iter().map(one).collect();
    let text = format!("{EXPERIMENT}{text}");
    Experiment::parse("a/b", "b.toml", &text, folder.path()).unwrap()
}

#[test]
fn a_sweep_that_stands_there_twice_is_found() {
    let queue = ("bottleneck.queue", "[5, 10]");
    let rtt = ("bottleneck.rtt", "[\"20ms\", \"40ms\"]");
    let experiment = with_sweeps(&[queue, rtt, queue]);
    let keys = |sweeps: Vec<&Sweep>| sweeps.iter().map(|it| it.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(twins(&experiment)), ["bottleneck.queue"]);
    let other = with_sweeps(&[queue, rtt, ("bottleneck.queue", "[5, 20]")]);
    assert!(twins(&other).is_empty());
}

#[test]
fn a_sweep_of_a_key_without_effect_is_found() {
    // Nothing is lost, so that no timer goes off.
    let timer = ("tcp.max_rto", "[\"60s\", \"120s\"]");
    let buffer = (
        "tcp.receive_buffer",
        "[\"10kB\", \"60kB\", \"6MB\", \"60MB\"]",
    );
    let experiment = with_sweeps(&[timer, buffer]);
    let found = idle(&experiment);
    let found: Vec<_> = found.iter().map(|(it, _)| it.key.clone()).collect();
    assert_eq!(found, ["tcp.max_rto"]);
}

#[test]
fn a_policy_that_runs_as_another_is_found() {
    let key = "flow.mine.sender";
    let differ = (
        key,
        "[\"ledbat\", \"ledbat:init_cwnd_pkts=4\", \"ledbat:target_us=5000\"]",
    );
    assert!(idle(&with_sweeps(&[differ])).is_empty());
    // A path that is never busy for minutes has no history to forget.
    let alike = (
        key,
        "[\"ledbat\", \"ledbat:base_history=2\", \"ledbat:target_us=5000\"]",
    );
    assert_eq!(idle(&with_sweeps(&[alike])).len(), 1);
}
