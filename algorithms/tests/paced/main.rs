// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `paced` told by hand; in closed loop it is in the simulator's tests.

use ebb_algorithms::{Policy, SenderAck, SenderFlow, SenderStart};

const MSS: u32 = 1_448;

#[test]
fn paced_answers_a_pace_for_its_window_in_each_round_trip() {
    let start = SenderStart {
        now_us: 1_000_000,
        mss_bytes: MSS,
        cwnd_pkts: 10,
        local_tick_us: 1_000,
        has_timestamps: 0,
    };
    let mut flow = SenderFlow::new(Policy::sender("paced").unwrap(), &start);
    let ack = SenderAck {
        now_us: 1_010_000,
        acked_pkts: 2,
        acked_bytes: 2 * MSS,
        ack_seq: 2 * MSS,
        snd_nxt: 10 * MSS,
        cwnd_pkts: 10,
        srtt_us: 100_000,
        mss_bytes: MSS,
        ..SenderAck::default()
    };
    flow.on_ack(&ack);
    // 10 segments in 100 ms.
    assert_eq!(flow.window().pacing_bytes_per_s, u64::from(10 * MSS) * 10);
    assert_eq!(flow.window().cwnd_pkts, 24);
}

/// The window of `paced`, by its pace: two segments are acknowledged every 10 ms, a queue ends
/// its start after half a second, and for three more this is the least round trip.
fn paced_window_bytes(least_us: u32) -> u64 {
    let start = SenderStart {
        now_us: 1_000_000,
        mss_bytes: MSS,
        cwnd_pkts: 10,
        local_tick_us: 1_000,
        has_timestamps: 0,
    };
    let mut flow = SenderFlow::new(Policy::sender("paced").unwrap(), &start);
    for look in 1..=350 {
        flow.on_ack(&SenderAck {
            now_us: 1_000_000 + u64::from(look) * 10_000,
            acked_pkts: 2,
            acked_bytes: 2 * MSS,
            ack_seq: look * 2 * MSS,
            snd_nxt: look * 2 * MSS + 20 * MSS,
            rtt_us: if look > 55 { least_us } else { 0 },
            srtt_us: 100_000 + if (50..=55).contains(&look) { 12_000 } else { 0 },
            mss_bytes: MSS,
            ..SenderAck::default()
        });
    }
    flow.window().pacing_bytes_per_s / 10
}

/// Differences 1 and 4 of `paced`: at 200 segments a second one takes 5 ms, and others' queue
/// begins 10 ms above that.
#[test]
fn paced_takes_what_is_above_the_least_sample_and_a_segments_time_for_queue() {
    let grown = paced_window_bytes(0);
    assert!(grown > u64::from(10 * MSS), "{}", grown / u64::from(MSS));
    assert_eq!(paced_window_bytes(96_000), grown);
    assert!(paced_window_bytes(80_000) < grown / 2);
}
