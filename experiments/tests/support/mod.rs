// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Experiments in the simulator, and as if the lab gave the same.

// Each test program uses its own part of this.
#![allow(dead_code)]

use ebb_experiments::{Comparison, Engine, Experiment, Plan, Ran, Runner};
use ebb_scenario::{Results, Scenario};

/// What an experiment gives; in the lab what the simulator gives.
pub fn compare(experiment: &Experiment, plan: Plan) -> Comparison {
    let results = simulate(&experiment.scenarios(plan));
    experiment.compare(&Ran {
        plan,
        results: &results,
        simulated: (plan.engine == Engine::Lab).then_some(results.as_slice()),
        disturbed: &[],
    })
}

/// With all runs.
pub const SIMULATED: Plan = Plan {
    engine: Engine::Sim,
    is_quick: false,
};

/// All runs of these.
pub fn simulate(scenarios: &[Scenario]) -> Vec<Results> {
    Runner::default().simulate(scenarios, None).unwrap()
}

/// Files of values: of few runs, which is what the tests of the repository make, and of all.
pub const VALUES: [(&str, &str); 2] = [
    (
        "results/sim-quick.csv",
        include_str!("../../results/sim-quick.csv"),
    ),
    ("results/sim.csv", include_str!("../../results/sim.csv")),
];

/// A line of a file of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judged {
    pub id: String,
    pub row: String,
    pub case: String,
    pub verdict: String,
    pub counts: bool,
}

pub fn judged(values: &str) -> Vec<Judged> {
    let mut reader = csv::Reader::from_reader(values.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name| heads.iter().position(|head| head == name).unwrap();
    let places = ["id", "row", "case", "verdict", "is", "chosen"].map(column);
    let lines = reader.records().map(Result::unwrap);
    let judged = lines.map(|line| {
        let [id, row, case, verdict, is, chosen] = places.map(|place| line[place].to_owned());
        Judged {
            counts: ["reported", "conclusion"].contains(&&*is) && chosen != "fitted",
            id,
            row,
            case,
            verdict,
        }
    });
    judged.collect()
}
