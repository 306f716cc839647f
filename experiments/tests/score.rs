// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scores: the matrix of the repository, mistakes in one, and what strict priority itself gets.
use std::path::{Path, PathBuf};

use ebb_algorithms::Policy;
use ebb_experiments::Runner;
use ebb_experiments::score::{
    BUCKETS_SEED, Distances, Group, HELD_OUT_SEED, Matrix, RATES_SEED, Reference, Score,
    ScoreScenario, draw, draw_buckets, draw_rates, summaries,
};
use ebb_link::{Nanos, RateSteps};
use ebb_scenario::{Outcome, Scenario, Setting};
use ebb_simulator::{Options, run};

const SCENARIO: &str = "\
duration = \"24s\"
[bottleneck]
rate = \"10mbit\"
rtt = \"30ms\"
queue = 40
[[flow]]
name = \"other\"
start = \"8s\"
stop = \"16s\"
[[flow]]
name = \"mine\"
class = \"lbe\"
";

const MATRIX: &str = "\
[[scenario]]
name = \"one\"
title = \"others come and go\"
file = \"one.toml\"
set = [\"bottleneck.queue=50\"]
busy = [\"8s\", \"16s\"]
";

fn matrix(text: &str) -> Result<Matrix, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    Matrix::parse("matrix.toml", text, folder.path()).map_err(|error| error.to_string())
}

fn one() -> ScoreScenario {
    matrix(MATRIX).unwrap().scenarios.remove(0)
}

fn outcome(scenario: &Scenario) -> Outcome {
    run(scenario, Options::default()).unwrap()
}

/// The distances of what this scenario gives.
fn distances(of: &Scenario) -> Distances {
    let scenario = one();
    let [ideal, undisturbed] =
        [scenario.ideal(1), scenario.undisturbed(1).unwrap()].map(|scenario| outcome(&scenario));
    let reference = Reference {
        ideal: &ideal,
        undisturbed: Some(&undisturbed),
    };
    Distances::of(&scenario, &outcome(of), reference)
}

#[test]
fn strict_priority_is_at_no_distance_from_itself() {
    let distances = distances(&one().ideal(1));
    assert!(
        distances.goodput_taken.unwrap().abs() < 0.02,
        "{distances:?}"
    );
    assert!(
        distances.delay_added_p95_ms.unwrap().abs() < 3.0,
        "{distances:?}"
    );
    assert!(distances.spare_used.unwrap() > 0.98, "{distances:?}");
    assert_eq!(distances.time_to_yield_s, Some(0.0));
    assert_eq!(distances.time_to_reap_s, Some(0.0));
}

#[test]
fn what_does_not_yield_takes_and_never_yields_and_what_yields_does_not() {
    let greedy = distances(&one().with_law(&"cubic".parse().unwrap(), 1));
    assert!(greedy.goodput_taken.unwrap() > 0.2, "{greedy:?}");
    assert!(greedy.time_to_yield_s.unwrap() > 4.0, "{greedy:?}");
    let yielding = distances(&one().with_law(&"ebb".parse().unwrap(), 1));
    assert!(yielding.goodput_taken.unwrap() < 0.1, "{yielding:?}");
    assert!(yielding.time_to_yield_s.unwrap() < 1.0, "{yielding:?}");
    assert!(yielding.spare_used.unwrap() > 0.85, "{yielding:?}");
}

#[test]
fn a_law_is_set_at_the_end_where_it_acts() {
    let scenario = one();
    let at = |law: &str| {
        let law: Policy = law.parse().unwrap();
        let flows = scenario.with_law(&law, 1).flows;
        let flow = flows.into_iter().find(|flow| flow.name == "mine").unwrap();
        (flow.sender, flow.receiver, scenario.command(&law))
    };
    let (sender, receiver, command) = at("ebb");
    assert_eq!(
        (sender.as_str(), receiver.as_deref()),
        ("cubic", Some("ebb"))
    );
    assert!(
        command.ends_with("--set bottleneck.queue=50 --set flow.mine.receiver=ebb"),
        "{command}"
    );
    let (sender, receiver, command) = at("ledbat:target_us=25000");
    assert_eq!(
        (sender.as_str(), receiver),
        ("ledbat:target_us=25000", None)
    );
    assert!(
        command.ends_with("--set flow.mine.sender=ledbat:target_us=25000"),
        "{command}"
    );
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("score")
}

#[test]
fn every_scenario_of_the_repository_can_be_read_and_every_law_has_a_command() {
    for (group, least, least_quick) in [
        (Group::Tuning, 40, 10),
        (Group::HeldOut, 100, 5),
        (Group::Queues, 19, 1),
        (Group::Varying, 17, 3),
        (Group::Fair, 20, 1),
        (Group::Buckets, 47, 10),
    ] {
        let matrix = Matrix::open(&folder(), group).unwrap();
        assert!(matrix.scenarios.len() > least);
        assert!(matrix.select(&[], true).unwrap().len() > least_quick);
        for scenario in &matrix.scenarios {
            // What the command sets is what is run.
            let parsed: Vec<Setting> = scenario
                .settings
                .iter()
                .map(|one| one.parse().unwrap())
                .collect();
            let read = Scenario::read_with(&scenario.file, &parsed).unwrap();
            assert_eq!(read.flows, scenario.scenario.flows, "{}", scenario.name);
            assert_eq!(read.links, scenario.scenario.links, "{}", scenario.name);
        }
    }
}

#[test]
fn the_held_out_half_is_what_its_seed_draws_and_another_seed_draws_another() {
    let stored = std::fs::read_to_string(folder().join("held-out.toml")).unwrap();
    assert!(
        stored == draw(HELD_OUT_SEED),
        "draw it again: cargo run -q -p ebb-experiments --example draw_held_out"
    );
    let others = Matrix::parse("other.toml", &draw(HELD_OUT_SEED + 1), &folder()).unwrap();
    let settings = |matrix: &Matrix| -> Vec<Vec<String>> {
        let scenarios = matrix.scenarios.iter();
        scenarios.map(|one| one.settings.clone()).collect()
    };
    let ours = settings(&Matrix::open(&folder(), Group::HeldOut).unwrap());
    assert!(settings(&others).iter().all(|one| !ours.contains(one)));
}

#[test]
fn rates_that_vary_are_what_their_seed_draws_and_another_seed_draws_others() {
    for (name, text) in draw_rates(RATES_SEED) {
        let stored = std::fs::read_to_string(folder().join(&name)).unwrap();
        assert!(
            stored == text,
            "{name}: draw it again: cargo run -q -p ebb-experiments --example draw_rates"
        );
        let others = draw_rates(RATES_SEED + 1);
        assert!(others.iter().all(|(_, other)| *other != text), "{name}");
        RateSteps::parse(&name, &text).unwrap();
    }
}

#[test]
fn buckets_are_what_their_seed_draws() {
    let stored = std::fs::read_to_string(folder().join("buckets.toml")).unwrap();
    assert!(
        stored == draw_buckets(BUCKETS_SEED),
        "draw it again: cargo run -q -p ebb-experiments --example draw_buckets"
    );
    assert!(stored != draw_buckets(BUCKETS_SEED + 1));
}

#[test]
fn rates_that_vary_are_as_their_page_says() {
    // Mean rate (Mbit/s), and part of the time in which nothing is sent.
    for (name, mean_mbit, silent) in [
        ("lte.rates", 9.0..18.0, 0.001..0.03),
        ("lte-driving.rates", 6.0..16.0, 0.02..0.1),
        ("5g.rates", 120.0..200.0, 0.0..0.0001),
        ("wifi.rates", 60.0..130.0, 0.0..0.0001),
        ("satellite.rates", 25.0..110.0, 0.002..0.004),
    ] {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        let rates = RateSteps::parse(name, &text).unwrap();
        let mean = rates.mean_bits_per_s() / 1e6;
        assert!(mean_mbit.contains(&mean), "{name}: {mean} Mbit/s");
        assert_eq!(rates.period(), Nanos::from_secs(60));
        let steps: Vec<(u64, u64)> = rates.into();
        let lengths = steps.windows(2).filter(|pair| pair[0].1 == 0);
        let silent_ns: u64 = lengths.map(|pair| pair[1].0 - pair[0].0).sum();
        let share = silent_ns as f64 / 60e9;
        assert!(silent.contains(&share), "{name}: {share} of silence");
    }
}

#[test]
fn the_held_out_half_has_all_that_is_drawn_from() {
    let matrix = Matrix::open(&folder(), Group::HeldOut).unwrap();
    let texts: Vec<String> = matrix
        .scenarios
        .iter()
        .map(|one| format!("{} {}", one.file.display(), one.settings.join(" ")))
        .collect();
    for (wanted, least) in [
        ("greedy.toml", 30),
        ("constant.toml", 8),
        ("on-off.toml", 8),
        ("web.toml", 3),
        ("alone.toml", 3),
        ("sender=bbr", 3),
        ("flow.mine.start", 8),
        ("\"red\"", 4),
        ("\"codel\"", 4),
        ("\"fq-codel\"", 10),
        ("\"pie\"", 4),
        ("flow.mine.count=8", 2),
        ("bottleneck.loss", 20),
    ] {
        let have = texts.iter().filter(|text| text.contains(wanted)).count();
        assert!(have >= least, "{wanted}: {have}");
    }
}

#[test]
fn ebb_is_near_strict_priority_in_quick_scenarios_that_nobody_chose() {
    let matrix = Matrix::open(&folder(), Group::HeldOut).unwrap();
    let quick = matrix.select(&[], true).unwrap();
    let laws = ["ebb".parse().unwrap(), "cubic".parse().unwrap()];
    let scores = Runner::default().scores(&quick, &laws, 1).unwrap();
    let means = summaries(&scores);
    let [(nearest, ebb), (_, cubic)] = means.as_slice() else {
        panic!("{means:?}");
    };
    assert_eq!(nearest, "ebb");
    let taken = |one: &Distances| one.goodput_taken.unwrap();
    assert!(taken(ebb) < 0.6 * taken(cubic), "{ebb:?} {cubic:?}");
    assert!(ebb.spare_used.unwrap() > 0.9, "{ebb:?}");
    for (ebb, cubic) in scores.iter().zip(&scores[quick.len()..]) {
        let [ebb_taken, cubic_taken] = [ebb, cubic].map(|one| taken(&one.distances));
        assert!(ebb_taken <= cubic_taken, "{}: {ebb_taken}", ebb.scenario);
    }
}

/// Trains show a rate that tokens do not last for: what follows must not be taken for others.
#[test]
fn ebb_has_a_link_with_a_bucket_of_tokens_to_itself() {
    let matrix = Matrix::open(&folder(), Group::Buckets).unwrap();
    let quick = matrix.select(&[], true).unwrap();
    let scores = Runner::default()
        .scores(&quick, &["ebb".parse().unwrap()], 1)
        .unwrap();
    let is_alone = |one: &&Score| one.distances.goodput_taken.is_none();
    let alone: Vec<_> = scores.iter().filter(is_alone).collect();
    assert!(alone.len() > 5, "{scores:?}");
    for one in alone {
        let used = one.distances.spare_used.unwrap();
        assert!(used > 0.9, "{}: {used}", one.scenario);
    }
    for one in &scores {
        let taken = one.distances.goodput_taken.unwrap_or(0.0);
        assert!(taken < 0.05, "{}: {taken}", one.scenario);
    }
}

#[test]
fn mistakes_are_told_with_line_key_and_what_would_be_right() {
    let cases = [
        ("title = \"others come and go\"\n", "", "matrix.toml:1:"),
        ("one.toml", "two.toml", "there is no file"),
        (
            "bottleneck.queue=50",
            "bottleneck.qeue=50",
            "did you mean `queue`?",
        ),
        (
            "\"16s\"]",
            "\"48s\"]",
            "ends after the run, which takes 24s",
        ),
        (
            "\"16s\"]",
            "\"8s\"]",
            "the second time must come after the first",
        ),
        ("[\"8s\", \"16s\"]", "[\"8s\"]", "two times are needed"),
        ("busy =", "buys =", "did you mean `busy`?"),
    ];
    for (right, wrong, told) in cases {
        let error = matrix(&MATRIX.replacen(right, wrong, 1)).unwrap_err();
        assert!(error.contains(told), "{wrong:?} is answered with:\n{error}");
    }
    let error = matrix(MATRIX)
        .unwrap()
        .select(&["onee".into()], false)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no scenario `onee`; did you mean `one`?"
    );
}
