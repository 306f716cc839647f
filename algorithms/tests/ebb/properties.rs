// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What must hold for the `ebb` law whatever arrives. The debug build of the laws traps on
//! undefined behaviour, so that this is a search for it as well.

use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};
use proptest::prelude::*;

/// What happens to a connection: time passes, then a segment or an acknowledgement.
#[derive(Debug, Clone)]
pub enum Step {
    Segment(Segment, u64),
    Ack(Ack, u64),
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let numbers = (
        any::<[u32; 5]>(),
        0u32..200_000,
        0u32..70_000,
        0u32..2_000_000,
    );
    let flags = (
        0u8..2,
        0u8..2,
        0u8..2,
        prop_oneof![Just(0u32), Just(1), Just(1000), Just(10_000)],
    );
    (numbers, flags, 1u32..64).prop_map(|((words, payload, mss, rtt), flags, segments)| Segment {
        seq: words[0],
        payload_bytes: payload,
        segments,
        tsval: words[1],
        tsecr: words[2],
        local_ts: words[3],
        local_tick_us: flags.3,
        rcv_nxt: words[4],
        right_edge_seq: words[0].wrapping_add(words[4] >> 12),
        mss_bytes: mss,
        kernel_rtt_us: rtt,
        has_timestamps: flags.0,
        is_ce: flags.1,
        is_observing: flags.2,
        ..Segment::default()
    })
}

pub fn any_step() -> impl Strategy<Value = Step> {
    let time_us = prop_oneof![0u64..5_000, 0u64..5_000_000, 0u64..5_000_000_000_000];
    let ack = (any::<[u32; 3]>(), 0u8..2).prop_map(|(words, is_observing)| Ack {
        ack_seq: words[0],
        local_ts: words[1],
        right_edge_seq: words[2],
        is_observing,
        ..Ack::default()
    });
    prop_oneof![
        (any_segment(), time_us.clone()).prop_map(|(segment, us)| Step::Segment(segment, us)),
        (ack, time_us).prop_map(|(ack, us)| Step::Ack(ack, us)),
    ]
}

pub fn any_start() -> impl Strategy<Value = Start> {
    (any::<u32>(), 0u32..100_000, any::<u32>(), 0u32..2).prop_map(
        |(time, mss, tsval, timestamps)| Start {
            now_us: u64::from(time),
            mss_bytes: mss,
            rcv_nxt: 1,
            has_timestamps: timestamps,
            tsval,
        },
    )
}

proptest! {
    #[test]
    fn the_window_stays_in_bounds_whatever_arrives(
        start in any_start(),
        steps in proptest::collection::vec(any_step(), 1..300),
    ) {
        let mut now_us = start.now_us;
        let mut flow = ReceiverFlow::new(Policy::default(), &start);
        for step in steps {
            match step {
                Step::Segment(segment, us) => {
                    now_us += us;
                    flow.on_segment(&Segment { now_us, ..segment });
                }
                Step::Ack(ack, us) => {
                    now_us += us;
                    flow.on_ack(&Ack { now_us, ..ack });
                }
            }
            prop_assert!((64..1 << 30).contains(&flow.window_bytes()), "{}", flow.window_bytes());
        }
    }

    #[test]
    fn the_same_input_gives_the_same_state(
        start in any_start(),
        segments in proptest::collection::vec(any_segment(), 1..100),
    ) {
        let run = || {
            let mut flow = ReceiverFlow::new(Policy::default(), &start);
            for (index, segment) in segments.iter().enumerate() {
                let now_us = start.now_us + index as u64 * 700;
                flow.on_segment(&Segment { now_us, ..*segment });
            }
            flow.state_bytes().to_vec()
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn observing_follows_what_arrives_and_acts_from_there() {
    let start = Start {
        now_us: 1_000_000,
        mss_bytes: 1000,
        rcv_nxt: 0,
        ..Start::default()
    };
    let mut flow = ReceiverFlow::new(Policy::default(), &start);
    let mut segment = Segment {
        payload_bytes: 1000,
        segments: 1,
        mss_bytes: 1000,
        local_tick_us: 1000,
        has_timestamps: 1,
        is_observing: 1,
        ..Segment::default()
    };
    // 20 segments arrive in each round trip of 100 ms.
    for index in 0..100u32 {
        segment.now_us = start.now_us + u64::from(index) * 5000;
        segment.seq = index * 1000;
        segment.rcv_nxt = segment.seq;
        segment.right_edge_seq = segment.seq + 500_000;
        segment.local_ts = 10_000 + index * 5;
        segment.tsecr = segment.local_ts - 100;
        segment.tsval = 77_000 + index * 5;
        flow.on_segment(&segment);
    }
    // A round trip ends with the first echo of a later tick: 21 segments.
    assert!(
        (20_000..=22_000).contains(&flow.window_bytes()),
        "{}",
        flow.window_bytes()
    );
}
