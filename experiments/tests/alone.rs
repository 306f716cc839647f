// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flow keeps of what it has alone, what of the rest is used, and how that is over the
//! bursts of a flow that comes and goes: worked out by hand.
use ebb_experiments::{Comparison, Experiment, Ran, Runner};
use ebb_scenario::Results;
use support::SIMULATED;

mod support;

const SCENARIO: &str = "\
duration = \"20s\"
[bottleneck]
rate = \"10mbit\"
rtt = \"100ms\"
queue = 86
[[flow]]
name = \"be\"
kind = \"on-off\"
period = \"5s\"
start = \"5s\"
[[flow]]
name = \"lbe\"
class = \"lbe\"
";

/// Some of the measures name the other case.
const EXPERIMENT: &str = "\
title = \"beside bursts\"
did = \"nothing: it is a test\"
runs = 1
quick_runs = 1
scenario = \"bursts.toml\"

[[case]]
name = \"both\"

[[case]]
name = \"alone\"
set = [\"flow.lbe.count=0\"]

";

/// The comparison of rows, with what was run changed before it is made.
fn compared(rows: &str, change: impl Fn(&mut [Results])) -> Comparison {
    let experiment = experiment(rows).unwrap_or_else(|error| panic!("{error}"));
    let scenarios = experiment.scenarios(SIMULATED);
    let mut results = Runner::default().simulate(&scenarios, None).unwrap();
    change(&mut results);
    experiment.compare(&Ran {
        plan: SIMULATED,
        results: &results,
        simulated: None,
        disturbed: &[],
    })
}

fn experiment(rows: &str) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bursts.toml"), SCENARIO).unwrap();
    let text = format!("{EXPERIMENT}{rows}");
    Experiment::parse("a/b", "b.toml", &text, folder.path()).map_err(|error| error.to_string())
}

fn row(measure: &str) -> String {
    row_in("", measure)
}

fn row_in(unit: &str, measure: &str) -> String {
    format!("[[row]]\nname = \"row\"\nmeasure = {{ {measure} }}\n{unit}paper = {{ both = 1 }}\n")
}

fn ours(comparison: &Comparison) -> Vec<f64> {
    let ours = comparison.cells.iter().map(|cell| cell.ours.unwrap());
    ours.collect()
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

/// BE has 8 Mbit/s from 5 to 8 s and 12 from 15 to 16 s, alone 10 from 5 to 7 s; LBE has as many
/// Mbit/s as the last digit of the second.
fn set_rates(results: &mut [Results]) {
    let mut be = vec![0.0; 20];
    be[5..8].fill(8e6);
    be[15] = 12e6;
    let lbe = (0..20).map(|second| f64::from(second % 10) * 1e6).collect();
    let mut alone = vec![0.0; 20];
    alone[5..7].fill(10e6);
    let rates = [vec![be, lbe], vec![alone]];
    for (results, rates) in results.iter_mut().zip(rates) {
        // A case that no measure looks at over time has no series.
        for (series, rates) in results.runs[0].series.flows.iter_mut().zip(rates) {
            series.goodput_bits_per_s = rates;
        }
    }
}

#[test]
fn bursts_and_pauses_are_those_that_the_receiver_saw() {
    let bursts = |kind: &str, flows: &str| {
        format!("kind = \"{kind}\", {flows}, in_bursts = \"be\", bin = \"1s\"")
    };
    let on = bursts("goodput", "flows = \"be\"");
    let rows = [
        row(&format!(
            "kind = \"ratio\", over = {{ {on} }}, under = {{ {on}, case = \"alone\" }}"
        )),
        row(&bursts("share", "flows = \"be\", others = \"lbe\"")),
        row(
            "kind = \"goodput\", flows = \"lbe\", of = \"10mbit\", between_bursts = \"be\", bin = \"1s\"",
        ),
    ];
    let ours = ours(&compared(&rows.concat(), set_rates));
    // On: BE 8 and 12 Mbit/s, alone 10; LBE (5 + 6 + 7) / 3 = 6 and 5.
    close(ours[0], 1.0);
    close(ours[1], 10.0 / 15.5);
    // Off: from 8 to 15 s (8 + 9 + 0 + 1 + 2 + 3 + 4) / 7, from 16 to 20 s 30 / 4.
    close(ours[2], (27.0 / 7.0 + 30.0 / 4.0) / 2.0 / 10.0);
}

#[test]
fn only_whole_bursts_within_the_interval_count() {
    let interval = |rows: &str| {
        compared(rows, |results| {
            set_rates(results);
            for results in results {
                results.runs[0].intervals[0].from_s = 6.0;
                // The second burst is sent until 20 s.
                results.runs[0].intervals[0].to_s = 19.0;
            }
        })
    };
    let comparison = interval(&row(
        "kind = \"goodput\", flows = \"be\", in_bursts = \"be\", bin = \"1s\"",
    ));
    assert_eq!(comparison.cells[0].ours, None);
}

#[test]
fn a_part_of_the_spare_and_added_waiting_refer_to_the_others_alone() {
    let spare = "kind = \"ratio\", over = { kind = \"goodput\", flows = \"lbe\" }, \
                 under = { kind = \"difference\", of = { kind = \"rate\", rate = \"9653333bit\" }, \
                 less = { kind = \"goodput\", flows = \"be\", case = \"alone\" } }";
    let added = "kind = \"difference\", of = { kind = \"queue-mean\", class = \"be\" }, \
                 less = { kind = \"queue-mean\", class = \"be\", case = \"alone\" }";
    let rows = [row(spare), row_in("unit = \"ms\"\n", added)];
    let comparison = compared(&rows.concat(), |results| {
        let waiting = |results: &mut Results, be_ms: f64, lbe_ms: f64| {
            let link = &mut results.runs[0].links[0].measures[0];
            link.best_effort.mean_queue_delay_ms = be_ms;
            link.less_than_best_effort.mean_queue_delay_ms = lbe_ms;
        };
        waiting(&mut results[0], 9.0, 20.0);
        waiting(&mut results[1], 0.5, 0.0);
        results[0].runs[0].flows[0].measures[0].goodput_bits_per_s = 5.7e6;
        results[0].runs[0].flows[1].measures[0].goodput_bits_per_s = 3e6;
        results[1].runs[0].flows[0].measures[0].goodput_bits_per_s = 6e6;
    });
    let ours = ours(&comparison);
    // 3 of 9.653333 - 6 Mbit/s.
    close(ours[0], 3.0 / 3.653333);
    close(ours[1], 8.5);
}

#[test]
fn a_recovery_counts_from_the_instant_until_the_rate_is_there_again() {
    let to = "kind = \"time-to\", flows = \"lbe\", rate = \"9mbit\", from = \"5s\", bin = \"1s\"";
    let rows = [
        row(&format!("{to}, after_below = \"8mbit\"")),
        row(&format!("{to}, after_below = \"3mbit\"")),
        row(to),
        row(&format!("{to}, after_below = \"8mbit\", until = \"15s\"")),
    ];
    let comparison = compared(&rows.concat(), |results| {
        let mut rates = vec![9.5e6; 20];
        rates[8..16].fill(4e6);
        results[0].runs[0].series.flows[1].goodput_bits_per_s = rates;
    });
    // Below from 8 s on, back in the second that ends at 17 s; never below 3 Mbit/s; there at
    // once; not back by 15 s.
    assert_eq!(ours(&comparison), [12.0, 0.0, 1.0, 10.0]);
}

#[test]
fn only_one_flow_that_is_on_and_off_has_bursts() {
    let wrong = |measure: &str| experiment(&row(measure)).unwrap_err();
    let error = wrong("kind = \"goodput\", flows = \"be\", in_bursts = \"lbe\"");
    assert!(
        error.contains("`lbe` is not one flow that is on and off"),
        "{error}"
    );
    let error =
        wrong("kind = \"goodput\", flows = \"be\", in_bursts = \"be\", while_silent = \"be\"");
    assert!(
        error.contains("only one of `while_silent` and `in_bursts`"),
        "{error}"
    );
    let error = wrong(
        "kind = \"time-to\", flows = \"be\", rate = \"1mbit\", from = \"5s\", until = \"5s\"",
    );
    assert!(error.contains("must be later than `from`"), "{error}");
}
