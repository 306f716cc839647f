// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Short runs of laws of both backends: what must hold with a margin. The figures themselves need
//! longer runs and more of them: `ebb reproduce ebb`.
mod common;

use common::{Ran, bound, judge_runs, run_all};

/// A link on which everything settles soon.
const LINK: &str = "[bottleneck]\nrate = \"10mbit\"\nrtt = \"40ms\"\nqueue = 40\n";
/// What an application can get of it. *Units:* bit/s.
const MOST: f64 = 9_653_333.0;

const CONSTANT: &str =
    "[[flow]]\nname = \"be\"\nkind = \"constant\"\nrate = \"6mbit\"\nwrite = 2896\n";
const GREEDY: &str = "[[flow]]\nname = \"be\"\n";
const LBE: &str = "[[flow]]\nname = \"lbe\"\nclass = \"lbe\"\n";

fn text(duration: &str, measure: &str, flows: &[&str]) -> String {
    let flows = flows.concat();
    format!("duration = \"{duration}\"\n{LINK}[measure]\nall = {measure}\n{flows}")
}

fn be_share(ran: &Ran) -> f64 {
    let (be, lbe) = (ran.goodput("be"), ran.goodput("lbe"));
    be / (be + lbe)
}

#[test]
fn plain_tcp_and_strict_priority_are_what_they_are_known_to_be() {
    let name = "plain_tcp_and_strict_priority_are_what_they_are_known_to_be";
    let measure = "[\"3s\", \"10s\"]";
    let late = format!("{LBE}start = \"1s\"\n");
    let shared = text("10s", measure, &[CONSTANT, &late]);
    let priority = "queue = { kind = \"strict-priority\", limit = 40 }";
    let texts = [
        shared.clone(),
        shared.replace("queue = 40", priority),
        text("10s", measure, &[CONSTANT]),
    ];
    judge_runs(name, &texts, |ran| {
        let [plain, ideal, alone] = ran else {
            unreachable!("as many as texts")
        };
        let added_ms = |ran: &Ran| ran.be_waiting_ms() - alone.be_waiting_ms();
        let kept = ideal.goodput("be") / alone.goodput("be");
        let used = ideal.goodput("lbe") / (MOST - alone.goodput("be"));
        [
            bound(added_ms(plain), 10.0.., "ms of queue that plain TCP adds"),
            bound(kept, 0.99.., "of alone that BE keeps beside priority"),
            bound(used, 0.95.., "of the spare that is used"),
            // While one packet of LBE is being sent, at the most 1.2 ms, BE waits.
            bound(added_ms(ideal), ..1.5, "ms of queue that priority adds"),
        ]
        .concat()
    });
}

#[test]
fn ebb_uses_an_idle_link_and_yields_to_a_greedy_flow() {
    let name = "ebb_uses_an_idle_link_and_yields_to_a_greedy_flow";
    let ebb = format!("{LBE}receiver = \"ebb\"\n");
    let measure = "[\"7s\", \"20s\"]";
    let texts = [
        text("15s", "[\"5s\", \"15s\"]", &[&ebb]),
        text("20s", measure, &[GREEDY, &ebb, "start = \"2s\"\n"]),
        text("20s", measure, &[GREEDY, LBE, "start = \"2s\"\n"]),
    ];
    judge_runs(name, &texts, |ran| {
        [
            bound(ran[0].goodput("lbe") / MOST, 0.95.., "of the link alone"),
            bound(be_share(&ran[1]), 0.9.., "that BE has beside ebb"),
            bound(be_share(&ran[2]), ..0.85, "that BE has beside plain TCP"),
        ]
        .concat()
    });
}

#[test]
fn the_user_backend_uses_an_idle_link_and_yields_to_a_greedy_flow() {
    let name = "the_user_backend_uses_an_idle_link_and_yields_to_a_greedy_flow";
    let measure = "[\"7s\", \"20s\"]";
    let laws = ["receiver = \"sampled\"\n", "sender = \"paced\"\n"];
    let texts = laws.map(|law| {
        let late = "start = \"2s\"\n";
        [
            text("15s", "[\"5s\", \"15s\"]", &[LBE, law]),
            text("20s", measure, &[GREEDY, LBE, law, late]),
        ]
    });
    judge_runs(name, texts.as_flattened(), |ran| {
        // A pace grows slowly; 60 s are measured in the figures.
        let law = |both: &[Ran], law: &str, least: f64| {
            let [alone, beside] = both else {
                unreachable!("two of each")
            };
            let of = |what: &str| format!("{what} {law}");
            [
                bound(
                    alone.goodput("lbe") / MOST,
                    least..,
                    &of("of the link alone"),
                ),
                bound(be_share(beside), 0.88.., &of("that BE has beside")),
            ]
            .concat()
        };
        [
            law(&ran[..2], "sampled", 0.9),
            law(&ran[2..], "paced", 0.85),
        ]
        .concat()
    });
}

#[test]
fn an_upload_under_tcp_lp_uses_an_idle_link_and_leaves_a_greedy_flow_its_own() {
    let name = "an_upload_under_tcp_lp_uses_an_idle_link_and_leaves_a_greedy_flow_its_own";
    let upload = format!("{LBE}sender = \"tcp-lp\"\n");
    // The greedy flow is over its slow start by then.
    let late = format!("{upload}start = \"8s\"\n");
    let measure = "[\"8s\", \"33s\"]";
    let texts = ["50ms", "100ms"].map(|rtt| {
        [
            text("60s", "[\"0s\", \"60s\"]", &[&upload]),
            text("33s", measure, &[GREEDY, &late]),
            text("33s", measure, &[GREEDY]),
        ]
        .map(|text| text.replace("\"40ms\"\nqueue = 40", &format!("\"{rtt}\"\nqueue = 86")))
    });
    judge_runs(name, texts.as_flattened(), |ran| {
        let of_link = |three: &[Ran]| {
            let used = three[0].goodput("lbe") / MOST;
            let kept = three[1].goodput("be") / three[2].goodput("be");
            eprintln!("alone {used:.3}, BE keeps {kept:.3}");
            [
                bound(used, 0.9.., "of the link alone"),
                bound(kept, 0.96.., "of alone that BE keeps"),
            ]
            .concat()
        };
        ran.chunks(3).flat_map(of_link).collect()
    });
}

#[test]
fn a_policy_limits_nothing_until_it_is_switched_on() {
    let name = "a_policy_limits_nothing_until_it_is_switched_on";
    let texts = ["ebb", "sampled"].map(|law| {
        let switched = format!("{LBE}receiver = \"{law}\"\nduring = [\"8s\", \"24s\"]\n");
        let both = "{ before = [\"1s\", \"8s\"], after = [\"16s\", \"24s\"] }";
        let text = text("24s", "NOT", &[GREEDY, &switched]);
        text.replace("[measure]\nall = NOT\n", "")
            .replace("[bottleneck]", &format!("measure = {both}\n[bottleneck]"))
    });
    judge_runs(name, &texts, |ran| {
        let of_one = |ran: &Ran| {
            let [before, after] = [0, 1].map(|place| ran.goodput_in("lbe", place));
            [
                bound(before, 1e6.., "bit/s before"),
                bound(after / before, ..0.5, "of that after the switch"),
            ]
            .concat()
        };
        ran.iter().flat_map(of_one).collect()
    });
}

#[test]
fn programs_are_not_under_the_user_backend_here() {
    let name = "programs_are_not_under_the_user_backend_here";
    if !common::is_root(name) {
        return;
    }
    let lines = format!("{LBE}receiver = \"sampled\"\nprograms = true\n");
    let error = run_all(&[text("1s", "[\"0s\", \"1s\"]", &[&lines])]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("`lbe`") && error.contains("`sampled`"),
        "{error}"
    );
    assert!(error.contains("`programs`"), "{error}");
}
