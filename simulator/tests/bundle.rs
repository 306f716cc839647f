// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many connections of one command under `ebb`, beside a greedy one and alone.

use std::path::Path;

use ebb_scenario::{FlowOutcome, Outcome, Scenario};
use ebb_simulator::Options;

const LONGEST_SILENCE_S: f64 = 2.5;

fn beside_greedy(count: u32, closes_window: bool) -> Outcome {
    beside_greedy_by(count, &format!("close_window = {closes_window}"))
}

fn beside_greedy_by(count: u32, tcp: &str) -> Outcome {
    let text = format!(
        "duration = \"70s\"\nbin = \"100ms\"\n[measure]\nalone = [\"25s\", \"40s\"]\n\
         busy = [\"42s\", \"70s\"]\n[bottleneck]\nrate = \"10mbit\"\nrtt = \"50ms\"\n\
         queue = \"1bdp\"\n[tcp]\n{tcp}\n[[flow]]\nname = \"other\"\nstart = \"40s\"\n[[flow]]\n\
         name = \"mine\"\nclass = \"lbe\"\nreceiver = \"ebb\"\ncount = {count}\n\
         stagger = \"200ms\"\n"
    );
    let scenario = Scenario::parse("bundle.toml", &text, Path::new("")).unwrap();
    ebb_simulator::run(&scenario, Options::default()).unwrap()
}

/// Mbit/s of the other one, and of all that are of the bundle.
fn rates(outcome: &Outcome, interval: usize) -> (f64, f64) {
    let rate = |it: &FlowOutcome| it.measures[interval].goodput_bits_per_s / 1e6;
    let rates: Vec<f64> = outcome.flows.iter().map(rate).collect();
    (rates[0], rates[1..].iter().sum())
}

/// The longest time from `from_s` on in which nothing of a connection came.
fn longest_silence_s(outcome: &Outcome, from_s: f64) -> f64 {
    let bin_s = outcome.series.bin_s;
    let mut longest = 0;
    // Of very many there is no series.
    for flow in outcome.series.flows.iter().skip(1) {
        let bins = &flow.goodput_bits_per_s[(from_s / bin_s) as usize..];
        let silences = bins.split(|rate| *rate > 0.0);
        longest = silences.map(<[f64]>::len).max().unwrap_or(0).max(longest);
    }
    longest as f64 * bin_s
}

#[test]
fn many_connections_take_the_link_and_leave_it_as_one() {
    // A host that closes windows, and one whose least window is a clamp's.
    for (closes_window, count, alone_least, other_least) in [
        (true, 4, 9.3, 9.3),
        (true, 8, 9.2, 9.3),
        (true, 32, 9.0, 9.2),
        (true, 64, 9.0, 9.1),
        (false, 8, 9.2, 9.2),
        (false, 64, 9.0, 8.0),
    ] {
        let outcome = beside_greedy(count, closes_window);
        let (_, alone) = rates(&outcome, 0);
        let (other, _) = rates(&outcome, 1);
        let silence_s = longest_silence_s(&outcome, 40.0);
        println!(
            "{count} ({closes_window}): alone {alone:.2}, other {other:.2} Mbit/s, silent {silence_s:.1} s"
        );
        assert!(alone > alone_least, "{count}: {alone}");
        assert!(other > other_least, "{count}: {other}");
        assert!(silence_s < LONGEST_SILENCE_S, "{count}: {silence_s}");
    }
}

/// A buffer of 64 MiB makes units of 1024 bytes. What is left of a window is rounded up to whole
/// ones at each acknowledgement, so with shorter segments none would ever become smaller.
#[test]
fn a_host_with_a_large_buffer_has_windows_that_become_smaller() {
    let segments = "receive_buffer = \"64MiB\"\nmss = 960\nack_every = 1";
    let outcome = beside_greedy_by(1, segments);
    let (_, alone) = rates(&outcome, 0);
    let (other, _) = rates(&outcome, 1);
    println!("alone {alone:.2}, other {other:.2} Mbit/s");
    assert!(alone > 9.2, "{alone}");
    assert!(other > 9.0, "{other}");
}

/// Four that begin one after the other, at a machine whose device waits for more.
fn behind_a_device(connects: &str) -> f64 {
    let text = format!(
        "duration = \"66s\"\n[measure]\nall = [\"6s\", \"end\"]\n[bottleneck]\n\
         rate = \"10mbit\"\nrtt = \"100ms\"\nqueue = 86\n[tcp]\nreceive_offload = \"2ms\"\n\
         [[flow]]\nname = \"mine\"\nclass = \"lbe\"\nreceiver = \"ebb\"\ncount = 4\n\
         stagger = \"2s\"\nconnects = \"{connects}\"\n"
    );
    let scenario = Scenario::parse("offload.toml", &text, Path::new("")).unwrap();
    let outcome = ebb_simulator::run(&scenario, Options::default()).unwrap();
    let rate = |it: &FlowOutcome| it.measures[0].goodput_bits_per_s / 1e6;
    outcome.flows.iter().map(rate).sum()
}

#[test]
fn a_device_that_waits_for_more_does_not_make_them_yield_to_nobody() {
    // Of 9.65: 8.3 and 5.0 before a cut was waited for and a base too low was raised.
    for (connects, least) in [("receiver", 9.2), ("sender", 8.0)] {
        let all = behind_a_device(connects);
        println!("{connects}: {all:.2} Mbit/s");
        assert!(all > least, "{connects}: {all}");
    }
}
