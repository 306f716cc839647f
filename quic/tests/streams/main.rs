// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One stream of a QUIC connection in the background, over real UDP and an emulated link: it yields
//! to another stream of the same connection and to CUBIC TCP, and has the link when nobody else wants
//! it.

#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use ebb_host::testing::requires_root;
use ebb_lab::judging::{Attempt, judge};
use support::cases::{self, CASES, Case, Had};
use support::streams::{self, Streams};

/// quinn's sender lets ten packets go at once, which are a queue of 12 ms on this link.
const POLICY: &str = "sampled:target_us=12000,high_us=24000";

/// The least part of the link that the stream has alone, once settled.
const ALONE: f64 = 0.93;

#[test]
fn a_stream_yields_to_the_others_of_its_connection_and_to_cubic() {
    let name = "a_stream_yields_to_the_others_of_its_connection_and_to_cubic";
    if requires_root(name) {
        judge(name, measure);
    }
}

fn measure() -> Attempt {
    let both = Arc::new(Streams::default());
    let beside_tcp = CASES.map(|case| (None, case));
    // Nobody else is on the link of the connection that has two streams.
    let runs: Vec<_> = beside_tcp
        .into_iter()
        .chain([(Some(Arc::clone(&both)), Case::Alone)])
        .collect();
    let (report, had) = cases::measure(&runs, |path, both, lasts| {
        streams::download(path, lasts, POLICY, both.clone())
    });
    let wrong = had
        .iter()
        .zip(&runs)
        .filter_map(|(had, (both, _))| match both {
            Some(both) => what_is_wrong_beside_a_stream(&both.others()),
            None => what_is_wrong(had),
        });
    Attempt::over(&report, wrong.collect())
}

fn what_is_wrong_beside_a_stream([together, settled]: &[f64; 2]) -> Option<String> {
    let told = format!("BesideAStream: it had {together:.3}, {settled:.3} once settled");
    eprintln!("{told}");
    (*settled < 0.97 || *together < 0.94).then_some(told)
}

fn what_is_wrong(had: &Had) -> Option<String> {
    let told = format!("{:?}: {had}", had.case);
    eprintln!("{told}");
    let others = |[together, settled]: [f64; 2]| {
        had.together.theirs() >= together && had.settled.theirs() >= settled
    };
    let is_right = match had.case {
        Case::Alone => had.settled.ours >= ALONE,
        Case::BesideTheFirst => others([0.92, 0.93]),
        Case::BesideTheSecond => others([0.83, 0.90]),
    };
    (!is_right).then_some(told)
}
