// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach --minimum`: what a program has at the least beside others, changed while it goes on.

#[path = "transfers/greedy.rs"]
mod greedy;
#[path = "transfers/one_way.rs"]
mod one_way;
mod support;
mod transfers;

use std::ops::Range;
use std::time::{Duration, Instant};

use ebb_keeper::Direction;
use ebb_lab::emulator::{EmulatorReport, Path, PathReport, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::Class;
use greedy::Others;
use one_way::{OneWay, accept, others};
use support::{Ebb, stderr};
use transfers::{quick_path, rate};

const RUNS: [(&str, Direction); 4] = [
    ("kernel", Direction::Down),
    ("kernel", Direction::Up),
    ("user", Direction::Down),
    ("user", Direction::Up),
];

/// A minimum, and what it then has beside a greedy flow at 10 Mbit/s. *Units:* Mbit/s, of packets.
const STEPS: [(&str, Range<f64>); 3] = [
    ("1mbit", 1.0..2.9),
    ("3mbit", 3.0..6.0),
    // Under the user backend each connection judges for itself how little others leave.
    ("none", 0.0..2.0),
];

/// After a change, and how long it is measured then.
const SETTLES: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(5);

fn start(path: &Path, direction: Direction) -> OneWay {
    accept(path, direction);
    OneWay::start(path, &OneWay::words(direction))
}

fn set_minimum(program: &OneWay, ebb: &Ebb, backend: &str, minimum: &str) {
    let pid = program.id().to_string();
    let mut attach = ebb.command(["attach", "--pid", &pid, "--minimum", minimum]);
    let output = attach.args(["--backend", backend]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// What was measured, and when: for each step, since the emulator began.
struct Measured {
    report: EmulatorReport,
    spans: Vec<[Duration; 2]>,
}

fn measure() -> Measured {
    let testbed = Testbed::start(vec![quick_path(); RUNS.len()]).unwrap();
    let ebb = Ebb::new();
    let pairs = testbed.paths().iter().zip(&RUNS);
    let begin = |(path, (_, direction)): (&Path, &(_, Direction))| {
        (start(path, *direction), others(path, *direction))
    };
    let (mut programs, others): (Vec<OneWay>, Vec<Others>) = pairs.map(begin).unzip();
    let mut spans = Vec::new();
    for (step, (minimum, _)) in STEPS.iter().enumerate() {
        std::thread::scope(|scope| {
            for (program, (backend, _)) in programs.iter().zip(&RUNS) {
                scope.spawn(|| set_minimum(program, &ebb, backend, minimum));
            }
        });
        if step == 0 {
            programs.iter_mut().for_each(OneWay::go);
        }
        std::thread::sleep(SETTLES);
        let from = Instant::now() - testbed.epoch_instant();
        std::thread::sleep(MEASURED);
        spans.push([from, from + MEASURED]);
    }
    let report = testbed.stop().unwrap();
    drop((programs, others));
    Measured { report, spans }
}

/// What of one program's rates is not as it must be.
fn misses(
    (backend, direction): (&str, Direction),
    path: &PathReport,
    spans: &[[Duration; 2]],
) -> Vec<String> {
    let link = match direction {
        Direction::Down => &path.forward,
        Direction::Up => &path.reverse,
    };
    let mut wrong = Vec::new();
    for ((minimum, bounds), span) in STEPS.iter().zip(spans) {
        let ours = rate(link, Class::LessThanBestEffort, *span);
        let theirs = rate(link, Class::BestEffort, *span);
        let told =
            format!("{backend} {direction:?}, {minimum}: {ours:.2} Mbit/s beside {theirs:.2}");
        eprintln!("{told}");
        wrong.extend((!bounds.contains(&ours)).then_some(told));
    }
    wrong
}

#[test]
fn a_minimum_that_is_changed_holds_at_once_under_both_backends_and_both_ways() {
    let name = "a_minimum_that_is_changed_holds_at_once_under_both_backends_and_both_ways";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let Measured { report, spans } = measure();
        let all = RUNS.into_iter().zip(&report.paths);
        let wrong = all.flat_map(|(run, path)| misses(run, path, &spans));
        Attempt::over(&report, wrong.collect())
    });
}
