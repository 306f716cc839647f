// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gateway beside the kernel backend, at the same time in homes of their own: what a device
//! yields to another one, by the router or by itself.

use std::time::{Duration, Instant};

use ebb_lab::emulator::SERVER_IPV4;
use ebb_lab::judging::{self, Attempt};
use ebb_link::{Class, Nanos};

use crate::home::Home;
use crate::support::Ebb;
use crate::{BACKGROUND, LINK_MBIT_PER_S, OTHERS, at_once, can_run, mean};

/// Ports of the server: 6 Mbit/s, and bursts of 3 s.
const CONSTANT: u16 = 9004;
const BURSTS: u16 = 9005;
/// What both backends may differ by.
const MOST_SHARE: f64 = 0.02;
const MOST_QUEUE_MS: f64 = 2.0;
/// Both transfers run for so long; whole bursts.
const BOTH_S: u32 = 36;
/// Of each backend, at the same time.
const RUNS: usize = 2;
/// Of bursts, one after the other so many at a time: what a run gives depends on when they begin
/// within a round of the law's.
const BURST_RUNS: usize = 24;
const WAVE: usize = 6;

/// As experiments/ebb has them.
struct Scenario {
    name: &'static str,
    others: u16,
    /// Who is alone at first, and for how long.
    is_ours_first: bool,
    alone_s: u32,
}

const STEADY: [Scenario; 2] = [
    Scenario {
        name: "constant",
        others: CONSTANT,
        is_ours_first: false,
        alone_s: 3,
    },
    Scenario {
        name: "greedy",
        others: OTHERS,
        is_ours_first: false,
        alone_s: 3,
    },
];
const IN_BURSTS: Scenario = Scenario {
    name: "bursts of 3 s",
    others: BURSTS,
    is_ours_first: true,
    alone_s: 5,
};

/// While both run.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    others_share: f64,
    ours_of_link: f64,
    queue_ms: f64,
}

/// One run, and whether it is to be believed.
fn measure(scenario: &Scenario, is_by_gateway: bool) -> (Figures, Attempt) {
    let home = Home::start(2);
    let ebb = Ebb::new();
    let [ours, theirs] = &home.devices[..] else {
        unreachable!()
    };
    let rules = "[[rule]]\nclient = \"192.168.7.10\"\n";
    let gateway = is_by_gateway.then(|| home.gateway(&ebb, &[], rules));
    let host = SERVER_IPV4.to_string();
    // A second more, since the other one's seconds begin somewhere within its own.
    let first_s = scenario.alone_s + BOTH_S + 1;
    let begin_ours = |seconds| match is_by_gateway {
        true => ours.transfer(&host, BACKGROUND, seconds),
        false => ours.transfer_under(&ebb, &host, BACKGROUND, seconds),
    };
    let begin_theirs = |seconds| theirs.transfer(&host, scenario.others, seconds);
    let alone = Duration::from_secs(scenario.alone_s.into());
    let (first, begin, second) = match scenario.is_ours_first {
        true => {
            let first = begin_ours(first_s);
            std::thread::sleep(alone);
            (first, Instant::now(), begin_theirs(BOTH_S))
        }
        false => {
            let first = begin_theirs(first_s);
            std::thread::sleep(alone);
            (first, Instant::now(), begin_ours(BOTH_S))
        }
    };
    let second = second.seconds();
    let until = Instant::now();
    let first = first.seconds();
    if let Some(gateway) = gateway {
        gateway.kill().unwrap();
    }
    let epoch = home.testbed().epoch_instant();
    let report = home.stop();
    let at = |instant: Instant| {
        Nanos(report.epoch.0 + u64::try_from((instant - epoch).as_nanos()).unwrap())
    };
    let series = &report.paths[0].forward.series;
    let bin = series.between(Class::BestEffort, at(begin), at(until));
    let alone_s = scenario.alone_s as usize;
    let first_mbit = mean(&first, alone_s, alone_s + BOTH_S as usize);
    let second_mbit = mean(&second, 0, BOTH_S as usize);
    let (ours_mbit, theirs_mbit) = match scenario.is_ours_first {
        true => (first_mbit, second_mbit),
        false => (second_mbit, first_mbit),
    };
    let figures = Figures {
        others_share: theirs_mbit / (ours_mbit + theirs_mbit),
        ours_of_link: ours_mbit / LINK_MBIT_PER_S,
        queue_ms: bin.waiting.mean_ns().unwrap_or(0.0) / 1e6,
    };
    (figures, Attempt::over(&report, Vec::new()))
}

fn mean_of(runs: &[Figures]) -> Figures {
    let mean = |of: fn(&Figures) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    Figures {
        others_share: mean(|run| run.others_share),
        ours_of_link: mean(|run| run.ours_of_link),
        queue_ms: mean(|run| run.queue_ms),
    }
}

/// So many runs of each backend, at the same time.
fn wave(scenario: &Scenario, runs: usize) -> (Vec<[Figures; 2]>, Option<String>) {
    let runs = std::thread::scope(|scope| {
        let running: Vec<_> = (0..runs)
            .map(|_| [false, true].map(|by| scope.spawn(move || measure(scenario, by))))
            .collect();
        let joined = running
            .into_iter()
            .map(|pair| pair.map(|it| it.join().unwrap()));
        joined.collect::<Vec<_>>()
    });
    let attempts = runs.iter().flatten();
    let disturbed = attempts
        .into_iter()
        .find_map(|(_, attempt)| attempt.disturbed.clone());
    let figures = runs.iter().map(|pair| [pair[0].0, pair[1].0]);
    (figures.collect(), disturbed)
}

/// Both backends, by the means of their runs.
fn compare(scenario: &Scenario, runs: usize) -> Attempt {
    let mut disturbed = None;
    let (mut kernel, mut gateway) = (Vec::new(), Vec::new());
    while kernel.len() < runs {
        let (figures, in_wave) = wave(scenario, (runs - kernel.len()).min(WAVE));
        disturbed = disturbed.or(in_wave);
        for [by_kernel, by_gateway] in figures {
            kernel.push(by_kernel);
            gateway.push(by_gateway);
        }
    }
    let (kernel, gateway) = (mean_of(&kernel), mean_of(&gateway));
    let name = scenario.name;
    for (backend, figures) in [("kernel", kernel), ("gateway", gateway)] {
        eprintln!(
            "{name}, {backend}: others' share {:.3}, ours of the link {:.3}, queue {:.1} ms",
            figures.others_share, figures.ours_of_link, figures.queue_ms
        );
    }
    let differences = [
        (
            "others' share",
            kernel.others_share - gateway.others_share,
            MOST_SHARE,
        ),
        (
            "ours of the link",
            kernel.ours_of_link - gateway.ours_of_link,
            MOST_SHARE,
        ),
        (
            "queue, in ms",
            kernel.queue_ms - gateway.queue_ms,
            MOST_QUEUE_MS,
        ),
    ];
    let wrong = differences
        .into_iter()
        .filter(|(_, difference, most)| difference.abs() > *most)
        .map(|(what, difference, _)| format!("{name}, {what}: {difference:.3} apart"));
    Attempt {
        wrong: wrong.collect(),
        disturbed,
    }
}

#[test]
fn the_gateway_gives_what_the_kernel_backend_gives() {
    let name = "the_gateway_gives_what_the_kernel_backend_gives";
    if !can_run(name) {
        return;
    }
    judging::judge(name, || {
        at_once(&STEADY, |scenario| compare(scenario, RUNS))
    });
}

#[test]
#[ignore = "takes three minutes: make check-deep"]
fn it_gives_what_the_kernel_backend_gives_beside_bursts() {
    let name = "it_gives_what_the_kernel_backend_gives_beside_bursts";
    if !can_run(name) {
        return;
    }
    judging::judge(name, || compare(&IN_BURSTS, BURST_RUNS));
}
