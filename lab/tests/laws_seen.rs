// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a Vulture sees on real sockets: the estimate of the window, variations by round trips.
mod common;

use std::path::Path;

use ebb_lab::engine::{Job, run};
use ebb_lab::judging::{Attempt, judge};
use ebb_scenario::{Outcome, Scenario};

/// It watches for two seconds and acts for two.
const WATCHED: &str = r#"
duration = "4s"
bin = "100ms"
flow_series = true
tcp = { timestamps = "1ms" }
[bottleneck]
rate = "10mbit"
rtt = "40ms"
queue = 40
[measure]
watching = ["1s", "2s"]
acting = ["2500ms", "4s"]
[[flow]]
name = "seen"
class = "lbe"
receiver = "vulture"
start = "300ms"
during = ["2s", "4s"]
[[flow]]
name = "back"
kind = "constant"
rate = "1mbit"
from = "right"
to = "left"
receiver = "ebb"
"#;

#[test]
fn a_vulture_in_the_lab_tells_its_estimate_and_the_variations_it_watched() {
    let name = "a_vulture_in_the_lab_tells_its_estimate_and_the_variations_it_watched";
    if !common::is_root(name) {
        return;
    }
    judge(name, || {
        let scenario = Scenario::parse("watched.toml", WATCHED, Path::new("")).unwrap();
        let job = Job::new(&scenario, 0);
        let lab = run(&[job], 1, 0).unwrap().remove(0);
        Attempt {
            wrong: [estimates(&lab.outcome), variations(&lab.outcome)].concat(),
            disturbed: lab.is_disturbed.then_some(lab.emulator),
        }
    });
}

fn estimates(outcome: &Outcome) -> Vec<String> {
    let [seen, back] = &outcome.series.flows[..] else {
        return vec!["not both flows have a series".into()];
    };
    let mut wrong = Vec::new();
    if seen.estimate_bytes.len() != 40 || !back.estimate_bytes.is_empty() {
        wrong.push("only Vulture has an estimate, one for each bin".into());
    }
    if seen.estimate_bytes[..3].iter().any(Option::is_some) {
        wrong.push("there was an estimate before there was a connection".into());
    }
    let both = seen.estimate_bytes.iter().zip(&seen.cwnd_bytes).skip(10);
    let known = both.filter_map(|(estimate, cwnd)| Some(((*estimate)?, (*cwnd)?)));
    let (mut near, mut all) = (0, 0);
    for (estimate, cwnd) in known {
        all += 1;
        near += u32::from((cwnd / 4..=cwnd * 4).contains(&estimate));
    }
    if all < 25 || near * 2 < all {
        wrong.push(format!("{near} of {all} estimates are like the window"));
    }
    wrong
}

fn variations(outcome: &Outcome) -> Vec<String> {
    let rounds = &outcome.series.flows[0].variation_rounds;
    let mut wrong = Vec::new();
    if rounds.len() < 10 || !rounds.is_sorted_by(|one, next| one.at_s < next.at_s) {
        wrong.push(format!("{} round trips in order", rounds.len()));
    }
    if rounds.iter().any(|round| round.positive > round.all) {
        wrong.push("more positive variations than variations".into());
    }
    // It watches no more once it acts; the switch may come late.
    if rounds
        .iter()
        .any(|round| round.at_s < 0.3 || round.at_s > 2.4)
    {
        let at_s: Vec<f64> = rounds.iter().map(|round| round.at_s).collect();
        wrong.push(format!("a round trip when it did not watch: {at_s:?}"));
    }
    let [watching, acting] = &outcome.flows[0].measures[..] else {
        return vec!["not both intervals were measured".into()];
    };
    match watching.variations {
        Some(together) => {
            let inside = rounds.iter().filter(|it| (1.0..2.0).contains(&it.at_s));
            if together.rounds != inside.count() as u64 || together.max_positive_share > 1.0 {
                wrong.push(format!("{together:?} of {rounds:?}"));
            }
        }
        None => wrong.push("nothing was watched while it observed".into()),
    }
    if acting.variations.is_some() {
        wrong.push("something was watched while it acted".into());
    }
    wrong
}
