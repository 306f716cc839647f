// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The laws of the user backend, `sampled` and `paced`, in closed loop with the simulator's TCP,
//! whose receivers estimate the round-trip time as Linux does. The bounds are those of the
//! lab's figures `user` and `user-upload`; here every run is the same.

use std::path::Path;

use ebb_scenario::{Outcome, Scenario};

/// 10 Mbit/s, less headers.
const LINK: f64 = 9.6533e6;

/// The home link with these flows, measured from 5 s on.
fn run(flows: &str) -> Outcome {
    run_on("rate = \"10mbit\"", flows)
}

fn run_on(link: &str, flows: &str) -> Outcome {
    let text = format!(
        "title = \"counters\"\nduration = \"65s\"\n[measure]\nall = [\"5s\", \"65s\"]\n\
         settled = [\"25s\", \"65s\"]\n\
         [bottleneck]\n{link}\nrtt = \"100ms\"\nqueue = 86\n\
         [bottleneck.back]\nrate = \"10mbit\"\nqueue = 86\n{flows}"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scenario = Scenario::parse("counters.toml", &text, folder).unwrap();
    ebb_simulator::run(&scenario, Default::default()).unwrap()
}

const DOWNLOAD: &str = "[[flow]]\nname = \"mine\"\nclass = \"lbe\"\nreceiver = \"sampled\"\n";
/// Linux paces segments in pairs: a burst is a millisecond at the pace, two at the least.
const UPLOAD: &str =
    "[[flow]]\nname = \"mine\"\nclass = \"lbe\"\nsender = \"paced\"\ntcp.tso = 44\n";
const CONSTANT: &str = "[[flow]]\nname = \"be\"\nkind = \"constant\"\nrate = \"6mbit\"\n";
const GREEDY: &str = "[[flow]]\nname = \"be\"\n";

fn goodput(outcome: &Outcome, flow: &str, interval: usize) -> f64 {
    let flow = outcome.flows.iter().find(|it| it.name == flow).unwrap();
    flow.measures[interval].goodput_bits_per_s
}

fn be_share(outcome: &Outcome) -> f64 {
    let (be, mine) = (goodput(outcome, "be", 0), goodput(outcome, "mine", 0));
    be / (be + mine)
}

fn queue_ms(outcome: &Outcome) -> f64 {
    outcome.links[0].measures[0].queue_delay_ms.mean
}

#[track_caller]
fn at_least(value: f64, bound: f64) {
    assert!(value >= bound, "{value:.3}, not {bound}");
}

#[test]
fn a_download_alone_fills_the_link_with_little_queue() {
    let alone = run(DOWNLOAD);
    at_least(goodput(&alone, "mine", 0) / LINK, 0.97);
    at_least(goodput(&alone, "mine", 1) / LINK, 0.99);
    at_least(8.0, queue_ms(&alone));
}

#[test]
fn a_download_leaves_a_constant_flow_alone_and_takes_the_rest() {
    let both = run(&format!("{CONSTANT}{DOWNLOAD}start = \"3s\"\n"));
    at_least(goodput(&both, "be", 0) / 6e6, 0.995);
    at_least(goodput(&both, "mine", 0) / (LINK - 6e6), 0.93);
    at_least(12.0, queue_ms(&both));
}

#[test]
fn a_download_yields_to_a_greedy_flow_whoever_was_first() {
    let second = format!("{GREEDY}{DOWNLOAD}start = \"3s\"\n");
    at_least(be_share(&run(&second)), 0.975);
    let first = format!("{GREEDY}start = \"5s\"\n{DOWNLOAD}");
    at_least(be_share(&run(&first)), 0.97);
    let against_bbr = format!("{GREEDY}{DOWNLOAD}sender = \"bbr\"\nstart = \"3s\"\n");
    at_least(be_share(&run(&against_bbr)), 0.98);
}

const ON_OFF: &str =
    "[[flow]]\nname = \"be\"\nkind = \"on-off\"\nperiod = \"3s\"\nstart = \"5s\"\n";

#[test]
fn a_download_yields_to_bursts_and_uses_the_pauses() {
    let (alone, both) = (run(ON_OFF), run(&format!("{ON_OFF}{DOWNLOAD}")));
    at_least(goodput(&both, "be", 0) / goodput(&alone, "be", 0), 0.95);
    at_least(goodput(&both, "mine", 0) / LINK, 0.3);
}

/// As a busy machine or a radio link does: 25 ms without a packet, then all at once.
fn link_with_standstills() -> String {
    let stands = |at_us: u64| (2_000_000..).contains(&at_us) && at_us % 3_100_000 < 25_000;
    let times = (0..54_167_u64).map(|packet| {
        let at_us = packet * 1_200;
        let at_us = if stands(at_us) {
            at_us / 3_100_000 * 3_100_000 + 25_000
        } else {
            at_us
        };
        format!("{}\n", at_us / 1_000)
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standstills.trace");
    std::fs::write(path, times.collect::<String>()).unwrap();
    "trace = \"standstills.trace\"".to_owned()
}

#[test]
fn a_download_does_not_take_a_standstill_for_capacity_or_for_others() {
    let link = link_with_standstills();
    at_least(goodput(&run_on(&link, DOWNLOAD), "mine", 0) / LINK, 0.97);
    let alone = run_on(&link, ON_OFF);
    let both = run_on(&link, &format!("{ON_OFF}{DOWNLOAD}"));
    at_least(goodput(&both, "be", 0) / goodput(&alone, "be", 0), 0.94);
    at_least(goodput(&both, "mine", 0) / LINK, 0.3);
}

/// On an empty link Linux's estimate never rises without timestamps: the feedback time serves.
#[test]
fn a_download_without_timestamps_yields_as_well() {
    let words = format!("{GREEDY}{DOWNLOAD}start = \"3s\"\n");
    let words = words.replace("receiver", "tcp.timestamps = false\nreceiver");
    at_least(be_share(&run(&words)), 0.9);
}

#[test]
fn an_upload_alone_fills_the_link() {
    let alone = run(UPLOAD);
    at_least(goodput(&alone, "mine", 0) / LINK, 0.93);
}

#[test]
fn an_upload_leaves_a_constant_flow_alone_and_takes_the_rest() {
    let both = run(&format!("{CONSTANT}{UPLOAD}start = \"3s\"\n"));
    at_least(goodput(&both, "be", 0) / 6e6, 0.99);
    at_least(goodput(&both, "mine", 0) / (LINK - 6e6), 0.9);
    at_least(12.0, queue_ms(&both));
}

/// It begins anywhere in the other's sawtooth.
#[test]
fn an_upload_yields_to_a_greedy_flow_whoever_was_first() {
    for start_s in ["3", "3.7", "4.5", "5.5", "7"] {
        let second = format!("{GREEDY}{UPLOAD}start = \"{start_s}s\"\n");
        at_least(be_share(&run(&second)), 0.96);
    }
    let first = format!("{GREEDY}start = \"5s\"\n{UPLOAD}");
    at_least(be_share(&run(&first)), 0.96);
}

#[test]
fn an_upload_whose_segments_leave_alone_yields_as_well_and_takes_the_rest() {
    let lone = UPLOAD.replace("tcp.tso = 44\n", "");
    let alone = run(&lone);
    at_least(goodput(&alone, "mine", 0) / LINK, 0.93);
    let constant = run(&format!("{CONSTANT}{lone}start = \"3s\"\n"));
    at_least(goodput(&constant, "be", 0) / 6e6, 0.99);
    at_least(goodput(&constant, "mine", 0) / (LINK - 6e6), 0.9);
    let greedy = format!("{GREEDY}{lone}start = \"3s\"\n");
    at_least(be_share(&run(&greedy)), 0.96);
}
