// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QUIC under Ebb's laws, over real UDP and an emulated link: uploads yield to CUBIC TCP within the
//! bounds of TCP uploads, so do downloads that are bounded by credit, and both have the link when
//! nobody else wants it.

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use ebb_host::testing::requires_root;
use ebb_lab::emulator::Path;
use ebb_lab::judging::{Attempt, judge};
use support::cases::{self, CASES, Case, Had, TOGETHER};
use support::transfer::Transfer;

/// The bounds of `docs/figures.md` are of so long: what they let be taken may be taken at once.
const BOUND_IS_OF: Duration = Duration::from_secs(60);

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

fn measure() -> Attempt {
    let runs: Vec<(&Asked, Case)> = ALL
        .iter()
        .flat_map(|asked| CASES.map(|case| (asked, case)))
        .collect();
    let (report, had) = cases::measure(&runs, |path, asked, lasts| begin(path, asked, lasts));
    let wrong = had.iter().zip(&runs);
    let wrong = wrong.filter_map(|(had, (asked, case))| what_is_wrong(had, asked, *case));
    Attempt::over(&report, wrong.collect())
}

fn begin(path: &Path, asked: &Asked, lasts: Duration) -> Transfer {
    match asked.is_upload {
        true => Transfer::upload_under(path, lasts, asked.policy),
        false => Transfer::download(path, lasts, asked.policy),
    }
}

fn what_is_wrong(had: &Had, asked: &Asked, case: Case) -> Option<String> {
    let told = format!("{} {case:?}: {had}", asked.policy);
    eprintln!("{told}");
    let is_right = match case {
        Case::Alone => had.settled.ours >= asked.alone,
        Case::BesideTheFirst | Case::BesideTheSecond => {
            let least = asked.beside[usize::from(case == Case::BesideTheSecond)];
            let taken_s = had.together.ours * TOGETHER.as_secs_f64();
            had.settled.theirs() >= least && taken_s <= (1.0 - least) * BOUND_IS_OF.as_secs_f64()
        }
    };
    (!is_right).then_some(told)
}
