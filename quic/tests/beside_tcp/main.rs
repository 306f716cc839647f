// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ledbat++` and `tcp-lp` as they are, over QUIC and over the kernel's TCP, in the same lab at the
//! same time: a QUIC upload yields as a TCP upload under the same law does.

#[path = "../support/mod.rs"]
mod support;

use ebb_algorithms::Policy;
use ebb_host::testing::requires_root;
use ebb_kernel::LoadedLaws;
use ebb_lab::judging::{Attempt, judge};
use support::cases::{self, CASES, Case, Had, Parts};
use support::transfer::Transfer;

/// Of what TCP uploads take from others, QUIC uploads take so much at the most: ledbat++ takes
/// between 6 and 20 % by either, from run to run.
const MOST_TAKEN: f64 = 1.5;
/// And so much more of what both have: tcp-lp takes next to nothing by either.
const MORE_TAKEN: f64 = 0.01;
/// Of what a TCP upload has alone, a QUIC upload has so much at the least.
const LEAST_ALONE: f64 = 0.88;

/// Policies, and how often they meet others who were first: how much ledbat++ takes is chance there.
const ALL: [(&str, usize); 2] = [("ledbat++", 3), ("tcp-lp", 1)];

/// What carries the upload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Quic,
    Tcp,
}

#[test]
fn an_upload_by_quic_yields_as_one_by_tcp_does() {
    let name = "an_upload_by_quic_yields_as_one_by_tcp_does";
    if requires_root(name) {
        judge(name, measure);
    }
}

fn measure() -> Attempt {
    let policies = ALL.map(|(policy, _)| Policy::sender(policy).unwrap());
    let loaded = LoadedLaws::load(&policies).unwrap();
    let runs = runs();
    let (report, had) = cases::measure(&runs, |path, (law, by), lasts| match by {
        By::Quic => Transfer::upload_under(path, lasts, ALL[*law].0),
        By::Tcp => Transfer::upload_by_tcp(path, lasts, &loaded.names()[*law]),
    });
    let of = |law, by, case| {
        let all = runs.iter().zip(&had);
        let of = all.filter(|(run, _)| **run == ((law, by), case));
        of.map(|(_, had)| *had).collect::<Vec<_>>()
    };
    let asked = (0..ALL.len()).flat_map(|law| CASES.map(|case| (law, case)));
    let wrong = asked.filter_map(|(law, case)| {
        let [quic, tcp] = [By::Quic, By::Tcp].map(|by| of(law, by, case));
        what_is_wrong(ALL[law].0, case, &quic, &tcp)
    });
    Attempt::over(&report, wrong.collect())
}

fn runs() -> Vec<((usize, By), Case)> {
    let mut runs = Vec::new();
    for (law, (_, often)) in ALL.iter().enumerate() {
        for case in CASES {
            let times = if case == Case::BesideTheFirst {
                *often
            } else {
                1
            };
            for by in [By::Quic, By::Tcp] {
                runs.extend(std::iter::repeat_n(((law, by), case), times));
            }
        }
    }
    runs
}

fn what_is_wrong(policy: &str, case: Case, quic: &[Had], tcp: &[Had]) -> Option<String> {
    let tell = |had: &[Had]| {
        had.iter()
            .map(Had::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let told = format!(
        "{policy} {case:?}: by QUIC {}; by TCP {}",
        tell(quic),
        tell(tcp)
    );
    eprintln!("{told}");
    let takes_as_little = |part: fn(&Had) -> Parts| {
        let taken = |had: &[Had]| mean(had, |it| 1.0 - part(it).theirs());
        taken(quic) <= MOST_TAKEN * taken(tcp) + MORE_TAKEN
    };
    let alone = |had: &[Had]| mean(had, |it| it.settled.ours);
    let is_right = match case {
        Case::Alone => alone(quic) >= LEAST_ALONE * alone(tcp),
        Case::BesideTheFirst | Case::BesideTheSecond => {
            takes_as_little(|it| it.settled) && takes_as_little(|it| it.together)
        }
    };
    (!is_right).then_some(told)
}

fn mean(of: &[Had], value: impl Fn(&Had) -> f64) -> f64 {
    of.iter().map(value).sum::<f64>() / of.len() as f64
}
