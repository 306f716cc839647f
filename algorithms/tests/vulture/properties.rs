// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds for every sequence of segments, sensible or not.

use crate::connection::{Connection, MSS, ORIGIN_US, as_printed};
use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start, law};
use proptest::prelude::*;

const LARGEST_WINDOW: u32 = 0x3fff_ffff;
const NO_LIMIT: u32 = 0x7fff_ffff;

#[derive(Debug, Clone)]
enum Call {
    Segment(Segment),
    Ack(Ack),
}

/// Any bytes at all in every field; only the flags are flags.
fn any_call() -> impl Strategy<Value = Call> {
    let segment = any_bytes(size_of::<Segment>()).prop_map(|bytes| {
        let mut segment = Segment::from_bytes(&bytes);
        segment.has_timestamps &= 1;
        segment.is_ce &= 1;
        segment.is_observing &= 1;
        Call::Segment(segment)
    });
    let ack = any_bytes(size_of::<Ack>()).prop_map(|bytes| {
        let mut ack = Ack::from_bytes(&bytes);
        ack.has_timestamps &= 1;
        ack.is_observing &= 1;
        Call::Ack(ack)
    });
    prop_oneof![segment, ack]
}

fn any_bytes(count: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), count)
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let params = &law("vulture").unwrap().params;
    let ranges: Vec<_> = params.iter().map(|param| param.min..=param.max).collect();
    ranges.prop_map(|values| {
        let params = &law("vulture").unwrap().params;
        let settings: Vec<String> = params
            .iter()
            .zip(values)
            .map(|(param, value)| format!("{}={value}", param.name))
            .collect();
        format!("vulture:{}", settings.join(",")).parse().unwrap()
    })
}

proptest! {
    #[test]
    fn no_input_breaks_the_bounds_of_the_window(
        policies in prop::collection::vec(any_policy(), 1..4),
        calls in prop::collection::vec(any_call(), 1..200),
        mss_bytes in any::<u32>(),
    ) {
        let start = Start { mss_bytes, has_timestamps: 1, ..Start::default() };
        let mut flow = ReceiverFlow::new(policies[0].clone(), &start);
        for (number, call) in calls.iter().enumerate() {
            flow.set_policy(policies[number % policies.len()].clone());
            match call {
                Call::Segment(segment) => flow.on_segment(segment),
                Call::Ack(ack) => flow.on_ack(ack),
            }
            let window = flow.window_bytes();
            prop_assert!(window >= 64, "{window}");
            prop_assert!(window <= LARGEST_WINDOW || window == NO_LIMIT, "{window}");
        }
    }
}

/// A sender that obeys the window over a path with a fixed round-trip time.
#[derive(Debug, Clone)]
struct Path {
    rtt_ms: u64,
    /// For each packet: lost, and further delay in ms.
    fates: Vec<(bool, u64)>,
    seq_offset: u32,
    sender_offset: u32,
    local_offset: u32,
    drift_ppm: u64,
}

fn any_path() -> impl Strategy<Value = Path> {
    let fates = prop::collection::vec((prop::bool::weighted(0.05), 0..8_u64), 500..1500);
    (5..300_u64, fates).prop_map(|(rtt_ms, fates)| Path {
        rtt_ms,
        fates,
        seq_offset: 0,
        sender_offset: 0,
        local_offset: 1_000_000,
        drift_ppm: 0,
    })
}

/// Windows after each acknowledgement, and the times at which halvings began.
fn run(path: &Path, policy: Policy) -> (Vec<u32>, Vec<u64>) {
    let mut connection = Connection::starting_at(policy, path.seq_offset);
    let mut windows = Vec::new();
    let mut halvings = Vec::new();
    let mut rcv_nxt = path.seq_offset;
    let mut arrived_us = 0;
    for (packet, (is_lost, extra_ms)) in path.fates.iter().enumerate() {
        let sent_us = packet as u64 * 3000;
        if *is_lost {
            continue;
        }
        arrived_us = (sent_us + path.rtt_ms * 500 + extra_ms * 1000).max(arrived_us);
        let segment = path.segment(packet as u32, sent_us, arrived_us, rcv_nxt);
        connection.flow.on_segment(&segment);
        // Losses are repaired at once: what counts is the hole that they leave.
        rcv_nxt = segment.seq.wrapping_add(MSS);
        connection.flow.on_ack(&Ack {
            now_us: segment.now_us,
            ack_seq: rcv_nxt,
            local_ts: segment.local_ts,
            local_tick_us: 1000,
            right_edge_seq: rcv_nxt.wrapping_add(100 * MSS),
            mss_bytes: MSS,
            has_timestamps: 1,
            ..Ack::default()
        });
        windows.push(connection.window());
        let halved_us = connection.halved_at_us();
        if halved_us != 0 && halvings.last() != Some(&halved_us) {
            halvings.push(halved_us);
        }
    }
    (windows, halvings)
}

impl Path {
    fn segment(&self, packet: u32, sent_us: u64, arrived_us: u64, rcv_nxt: u32) -> Segment {
        let echo_us = sent_us.saturating_sub(self.rtt_ms * 500);
        let sender_us = sent_us + sent_us * self.drift_ppm / 1_000_000;
        let ticks = |time_us: u64| (time_us / 1000) as u32;
        Segment {
            now_us: ORIGIN_US + arrived_us,
            seq: self.seq_offset.wrapping_add(packet * MSS),
            payload_bytes: MSS,
            segments: 1,
            tsval: self.sender_offset.wrapping_add(ticks(sender_us)),
            tsecr: self.local_offset.wrapping_add(ticks(echo_us)),
            local_ts: self.local_offset.wrapping_add(ticks(arrived_us)),
            local_tick_us: 1000,
            rcv_nxt,
            right_edge_seq: rcv_nxt.wrapping_add(100 * MSS),
            mss_bytes: MSS,
            has_timestamps: 1,
            ..Segment::default()
        }
    }
}

proptest! {
    #[test]
    fn at_most_one_halving_begins_in_a_round_trip(path in any_path()) {
        let (windows, halvings) = run(&path, as_printed("loss_guard=1"));
        prop_assert!(windows.iter().all(|window| *window >= 2 * MSS));
        for pair in halvings.windows(2) {
            // The echo is cut to milliseconds: a round trip less one of them.
            prop_assert!(pair[1] - pair[0] + 1000 >= path.rtt_ms * 1000, "{pair:?}");
        }
    }

    #[test]
    fn clocks_and_sequence_numbers_may_wrap(path in any_path(), offset in 0..3_000_u32) {
        let wrapping = Path {
            seq_offset: 0_u32.wrapping_sub(offset * MSS),
            sender_offset: 0_u32.wrapping_sub(offset),
            local_offset: 0_u32.wrapping_sub(offset),
            ..path.clone()
        };
        for policy in ["vulture", "vulture:pause_packets=3", "vulture:pause_packets=0"] {
            let policy: Policy = policy.parse().unwrap();
            let (plain, _) = run(&path, policy.clone());
            let (wrapped, _) = run(&wrapping, policy);
            prop_assert_eq!(plain.len(), wrapped.len());
            prop_assert_eq!(plain.last(), wrapped.last());
        }
    }
}

#[test]
fn an_hour_of_drift_changes_nothing() {
    let path = |drift_ppm| Path {
        rtt_ms: 100,
        fates: vec![(false, 0); 1_200_000],
        seq_offset: 0,
        sender_offset: 0_u32.wrapping_sub(1_800_000),
        local_offset: 0_u32.wrapping_sub(2_000_000),
        drift_ppm,
    };
    let policy: Policy = "vulture:growth_limit_x1024=2048".parse().unwrap();
    let (steady, halvings) = run(&path(0), policy.clone());
    let (drifting, drifting_halvings) = run(&path(100), policy);
    assert!(halvings.is_empty(), "{halvings:?}");
    assert!(drifting_halvings.is_empty(), "{drifting_halvings:?}");
    let (steady, drifting) = (*steady.last().unwrap(), *drifting.last().unwrap());
    assert!(
        steady.abs_diff(drifting) <= 4 * MSS,
        "{steady} and {drifting}"
    );
}

#[test]
fn silence_is_not_congestion() {
    let mut connection = Connection::new("vulture".parse().unwrap());
    let mut at_ms = 0;
    for silence_ms in [0, 5_000, 600_000, 3_600_000] {
        at_ms += silence_ms;
        for _ in 0..200 {
            at_ms += 5;
            let echo = crate::connection::ORIGIN_TS
                .wrapping_add(at_ms)
                .wrapping_sub(100);
            connection.segment(at_ms, u64::from(at_ms + 50) * 1000, echo);
            let next_seq = connection.next_seq;
            connection.ack(u64::from(at_ms + 50) * 1000, next_seq);
        }
        assert!(connection.window() >= 10 * MSS, "after {silence_ms} ms");
    }
}
