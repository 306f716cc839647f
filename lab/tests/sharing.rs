// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups that share, and flows of different round trips, on real sockets.
mod common;

use std::path::Path;

use ebb_lab::engine::{Job, LabRun, run};
use ebb_lab::judging::{Attempt, judge};
use ebb_scenario::Scenario;

/// Two downloads over 10 Mbit/s, free for 1.5 s, then by weight.
const BY_WEIGHT: &str = r#"
duration = "6s"
sender = "reno"
tcp = { receive_buffer = "128kB" }
[bottleneck]
rate = "10mbit"
rtt = "20ms"
queue = 40
[measure]
free = ["500ms", "1500ms"]
shared = ["3s", "6s"]
[[flow]]
name = "small"
[[flow]]
name = "large"
[[sharing]]
name = "home"
period = "300ms"
release = 3
flows.small = { weight = 1 }
flows.large = { weight = 3 }
"#;

const ROUND_TRIPS: &str = r#"
duration = "2s"
[bottleneck]
rate = "10mbit"
delay = "5ms"
queue = 40
[[flow]]
name = "near"
rtt = "20ms"
kind = "constant"
rate = "1mbit"
[[flow]]
name = "far"
rtt = "150ms"
kind = "constant"
rate = "1mbit"
"#;

fn lab_run(text: &str) -> LabRun {
    let scenario = Scenario::parse("try.toml", text, Path::new("")).unwrap();
    let job = Job::new(&scenario, 0);
    run(&[job], 1, 0).unwrap().remove(0)
}

/// What is wrong with a run, which counts only if its emulator was in time.
fn attempt(run: &LabRun, wrong: Vec<String>) -> Attempt {
    Attempt {
        wrong,
        disturbed: run.is_disturbed.then(|| run.emulator.clone()),
    }
}

#[test]
fn a_group_shares_by_weight_on_real_sockets() {
    if !common::is_root("a_group_shares_by_weight_on_real_sockets") {
        return;
    }
    judge("a_group_shares_by_weight_on_real_sockets", || {
        let run = lab_run(BY_WEIGHT);
        let goodput = |flow: usize, interval: usize| {
            run.outcome.flows[flow].measures[interval].goodput_bits_per_s
        };
        let ratio = goodput(1, 1) / goodput(0, 1);
        let used = (goodput(0, 1) + goodput(1, 1)) / 9.6e6;
        let mut wrong = Vec::new();
        if !(2.0..4.5).contains(&ratio) {
            wrong.push(format!("weights 1:3 gave 1:{ratio:.2}"));
        }
        if used < 0.85 {
            wrong.push(format!("{used:.2} of the link were used"));
        }
        attempt(&run, wrong)
    });
}

#[test]
fn flows_of_one_link_have_round_trips_of_their_own() {
    if !common::is_root("flows_of_one_link_have_round_trips_of_their_own") {
        return;
    }
    judge("flows_of_one_link_have_round_trips_of_their_own", || {
        let run = lab_run(ROUND_TRIPS);
        let flows = run.outcome.flows.iter();
        let rtts = flows.map(|flow| flow.measures[0].rtt_ms.min);
        let wrong = rtts.zip([20.0, 150.0]).filter(|(rtt, stated)| {
            // Never less than stated: the emulator is late, never early.
            *rtt < stated - 0.5 || *rtt > stated + 10.0
        });
        let wrong = wrong.map(|(rtt, stated)| format!("{rtt} ms, not {stated}"));
        attempt(&run, wrong.collect())
    });
}
