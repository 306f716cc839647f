// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of a transfer.

use ebb_algorithms::ReceiverFlow;
use ebb_kernel::Counters;
use ebb_kernel::trace::{Input, Trace};

use super::*;

#[test]
fn a_trace_holds_every_call_and_gives_the_same_windows_natively() {
    if !requires_root("a_trace_holds_every_call_and_gives_the_same_windows_natively") {
        return;
    }
    let cable = cable();
    let path = std::env::temp_dir().join(format!("ebb-trace-test-{}", std::process::id()));
    let options = AttachOptions {
        trace: Some(path.clone()),
        ..Default::default()
    };
    let attachment = attach(&cable.cgroup, options);
    let transfer = download(&cable, Some(&cable.cgroup), cable.ipv4(Side::Left));
    wait_for_flow(&attachment);
    drop(transfer);
    std::thread::sleep(Duration::from_millis(200));
    let counters = attachment.counters().unwrap();
    attachment.detach().unwrap();
    let trace = Trace::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(counters.trace_lost, 0);
    assert_holds_every_call(&trace, &counters);
    assert_windows_are_equal_natively(&trace);
}

fn assert_holds_every_call(trace: &Trace, counters: &Counters) {
    let count = |wanted: fn(&Input) -> bool| {
        trace
            .records
            .iter()
            .filter(|record| wanted(&record.input))
            .count() as u64
    };
    assert_eq!(count(|input| matches!(input, Input::Start(_))), 1);
    assert_eq!(
        count(|input| matches!(input, Input::Segment(_))),
        counters.aggregates
    );
    assert_eq!(count(|input| matches!(input, Input::Ack(_))), counters.acks);
    let connections = trace.by_connection();
    assert_eq!(connections.len(), 1);
    let orders = connections[0].1.iter().map(|record| record.order);
    assert!(orders.eq(0..trace.records.len() as u32), "none is missing");
}

fn assert_windows_are_equal_natively(trace: &Trace) {
    let (_, records) = trace.by_connection().remove(0);
    let Input::Start(start) = records[0].input else {
        panic!("begins with {:?}", records[0].input);
    };
    let mut flow = ReceiverFlow::new(policy(), &start);
    for record in &records[1..] {
        match &record.input {
            Input::Segment(segment) => flow.on_segment(segment),
            Input::Ack(ack) => flow.on_ack(ack),
            input => panic!("{input:?} of a receiver law"),
        }
        assert_eq!(flow.window_bytes(), record.answer, "call {}", record.order);
    }
}
