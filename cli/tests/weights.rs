// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules with weights: who shares a link shares what others leave by weight, both ways.

#[path = "transfers/greedy.rs"]
mod greedy;
#[path = "transfers/one_way.rs"]
mod one_way;
mod support;
mod transfers;

use std::time::{Duration, Instant};

use ebb_keeper::Direction;
use ebb_lab::emulator::{EmulatorReport, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::Class;
use greedy::Others;
use one_way::{OneWay, accept, others};
use support::serving::{Grounds, Service};
use transfers::{quick_path, rate};

const WAYS: [Direction; 2] = [Direction::Down, Direction::Up];
/// The first has three times the weight of the second, which has none of its own.
const RULES: [&str; 2] = ["heavy", "light"];

fn name(rule: &str, direction: Direction) -> String {
    format!("{rule}-{direction:?}")
}

/// What each rule has carried its way.
fn carried(grounds: &Grounds) -> [[u64; 2]; 2] {
    let seen = grounds.seen();
    WAYS.map(|direction| {
        RULES.map(|rule| {
            let name = name(rule, direction);
            let found = seen.iter().find(|it| it["target"]["name"] == name.as_str());
            let way = format!("{direction:?}").to_lowercase();
            let flows = found.map_or(&[][..], |it| it["flows"].as_array().unwrap());
            let its = flows
                .iter()
                .filter(|flow| flow["direction"] == way.as_str());
            its.map(|flow| flow["payload_bytes"].as_u64().unwrap())
                .sum()
        })
    })
}

/// `weight` is a line of the heavy ones.
fn rules(grounds: &Grounds, weight: &str) -> String {
    let rules = WAYS.iter().flat_map(|way| RULES.map(|rule| (rule, *way)));
    let text = rules.map(|(rule, way)| {
        let weight = if rule == RULES[0] { weight } else { "" };
        grounds.rule(&name(rule, way)) + weight
    });
    text.collect::<Vec<_>>().concat()
}

/// What the rules carried in a while, and when that was.
struct Span {
    mbit_per_s: [[f64; 2]; 2],
    times: [Duration; 2],
}

/// In the order in which it is to end.
struct Stage<'a> {
    programs: Vec<[Option<OneWay>; 2]>,
    service: Service,
    grounds: Grounds,
    testbed: &'a Testbed,
}

impl<'a> Stage<'a> {
    /// `weight` is a line of the heavy rules.
    fn set(testbed: &'a Testbed, weight: &str) -> Self {
        let grounds = Grounds::new("weights");
        grounds.write("a.toml", &rules(&grounds, weight));
        let service = grounds.serve();
        let pairs = testbed.paths().iter().zip(WAYS);
        let programs = pairs.map(|(path, way)| {
            accept(path, way);
            let words = OneWay::words(way);
            RULES.map(|rule| {
                let words = grounds.words_in(&name(rule, way), &words);
                Some(OneWay::start(path, &words))
            })
        });
        Self {
            programs: programs.collect(),
            grounds,
            testbed,
            service,
        }
    }

    fn go(&mut self) {
        self.programs
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(OneWay::go);
    }

    /// Says another weight while everything runs.
    fn change(&self, weight: &str) {
        self.grounds.write("a.toml", &rules(&self.grounds, weight));
        self.service.reload();
    }

    fn others(&self) -> Vec<Others> {
        let pairs = self.testbed.paths().iter().zip(WAYS);
        pairs.map(|(path, way)| others(path, way)).collect()
    }

    fn measure(&self, seconds: u64) -> Span {
        let (from, before) = (Instant::now(), carried(&self.grounds));
        std::thread::sleep(Duration::from_secs(seconds));
        let (until, after) = (Instant::now(), carried(&self.grounds));
        let mbit = |way: usize, rule: usize| {
            let bytes = after[way][rule].saturating_sub(before[way][rule]);
            bytes as f64 * 8e-6 / (until - from).as_secs_f64()
        };
        Span {
            mbit_per_s: [0, 1].map(|way| [0, 1].map(|rule| mbit(way, rule))),
            times: [from, until].map(|it| it - self.testbed.epoch_instant()),
        }
    }
}

/// Ours and theirs on a path. *Units:* Mbit/s of packets.
fn rates(report: &EmulatorReport, way: usize, span: &Span) -> [f64; 2] {
    let path = &report.paths[way];
    let link = [&path.forward, &path.reverse][way];
    [Class::LessThanBestEffort, Class::BestEffort].map(|class| rate(link, class, span.times))
}

fn pause(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// As it is alone, beside others, and when the heavy ones have ended.
fn run(weight: &str) -> (EmulatorReport, [Span; 3]) {
    let testbed = Testbed::start(vec![quick_path(); WAYS.len()]).unwrap();
    let spans = {
        let mut stage = Stage::set(&testbed, weight);
        stage.go();
        pause(20);
        let alone = stage.measure(15);
        let others = stage.others();
        pause(4);
        let beside = stage.measure(10);
        drop(others);
        pause(8);
        stage
            .programs
            .iter_mut()
            .for_each(|[heavy, _]| drop(heavy.take()));
        pause(5);
        [alone, beside, stage.measure(6)]
    };
    (testbed.stop().unwrap(), spans)
}

/// What is not as it must be, where the heavy rules have so many times the others' weight.
fn misses(report: &EmulatorReport, [alone, beside, one]: &[Span; 3], weight: f64) -> Vec<String> {
    let mut wrong = Vec::new();
    for (way, direction) in WAYS.iter().enumerate() {
        let [heavy, light] = alone.mbit_per_s[way];
        let used = rates(report, way, alone)[0];
        let [ours, theirs] = rates(report, way, beside);
        let left = rates(report, way, one)[0];
        let told = format!(
            "{direction:?}: {heavy:.2} and {light:.2} Mbit/s are 1:{:.2}, {used:.2} of packets; \
             {ours:.2} beside {theirs:.2} of others; {left:.2} for the one that is left",
            heavy / light
        );
        eprintln!("{told}");
        let is_shared = (heavy / light / weight - 1.0).abs() < 0.15;
        let is_right = is_shared && used > 9.0 && ours < 1.5 && left > 8.5;
        wrong.extend((!is_right).then_some(told));
    }
    wrong
}

/// `EBB_WEIGHT_OF_NONE=1` runs it without weights, to see what is different.
#[test]
#[ignore = "takes more than a minute: cargo test -p ebb --test weights -- --ignored --nocapture"]
fn rules_share_by_weight_what_others_leave_and_one_that_is_left_has_all() {
    let name = "rules_share_by_weight_what_others_leave_and_one_that_is_left_has_all";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    if std::env::var_os("EBB_WEIGHT_OF_NONE").is_some() {
        let (report, spans) = run("");
        misses(&report, &spans, 1.0);
        return;
    }
    judge(name, || {
        let (report, spans) = run("weight = 3\n");
        let wrong = misses(&report, &spans, 3.0);
        Attempt::over(&report, wrong)
    });
}

#[test]
#[ignore = "takes more than a minute: cargo test -p ebb --test weights -- --ignored --nocapture"]
fn a_weight_that_is_changed_holds_for_what_runs() {
    let name = "a_weight_that_is_changed_holds_for_what_runs";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let testbed = Testbed::start(vec![quick_path(); WAYS.len()]).unwrap();
        let spans = {
            let mut stage = Stage::set(&testbed, "weight = 3\n");
            stage.go();
            pause(20);
            let before = carried(&stage.grounds);
            let spans = ["weight = 3\n", "weight = 1\n", "weight = 2\n"].map(|weight| {
                stage.change(weight);
                pause(10);
                stage.measure(12)
            });
            // Whoever were let go would begin to count anew.
            let after = carried(&stage.grounds);
            assert!(before < after, "{before:?}, then {after:?}");
            spans
        };
        let report = testbed.stop().unwrap();
        let mut wrong = Vec::new();
        for (span, weight) in spans.iter().zip([3.0, 1.0, 2.0]) {
            for (way, direction) in WAYS.iter().enumerate() {
                let [heavy, light] = span.mbit_per_s[way];
                let told = format!(
                    "{direction:?}, {weight}: {heavy:.2} and {light:.2} Mbit/s are 1:{:.2}, {:.2} of packets",
                    heavy / light,
                    rates(&report, way, span)[0]
                );
                eprintln!("{told}");
                let is_right = (heavy / light / weight - 1.0).abs() < 0.15;
                wrong.extend((!is_right).then_some(told));
            }
        }
        Attempt::over(&report, wrong)
    });
}
