// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab's own flows: each kind of them in both directions, and what is wrong with a flow.
mod common;

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use common::{Ran, bound, judge_runs};
use ebb_lab::emulator::{CLIENT_IPV4, PathSpec, SERVER_IPV4, Testbed};
use ebb_lab::endpoint::Endpoints;
use ebb_lab::namespace::NamespaceHandle;
use ebb_lab::traffic::{FlowKind, FlowSpec, PlacedFlow, PlacedFlows};
use ebb_scenario::ApplicationMeasure;

/// Bursts are sent from 1 to 1.5 s and from 2 to 2.5 s.
const KINDS: &str = r#"
duration = "3200ms"
[bottleneck]
rate = "10mbit"
rtt = "40ms"
queue = 40
[measure]
all = ["0s", "end"]
first = ["1s", "1600ms"]
pause = ["1700ms", "2s"]
second = ["2s", "2600ms"]
after = ["2700ms", "3s"]
[[flow]]
name = "down"
kind = "fixed"
size = "300kB"
[[flow]]
name = "up"
kind = "fixed"
size = "300kB"
from = "right"
to = "left"
[[flow]]
name = "bursts"
kind = "on-off"
period = "500ms"
start = "1s"
[[flow]]
name = "call"
kind = "udp"
rate = "91200bit"
packet = 228
stop = "2s"
[[flow]]
name = "call-up"
kind = "udp"
rate = "91200bit"
packet = 228
from = "right"
to = "left"
"#;

#[test]
fn every_kind_of_flow_arrives_whole_in_both_directions() {
    let name = "every_kind_of_flow_arrives_whole_in_both_directions";
    judge_runs(name, &[KINDS.to_owned()], |ran| {
        let ran = &ran[0];
        let mut wrong = [transfers(ran), bursts(ran)].concat();
        // 50 packets a second, for 2 s and for all of the run.
        wrong.extend(call(ran, "call", 100));
        wrong.extend(call(ran, "call-up", 160));
        wrong
    });
}

fn transfers(ran: &Ran) -> Vec<String> {
    let flows = ran.0.flows[..2].iter();
    let whole = |delivered_bytes| delivered_bytes == 300_000;
    let broken = flows
        .filter(|flow| flow.completion_s.is_none() || !whole(flow.measures[0].delivered_bytes));
    broken.map(|flow| format!("{flow:?}")).collect()
}

fn bursts(ran: &Ran) -> Vec<String> {
    let goodput = |place| ran.goodput_in("bursts", place);
    [
        bound(goodput(1), 1e6.., "bit/s in the first burst"),
        bound(goodput(2), ..=0.0, "bit/s in the pause"),
        bound(goodput(3), 1e6.., "bit/s in the second burst"),
        bound(goodput(4), ..=0.0, "bit/s after it"),
    ]
    .concat()
}

fn call(ran: &Ran, name: &str, sent_pkts: u64) -> Vec<String> {
    let flow = ran.0.flows.iter().find(|flow| flow.name == name).unwrap();
    let Some(ApplicationMeasure::Udp {
        delay_ms,
        lost_pkts,
    }) = &flow.measures[0].application
    else {
        panic!("{flow:?}");
    };
    // However slow the machine is, nothing comes before its time: 20 ms of delay and 0.18 ms of
    // transmission.
    assert!(delay_ms.min > 20.0, "{delay_ms:?}");
    let sent = delay_ms.count + lost_pkts;
    assert!(sent <= sent_pkts, "{sent} packets of {name}");
    [
        bound(sent as f64, sent_pkts as f64.., "packets sent"),
        bound(delay_ms.count as f64, 95.0.., "packets that arrived"),
    ]
    .concat()
}

fn file_of(namespace: &NamespaceHandle) -> PathBuf {
    let (pid, fd) = (std::process::id(), namespace.as_fd().as_raw_fd());
    format!("/proc/{pid}/fd/{fd}").into()
}

#[test]
fn a_congestion_control_that_does_not_exist_is_named() {
    if !common::is_root("a_congestion_control_that_does_not_exist_is_named") {
        return;
    }
    let testbed = Testbed::start(vec![PathSpec::default()]).unwrap();
    let path = testbed.path(0);
    let spec = FlowSpec::new("be", FlowKind::Greedy);
    let flow = PlacedFlow {
        spec: spec.with_congestion_control("rubic"),
        client_namespace: file_of(path.client()),
        server_namespace: file_of(path.server()),
        client_address: CLIENT_IPV4.into(),
        server_address: SERVER_IPV4.into(),
        port: 5_201,
        receiver_cgroup: None,
        sender_cgroup: None,
        end_s: 1.0,
    };
    let placed = PlacedFlows {
        flows: vec![flow],
        bin_us: 10_000,
    };
    let error = Endpoints::prepare(&placed).unwrap_err().to_string();
    assert!(error.contains("`be`") && error.contains("rubic"), "{error}");
}
