// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Downloads that a router holds: all of a rule are one flow to others, as by the kernel backend.
mod common;

use std::process::Command;

use common::{Ran, bound, is_root, judge_runs};
use ebb_host::testing::requires;

/// A greedy flow of another device, and 4 s later many that yield: what devices get, or what they
/// send.
fn many(way: Way, count: u32, key: &str) -> String {
    let way = match way {
        Way::Down => "connects = \"receiver\"",
        Way::Up => "from = \"right\"\nto = \"left\"",
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
