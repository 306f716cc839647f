// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QUIC under Ebb's laws, over real UDP and an emulated link: uploads yield to CUBIC TCP within the
//! bounds of TCP uploads, so do downloads that are bounded by credit, and both have the link when
//! nobody else wants it.

#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ebb_host::testing::requires_root;
use ebb_lab::emulator::{Path, PathReport, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::Class;
use ebb_quic::LawConfig;
use quinn::TransportConfig;
use support::greedy::Others;
use support::transfer::Transfer;
use support::{OTHERS, OURS, path, share, wait_until};

/// Who comes second comes then.
const COMES_SECOND: Duration = Duration::from_secs(4);
/// Both have found their rate, and slow start is over.
const SETTLED: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(30);

/// The bounds of `docs/figures.md` are of so long: what they let be taken may be taken at once.
const BOUND_IS_OF: Duration = Duration::from_secs(60);

/// Who else is there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Alone,
    BesideTheFirst,
    BesideTheSecond,
}

const CASES: [Case; 3] = [Case::Alone, Case::BesideTheFirst, Case::BesideTheSecond];

/// A policy, and what is asked of it.
struct Asked {
    policy: &'static str,
    is_upload: bool,
    /// The least part of the link that it has alone, once settled.
    alone: f64,
    /// The least share that others have who were there first, and who come second.
    beside: [f64; 2],
}

/// Beside others the bounds are TCP's (`docs/figures.md`); for downloads they are lower than the user
/// backend's. Alone tcp-lp has .90 over TCP: quinn sends ten packets at once, which are a queue.
const ALL: [Asked; 4] = [
    asked_of_upload("ledbat++:target_us=20000,slowdown_interval=60", 0.93),
    asked_of_upload("tcp-lp", 0.80),
    asked_of_upload("ebb-sender", 0.96),
    Asked {
        policy: "sampled",
        is_upload: false,
        alone: 0.75,
        beside: [0.95, 0.97],
    },
];

const fn asked_of_upload(policy: &'static str, alone: f64) -> Asked {
    Asked {
        policy,
        is_upload: true,
        alone,
        beside: [0.96, 0.96],
    }
}

#[test]
fn quic_yields_to_cubic_as_tcp_does_and_has_the_link_alone() {
    let name = "quic_yields_to_cubic_as_tcp_does_and_has_the_link_alone";
    if requires_root(name) {
        judge(name, measure);
    }
}

/// All cases at once, each on a link of its own.
fn measure() -> Attempt {
    let runs: Vec<(&Asked, Case)> = ALL
        .iter()
        .flat_map(|asked| CASES.map(|case| (asked, case)))
        .collect();
    let testbed = Testbed::start(vec![path(); runs.len()]).unwrap();
    for path in testbed.paths() {
        path.set_class(OURS, Class::LessThanBestEffort);
    }
    let (mut others, mut ours) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for (path, (asked, case)) in testbed.paths().iter().zip(&runs) {
        match case {
            Case::BesideTheFirst => others.push(Others::begin_download(path, OTHERS)),
            _ => ours.push(begin(path, asked, END)),
        }
    }
    wait_until(began + COMES_SECOND);
    for (path, (asked, case)) in testbed.paths().iter().zip(&runs) {
        match case {
            Case::Alone => {}
            Case::BesideTheFirst => ours.push(begin(path, asked, END - COMES_SECOND)),
            Case::BesideTheSecond => others.push(Others::begin_download(path, OTHERS)),
        }
    }
    ours.into_iter().for_each(Transfer::join);
    drop(others);
    let began = began - testbed.epoch_instant();
    let report = testbed.stop().unwrap();
    eprintln!("{}", report.summary());
    let seen = report.paths.iter().zip(&runs);
    let wrong = seen.filter_map(|(path, (asked, case))| what_is_wrong(path, asked, *case, began));
    Attempt::over(&report, wrong.collect())
}

fn begin(path: &Path, asked: &Asked, lasts: Duration) -> Transfer {
    if !asked.is_upload {
        return Transfer::download(path, lasts, asked.policy);
    }
    let law = LawConfig::new(asked.policy).unwrap();
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(law));
    Transfer::upload(path, lasts, transport)
}

fn what_is_wrong(path: &PathReport, asked: &Asked, case: Case, began: Duration) -> Option<String> {
    // The last half of a second is the end's.
    let until = END - Duration::from_millis(500);
    let have = |class, from| share(path, class, [from, until].map(|at| began + at));
    let ours = |from| have(Class::LessThanBestEffort, from);
    let theirs = |from| have(Class::BestEffort, from);
    let told = match case {
        Case::Alone => format!("{:.3} of the link alone", ours(SETTLED)),
        _ => format!(
            "others had {:.3}, {:.3} once settled",
            theirs(COMES_SECOND) / (theirs(COMES_SECOND) + ours(COMES_SECOND)),
            theirs(SETTLED) / (theirs(SETTLED) + ours(SETTLED))
        ),
    };
    let told = format!("{} {case:?}: {told}", asked.policy);
    eprintln!("{told}");
    let is_right = match case {
        Case::Alone => ours(SETTLED) >= asked.alone,
        Case::BesideTheFirst | Case::BesideTheSecond => {
            let least = asked.beside[usize::from(case == Case::BesideTheSecond)];
            let share = theirs(SETTLED) / (theirs(SETTLED) + ours(SETTLED));
            let taken_s = ours(COMES_SECOND) * (until - COMES_SECOND).as_secs_f64();
            share >= least && taken_s <= (1.0 - least) * BOUND_IS_OF.as_secs_f64()
        }
    };
    (!is_right).then_some(told)
}
