// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a router holds gets what the kernel backend gives it: many connections of a rule, which are
//! one flow to others, and scenarios of `experiments/ebb`.
mod common;

use std::process::Command;

use common::{Ran, bound, is_root, judge_runs};
use ebb_host::testing::requires;

/// A greedy flow of another device, and 4 s later many that yield: what devices get, or what they
/// send, which the first flow of TCP tells by who connects.
fn many(way: Way, count: u32, key: &str) -> String {
    let way = match way {
        Way::Down => "connects = \"receiver\"",
        Way::Up => "connects = \"sender\"",
    };
    format!(
        "duration = \"28s\"\n[measure]\nboth = [\"8s\", \"28s\"]\n[bottleneck]\nrate = \"10mbit\"\n\
         rtt = \"100ms\"\nqueue = 86\n[[flow]]\nname = \"call\"\nkind = \"udp\"\nrate = \"50kbit\"\n\
         [[flow]]\nname = \"be\"\n{way}\n[[flow]]\nname = \"lbe\"\nclass = \"lbe\"\n{way}\n\
         receiver = \"ebb\"\n{key}\ncount = {count}\nstart = \"4s\"\n"
    )
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Down,
    Up,
}

/// The router's masquerade takes it.
fn has_nft(name: &str) -> bool {
    let is_there = Command::new("nft").arg("--version").output().is_ok();
    requires(name, "nft", "the program nft", is_there)
}

#[test]
fn many_connections_of_a_rule_are_one_flow_to_others() {
    let name = "many_connections_of_a_rule_are_one_flow_to_others";
    if !is_root(name) || !has_nft(name) {
        return;
    }
    let cases = [
        (Way::Down, 8, 0.93),
        (Way::Down, 16, 0.9),
        (Way::Up, 8, 0.88),
    ];
    // By the kernel backend on the device itself, for comparison.
    let key = match std::env::var_os("EBB_BY_KERNEL") {
        Some(_) => "",
        None => "gateway = true",
    };
    let texts = cases.map(|(way, count, _)| many(way, count, key));
    judge_runs(name, &texts, |ran| {
        let of_case = |(ran, (way, count, least)): (&Ran, (Way, u32, f64))| {
            let (ours, theirs) = (ran.goodput("lbe"), ran.goodput("be"));
            let share = theirs / (ours + theirs);
            let both_mbit = (ours + theirs) / 1e6;
            eprintln!("{count} {way:?}: others keep {share:.3}, {both_mbit:.2} Mbit/s together");
            bound(share, least.., &format!("kept beside {count} {way:?}"))
        };
        ran.iter().zip(cases).flat_map(of_case).collect()
    });
}

/// What both backends may differ by.
const MOST_SHARE: f64 = 0.02;
const MOST_QUEUE_MS: f64 = 2.0;

const SCENARIOS: [(&str, &str); 3] = [
    (
        "constant",
        include_str!("../../experiments/ebb/constant.toml"),
    ),
    ("greedy", include_str!("../../experiments/ebb/greedy.toml")),
    ("home", include_str!("../../experiments/ebb/home.toml")),
];

/// BE's share of what it and LBE have, LBE's of the link, and BE's mean wait in ms.
fn figures(ran: &Ran) -> [f64; 3] {
    let (ours, theirs) = (ran.goodput("lbe"), ran.goodput("be"));
    [
        theirs / (ours + theirs),
        ours / 9_653_333.0,
        ran.be_waiting_ms(),
    ]
}

#[test]
#[ignore = "takes a minute, alone on a machine: cargo test -p ebb-lab --test gateway -- --ignored"]
fn a_gateway_gives_what_the_kernel_backend_gives() {
    let name = "a_gateway_gives_what_the_kernel_backend_gives";
    if !is_root(name) || !has_nft(name) {
        return;
    }
    let texts = SCENARIOS.iter().flat_map(|(_, text)| {
        ["", "gateway = true\n"].map(|by| {
            let ours = format!("name = \"lbe\"\nreceiver = \"ebb\"\n{by}");
            text.replace("name = \"lbe\"\n", &ours)
        })
    });
    judge_runs(name, &texts.collect::<Vec<_>>(), |ran| {
        let pairs = SCENARIOS.iter().zip(ran.chunks_exact(2));
        let of_pair = |((what, _), pair): (&(&str, &str), &[Ran])| {
            let [kernel, gateway] = [&pair[0], &pair[1]].map(figures);
            eprintln!("{what}: by the kernel backend {kernel:.3?}, by the gateway {gateway:.3?}");
            let apart = |place: usize| (kernel[place] - gateway[place]).abs();
            [
                bound(apart(0), ..=MOST_SHARE, &format!("of BE's share, {what}")),
                bound(apart(1), ..=MOST_SHARE, &format!("of the link, {what}")),
                bound(apart(2), ..=MOST_QUEUE_MS, &format!("ms of queue, {what}")),
            ]
            .concat()
        };
        pairs.flat_map(of_pair).collect()
    });
}
