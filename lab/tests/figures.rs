// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Short runs on emulated links: what must hold with a margin. The figures themselves
//! need longer runs and more of them: `ebb lab figures --check`.
mod common;

use ebb_lab::figures::{
    LinkParameters, PolicyChoice, Question, Run, RunOptions, RunResult, Scenario, measure, run_many,
};
use ebb_lab::judging::{Attempt, judge};
use ebb_lab::traffic::{Direction, FlowKind, FlowSpec, Role};

const LBE: Role = Role::LessThanBestEffort;

fn flow(name: &str, role: Role, kind: FlowKind) -> FlowSpec {
    FlowSpec::new(name, role, kind)
}

/// A scenario on a link with RTT 40 ms, on which everything settles sooner.
fn scenario(name: &str, question: Question, measure: (f64, f64), flows: Vec<FlowSpec>) -> Scenario {
    Scenario {
        name: name.into(),
        title: name.into(),
        link: LinkParameters {
            rate_bit_per_s: 10_000_000,
            delay_ms: 20,
            queue_pkts: 40,
        },
        flows,
        duration_s: measure.1,
        measure_from_s: measure.0,
        question,
        starts_observing: false,
        switches: Vec::new(),
        shrinks_window: false,
    }
}

fn run(scenario: Scenario, policy: &str) -> Run {
    Run {
        scenario,
        policy: policy.parse().unwrap(),
        repetition: 0,
        seed: 1,
    }
}

fn run_all(runs: &[Run]) -> Vec<RunResult> {
    run_many(runs, &RunOptions::default()).unwrap()
}

/// Runs them and has `misses` say what is wrong with their results, as often as [`judge`] wants.
fn judge_runs(name: &str, runs: &[Run], misses: impl Fn(&[RunResult]) -> Vec<String>) {
    judge(name, || {
        let results = run_all(runs);
        let disturbed = results.iter().find(|result| result.is_disturbed);
        Attempt {
            wrong: misses(&results),
            disturbed: disturbed.map(|result| {
                format!(
                    "disturbed, {:.2} % of packets late, the worst {:.1} ms, endpoints {:.1} ms",
                    100.0 * result.late_pkts_share,
                    result.latest_packet_us as f64 / 1e3,
                    result.latest_endpoint_us as f64 / 1e3,
                )
            }),
        }
    });
}

/// A bound that figures must keep.
fn bound(holds: bool, what: &str, values: &[(&'static str, f64)]) -> Option<String> {
    (!holds).then(|| format!("not so: {what}: {values:?}"))
}

fn value(values: &[(&'static str, f64)], name: &str) -> f64 {
    let found = values.iter().find(|(own, _)| *own == name);
    found.unwrap_or_else(|| panic!("no {name} in {values:?}")).1
}

#[test]
fn plain_tcp_and_strict_priority_are_what_they_are_known_to_be() {
    if !common::is_root("plain_tcp_and_strict_priority_are_what_they_are_known_to_be") {
        return;
    }
    let constant = FlowKind::constant_rate(6_000_000);
    let shared = scenario(
        "shared",
        Question::Constant,
        (3.0, 10.0),
        vec![
            flow("be", Role::BestEffort, constant),
            flow("lbe", LBE, FlowKind::Greedy).starting_at(1.0),
        ],
    );
    let alone = shared.alone().unwrap();
    let name = "plain_tcp_and_strict_priority_are_what_they_are_known_to_be";
    let runs = [
        run(shared.clone(), "none"),
        run(shared, "priority"),
        run(alone, "none"),
    ];
    judge_runs(name, &runs, |results| {
        let plain = measure(&results[0], Some(&results[2]));
        let ideal = measure(&results[1], Some(&results[2]));
        let queue_ms = value(&ideal, "queue_added_ms");
        let misses = [
            bound(
                value(&plain, "queue_added_ms") > 10.0,
                "plain TCP adds more than 10 ms of queue",
                &plain,
            ),
            bound(value(&ideal, "be_kept") > 0.99, "BE keeps 0.99", &ideal),
            bound(value(&ideal, "spare_used") > 0.95, "0.95 is used", &ideal),
            // While one packet of LBE is being sent, at the most 1.2 ms, BE waits.
            bound(queue_ms < 1.5, "priority adds less than 1.5 ms", &ideal),
        ];
        misses.into_iter().flatten().collect()
    });
}

#[test]
fn ebb_uses_an_idle_link_and_yields_to_a_greedy_flow() {
    if !common::is_root("ebb_uses_an_idle_link_and_yields_to_a_greedy_flow") {
        return;
    }
    let settled = Question::Alone {
        settled_from_s: 5.0,
    };
    let alone = scenario(
        "alone",
        settled,
        (0.0, 15.0),
        vec![flow("lbe", LBE, FlowKind::Greedy)],
    );
    let shared = scenario(
        "shared",
        Question::Share,
        (7.0, 20.0),
        vec![
            flow("be", Role::BestEffort, FlowKind::Greedy),
            flow("lbe", LBE, FlowKind::Greedy).starting_at(2.0),
        ],
    );
    let name = "ebb_uses_an_idle_link_and_yields_to_a_greedy_flow";
    let runs = [
        run(alone, "ebb"),
        run(shared.clone(), "ebb"),
        run(shared, "none"),
    ];
    judge_runs(name, &runs, |results| {
        let [alone, yielding, plain] = [0, 1, 2].map(|number| measure(&results[number], None));
        let share = |values| value(values, "be_share");
        let misses = [
            bound(value(&alone, "settled") > 0.95, "0.95 alone", &alone),
            bound(share(&yielding) > 0.9, "BE gets 0.9", &yielding),
            bound(share(&plain) < 0.85, "plain TCP leaves < 0.85", &plain),
        ];
        misses.into_iter().flatten().collect()
    });
}

#[test]
fn an_upload_under_tcp_lp_uses_an_idle_link_and_leaves_a_greedy_flow_its_own() {
    if !common::is_root("an_upload_under_tcp_lp_uses_an_idle_link_and_leaves_a_greedy_flow_its_own")
    {
        return;
    }
    let links = [25, 50].map(|delay_ms| LinkParameters {
        delay_ms,
        ..LinkParameters::HOME
    });
    let mut runs = Vec::new();
    for link in links {
        let settled = Question::Alone {
            settled_from_s: 10.0,
        };
        let upload = || flow("lbe", LBE, FlowKind::Greedy);
        let mut alone = scenario("alone", settled, (0.0, 60.0), vec![upload()]);
        // The greedy flow is over its slow start by then.
        let be = flow("be", Role::BestEffort, FlowKind::Greedy);
        let flows = vec![be, upload().starting_at(8.0)];
        let mut shared = scenario("shared", Question::Kept, (8.0, 33.0), flows);
        (alone.link, shared.link) = (link, link);
        let be_alone = shared.alone().unwrap();
        runs.extend([
            run(alone, "tcp-lp"),
            run(shared, "tcp-lp"),
            run(be_alone, "none"),
        ]);
    }
    let name = "an_upload_under_tcp_lp_uses_an_idle_link_and_leaves_a_greedy_flow_its_own";
    judge_runs(name, &runs, |results| {
        results.chunks(3).flat_map(upload_misses).collect()
    });
}

/// Of an upload alone, one beside a greedy flow, and that flow alone.
fn upload_misses(results: &[RunResult]) -> Vec<String> {
    let delay_ms = results[0].scenario.link.delay_ms;
    let alone = measure(&results[0], None);
    let shared = measure(&results[1], Some(&results[2]));
    eprintln!("RTT {} ms: {alone:?} {shared:?}", 2 * delay_ms);
    let (used, kept) = (value(&alone, "utilisation"), value(&shared, "be_kept"));
    let misses = [
        bound(used >= 0.9, &format!("{delay_ms} ms: 0.9 alone"), &alone),
        bound(
            kept >= 0.96,
            &format!("{delay_ms} ms: BE keeps 0.96"),
            &shared,
        ),
    ];
    misses.into_iter().flatten().collect()
}

#[test]
fn an_observing_policy_limits_nothing_until_it_is_switched() {
    if !common::is_root("an_observing_policy_limits_nothing_until_it_is_switched") {
        return;
    }
    let mut scenario = scenario(
        "switched",
        Question::Share,
        (0.0, 24.0),
        vec![
            flow("be", Role::BestEffort, FlowKind::Greedy),
            flow("lbe", LBE, FlowKind::Greedy),
        ],
    );
    scenario.starts_observing = true;
    scenario.switches = vec![ebb_lab::figures::Switch {
        at_s: 8.0,
        is_observing: false,
    }];
    let name = "an_observing_policy_limits_nothing_until_it_is_switched";
    judge_runs(name, &[run(scenario, "ebb")], |results| {
        let lbe = results[0].flows_of(LBE).next().unwrap();
        let before = lbe.goodput_bit_per_s(1.0, 8.0);
        let after = lbe.goodput_bit_per_s(16.0, 24.0);
        let is_right = before > 1e6 && after < before / 2.0;
        let told = format!("{before} bit/s before, {after} after");
        (!is_right).then_some(told).into_iter().collect()
    });
}

fn flows_of_every_kind() -> Vec<FlowSpec> {
    let datagrams = FlowKind::Udp {
        rate_pkts_per_s: 50,
        payload_bytes: 200,
    };
    let mut flows = vec![
        flow("down", Role::BestEffort, FlowKind::Fixed { bytes: 300_000 }),
        flow("up", Role::BestEffort, FlowKind::Fixed { bytes: 300_000 }),
        flow(
            "bursts",
            Role::BestEffort,
            FlowKind::OnOff { period_s: 0.5 },
        )
        .starting_at(1.0),
        flow("call", Role::BestEffort, datagrams),
        flow("call-up", Role::BestEffort, datagrams),
    ];
    flows[1].direction = Direction::Upload;
    flows[4].direction = Direction::Upload;
    flows[3].stop_s = Some(2.0);
    flows
}

#[test]
fn every_kind_of_flow_arrives_whole_in_both_directions() {
    if !common::is_root("every_kind_of_flow_arrives_whole_in_both_directions") {
        return;
    }
    let name = "every_kind_of_flow_arrives_whole_in_both_directions";
    let kinds = scenario("kinds", Question::Share, (0.0, 3.2), flows_of_every_kind());
    judge_runs(name, &[run(kinds, "none")], |results| {
        let flows = &results[0].flows;
        // However slow the machine is, nothing comes twice or before its time.
        for call in &flows[3..] {
            let udp = call.udp.as_ref().unwrap();
            assert!(
                udp.delays_us.len() as u64 <= udp.sent_pkts,
                "{:?}",
                call.spec
            );
            // 20 ms of delay and 0.18 ms of transmission, never less.
            assert!(udp.delays_us.iter().all(|delay_us| *delay_us > 20_000));
        }
        // On from 1.06 s (connected) to 1.56, off to 2.06, on to 2.56.
        let bursts = (flows[2].bursts.len(), 2, "bursts");
        let sent = (
            flows[3].udp.as_ref().unwrap().sent_pkts as usize,
            100,
            "packets of the call",
        );
        let mut wrong: Vec<String> = [bursts, sent]
            .iter()
            .filter(|(are, must_be, _)| are != must_be)
            .map(|(are, must_be, what)| format!("{are} {what}, not {must_be}"))
            .collect();
        for fixed in &flows[..2] {
            if fixed.total_bytes() != 300_000 || fixed.completed_s.is_none() {
                wrong.push(format!("{} bytes of {:?}", fixed.total_bytes(), fixed.spec));
            }
        }
        for call in &flows[3..] {
            let arrived = call.udp.as_ref().unwrap().delays_us.len();
            if arrived <= 95 {
                wrong.push(format!("{arrived} packets of {:?}", call.spec));
            }
        }
        wrong
    });
}

#[test]
fn a_congestion_control_that_does_not_exist_is_named() {
    if !common::is_root("a_congestion_control_that_does_not_exist_is_named") {
        return;
    }
    let flows = vec![flow("be", LBE, FlowKind::Greedy).with_congestion_control("rubic")];
    let scenario = scenario("wrong", Question::Share, (0.0, 1.0), flows);
    let error = run_many(&[run(scenario, "none")], &RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`be`"), "{error}");
    assert!(error.to_string().contains("rubic"), "{error}");
}

#[test]
fn a_policy_that_does_not_exist_is_refused() {
    assert!("ebbb".parse::<PolicyChoice>().is_err());
    assert_eq!("none".parse(), Ok(PolicyChoice::None));
}
