// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario says of its flows holds on real sockets.
mod common;

use std::cell::Cell;
use std::path::Path;

use ebb_lab::engine::{Job, run};
use ebb_lab::judging::{Attempt, judge};
use ebb_scenario::{Outcome, Scenario};

/// The buffer is less than path and queue could hold.
const BUFFER_KBYTES: u64 = 200;
const BUFFERED: &str = r#"
duration = "4s"
bin = "100ms"
flow_series = true
tcp = { receive_buffer = "200kB" }
[bottleneck]
rate = "10mbit"
rtt = "100ms"
queue = 400
[[flow]]
name = "bounded"
"#;

/// 100 kB wait for 0.8 s at most; what a kernel would take of a greedy flow is more.
const STOPPED: &str = r#"
duration = "6s"
[bottleneck]
rate = "1mbit"
rtt = "20ms"
queue = 10
[measure]
before = ["0s", "2s"]
after = ["3500ms", "6s"]
[[flow]]
name = "stopped"
stop = "2s"
"#;

/// All of the one flow is sent within milliseconds.
const COMPLETE: &str = r#"
duration = "4s"
[bottleneck]
rate = "1mbit"
rtt = "20ms"
queue = 10
[[flow]]
name = "complete"
kind = "fixed"
size = 1448
"#;

/// A round trip until the connection is there, and half of one for the segment.
const SENT: &str = r#"
duration = "3s"
[bottleneck]
rate = "10mbit"
rtt = "200ms"
queue = 10
[[flow]]
name = "segment"
kind = "fixed"
size = 1448
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse("stated.toml", text, Path::new("")).unwrap()
}

fn holds(name: &str, text: &str, wrong: impl Fn(&Outcome) -> Vec<String>) {
    if !common::is_root(name) {
        return;
    }
    let scenario = scenario(text);
    judge(name, || {
        let job = Job::new(&scenario, 0);
        let lab = run(&[job], 1, 0).unwrap().remove(0);
        Attempt {
            wrong: wrong(&lab.outcome),
            disturbed: lab.is_disturbed.then_some(lab.emulator),
        }
    });
}

#[test]
fn a_receive_buffer_holds_the_payload_that_is_stated() {
    let name = "a_receive_buffer_holds_the_payload_that_is_stated";
    holds(name, BUFFERED, |outcome| {
        let windows = outcome.series.flows[0].rwnd_bytes.iter().flatten();
        let most_bytes = windows.max().copied().unwrap_or(0);
        // The kernel counts in memory and rounds by the window's scale.
        let is_stated = (BUFFER_KBYTES * 950..=BUFFER_KBYTES * 1_050).contains(&most_bytes);
        let problem = format!("{most_bytes} bytes were advertised");
        Vec::from_iter((!is_stated).then_some(problem))
    });
}

#[test]
fn a_greedy_flow_ends_with_its_stop() {
    holds("a_greedy_flow_ends_with_its_stop", STOPPED, |outcome| {
        let measures = &outcome.flows[0].measures;
        let mut wrong = Vec::new();
        if measures[0].delivered_bytes < 100_000 {
            wrong.push(format!("before its stop it sent {:?}", measures[0]));
        }
        if measures[1].delivered_bytes > 0 {
            wrong.push(format!("after its stop it sent {:?}", measures[1]));
        }
        wrong
    });
}

#[test]
fn the_end_that_is_said_connects() {
    // Half a round trip more: who is asked answers when the third segment of the handshake is there.
    for (end, expected_s) in [("sender", 0.3), ("receiver", 0.4)] {
        let text = format!("{SENT}connects = \"{end}\"");
        holds("the_end_that_is_said_connects", &text, |outcome| {
            let completion_s = outcome.flows[0].completion_s.unwrap_or(f64::INFINITY);
            let is_there = (completion_s - expected_s).abs() < 0.04;
            let problem = format!("the {end} connects: {completion_s} s, not {expected_s} s");
            Vec::from_iter((!is_there).then_some(problem))
        });
    }
}

#[test]
fn a_flow_that_has_sent_all_leaves_the_machine_alone() {
    let name = "a_flow_that_has_sent_all_leaves_the_machine_alone";
    let before_s = Cell::new(children_cpu_s());
    holds(name, COMPLETE, |outcome| {
        // Of the endpoints' process, which has ended; those of other tests need little.
        let now_s = children_cpu_s();
        let used_s = now_s - before_s.replace(now_s);
        let problem = format!("4 s took {used_s:.1} s of a processor");
        let not_sent = format!("{:?}", outcome.flows[0]);
        [
            (used_s > 1.5).then_some(problem),
            outcome.flows[0].completion_s.is_none().then_some(not_sent),
        ]
        .into_iter()
        .flatten()
        .collect()
    });
}

/// Processor time of the processes that were waited for. *Units:* s.
fn children_cpu_s() -> f64 {
    // SAFETY: rusage is plain data for which zero bytes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes `usage`, which outlives the call.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    assert_eq!(result, 0);
    let times = [usage.ru_utime, usage.ru_stime];
    let seconds = times.map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6);
    seconds.iter().sum()
}
