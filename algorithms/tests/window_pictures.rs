// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures of windows over time, kept beside this file and reviewed as any change: two
//! characters a second, in sixteenths of 256 segments. EBB_UPDATE_PICTURES=1 draws anew.

mod sender_path;

use sender_path::{Outcome, Path, Plan, run};
use std::fmt::Write as _;

const STEPS: [char; 16] = [
    '.', '▁', '▁', '▂', '▂', '▃', '▃', '▄', '▄', '▅', '▅', '▆', '▆', '▇', '▇', '█',
];

fn picture(outcome: &Outcome, flow: usize) -> String {
    let windows = &outcome.flows[flow].cwnd_pkts;
    let step = |cwnd_pkts: u32| STEPS[(cwnd_pkts / 16).min(15) as usize];
    windows
        .iter()
        .skip(4)
        .step_by(5)
        .map(|w| step(*w))
        .collect()
}

/// A minute on 10 Mbit/s, 100 ms, 86 packets: 84 segments fill the path, 170 the queue.
fn alone(text: &mut String, policy: &str) {
    let outcome = run(&Path::default(), &[Plan::greedy(policy)], 60);
    let flow = &outcome.flows[0];
    writeln!(text, "{policy}\n{}", picture(&outcome, 0)).unwrap();
    writeln!(
        text,
        "share {:.3}, wait {:.1} ms, {} of {} lost\n",
        outcome.share(0, 0.0, 60.0),
        outcome.mean_wait_ms(0.0, 60.0),
        flow.lost_pkts,
        flow.sent_pkts
    )
    .unwrap();
}

/// The same, with cubic beside it from 20 to 40 s.
fn beside_cubic(text: &mut String, policy: &str) {
    let cubic = Plan::greedy("cubic").between(20_000_000, 40_000_000);
    let outcome = run(&Path::default(), &[Plan::greedy(policy), cubic], 60);
    writeln!(text, "{policy}, cubic beside it from 20 to 40 s").unwrap();
    writeln!(text, "{}\n{}", picture(&outcome, 0), picture(&outcome, 1)).unwrap();
    let shares = [outcome.share(0, 22.0, 40.0), outcome.share(1, 22.0, 40.0)];
    writeln!(text, "shares then {:.3} and {:.3}\n", shares[0], shares[1]).unwrap();
}

#[test]
fn windows_look_as_they_did_when_they_were_reviewed() {
    let mut text = String::new();
    for policy in [
        "reno",
        "cubic",
        "cubic:rules=1,hystart=2",
        "vegas",
        "bbr",
        "cubic+",
        "reno+",
    ] {
        alone(&mut text, policy);
    }
    for policy in ["reno", "cubic", "vegas", "bbr", "cubic+"] {
        beside_cubic(&mut text, policy);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/window_pictures.txt");
    if std::env::var_os("EBB_UPDATE_PICTURES").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let reviewed = std::fs::read_to_string(path).unwrap();
    for (line, (now, then)) in text.lines().zip(reviewed.lines()).enumerate() {
        let line = line + 1;
        assert_eq!(
            now, then,
            "window_pictures.txt:{line}: EBB_UPDATE_PICTURES=1 draws anew"
        );
    }
    assert_eq!(text, reviewed);
}
