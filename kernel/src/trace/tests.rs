// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;

#[test]
fn a_trace_written_is_read_back() {
    let policy = Policy::default();
    let path = std::env::temp_dir().join(format!("ebb-trace-{}", std::process::id()));
    let segment = Segment {
        now_us: 1 << 40,
        seq: 7,
        can_delay_acks: 1,
        is_ce: 1,
        ..Default::default()
    };
    let record = |order, input| Record {
        cookie: u64::MAX - 1,
        order,
        answer: 14600,
        input,
    };
    let records = vec![
        record(0, Input::Start(Start::default())),
        record(1, Input::Segment(segment)),
        record(2, Input::Ack(Ack::default())),
    ];
    let mut writer = TraceWriter::create(&path, &policy).unwrap();
    for record in &records {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap();
    let trace = Trace::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(trace.records, records);
    assert_eq!(trace.params, policy.values());
    assert_eq!(trace.law.number, policy.law().number);
}

#[test]
fn a_trace_of_a_sender_law_is_read_back() {
    let policy: Policy = "reno".parse().unwrap();
    let ack = SenderAck {
        now_us: 1 << 40,
        local_tick_us: 1000,
        phase: 3,
        ..Default::default()
    };
    let event = SenderEvent {
        idle_us: 7,
        is_ecn: 1,
        ..Default::default()
    };
    let inputs = [
        Input::SenderStart(SenderStart::default()),
        Input::SenderAck(ack),
        Input::Loss(event),
        Input::Timeout(event),
        Input::Undo(event),
        Input::Idle(event),
    ];
    let mut bytes = header(&policy).to_vec();
    let records = inputs.map(|input| Record {
        cookie: 3,
        order: 9,
        answer: 10,
        input,
    });
    bytes.extend(records.iter().flat_map(Record::to_bytes));
    assert_eq!(Trace::parse(&bytes).unwrap().records, records);
}

#[test]
fn a_file_that_is_no_trace_is_refused_by_name() {
    let error = Trace::read("/proc/self/cmdline").unwrap_err().to_string();
    assert!(
        error.contains("/proc/self/cmdline") && error.contains("EBBTRACE"),
        "{error}"
    );
}

#[test]
fn a_cut_off_record_is_refused() {
    let mut bytes = header(&Policy::default()).to_vec();
    bytes.extend([0; record_bytes(Side::Receiver) - 1]);
    assert!(
        Trace::parse(&bytes)
            .unwrap_err()
            .to_string()
            .contains("cut off")
    );
}
