// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A ceiling: what connections of a policy have at the most, whatever their law answers.

use ebb_algorithms::{Floor, FloorMember, Policy, SenderAck, SenderFlow, SenderStart};

const MSS: u32 = 1_448;
const RTT_US: u32 = 50_000;
/// Larger than any part.
const LAW: u32 = 1 << 20;

fn ceiling(bytes_per_s: u64) -> Floor {
    let floor = Floor::default();
    floor.set_ceiling_bytes_per_s(bytes_per_s);
    floor
}

/// Some seconds in which each brings what its window lets it, or less.
fn run(members: &mut [FloorMember], uses: &[u32]) -> Vec<u32> {
    let mut windows = vec![LAW; members.len()];
    for trip in 1..100_u64 {
        for ((member, window), most) in members.iter_mut().zip(&mut windows).zip(uses) {
            let now_us = trip * u64::from(RTT_US);
            member.hear(now_us, (*window).min(*most), RTT_US, MSS);
            member.reckon(LAW);
            *window = member.bound(LAW);
        }
    }
    windows
}

#[test]
fn a_window_is_what_comes_in_a_round_trip_at_the_ceiling_s_rate() {
    // 1 MB/s in 50 ms are 50 000 bytes: 34.5 segments.
    let floor = ceiling(1_000_000);
    let mut members = vec![FloorMember::new(&floor)];
    assert_eq!(run(&mut members, &[LAW]), [35 * MSS]);
    // Less than half of a segment is one, all the same.
    floor.set_ceiling_bytes_per_s(10_000);
    assert_eq!(run(&mut members, &[LAW]), [MSS]);
    // It is lifted at once.
    floor.set_ceiling_bytes_per_s(0);
    assert_eq!(run(&mut members, &[LAW]), [LAW]);
}

#[test]
fn connections_that_use_what_they_have_share_it_and_who_does_not_takes_nothing_from_them() {
    let floor = ceiling(1_000_000);
    let mut members = vec![FloorMember::new(&floor); 3];
    let windows = run(&mut members, &[LAW, LAW, LAW]);
    // 34.5 / 3 = 11.5.
    assert!(windows.iter().all(|it| *it == 12 * MSS), "{windows:?}");
    let mut members = vec![FloorMember::new(&floor); 3];
    let windows = run(&mut members, &[LAW, LAW, 2 * MSS]);
    assert_eq!(windows[..2], [17 * MSS, 17 * MSS]);
}

#[test]
fn a_floor_goes_before_a_ceiling_and_without_a_round_trip_there_is_none() {
    let floor = ceiling(100_000);
    floor.set_bytes_per_s(1_000_000);
    let mut members = vec![FloorMember::new(&floor)];
    assert!(run(&mut members, &[LAW])[0] >= 50_000);
    let floor = ceiling(100_000);
    let mut member = FloorMember::new(&floor);
    member.hear(1, MSS, 0, MSS);
    member.reckon(LAW);
    assert_eq!(member.bound(LAW), LAW);
}

#[test]
fn what_is_sent_is_held_below_it_by_the_window() {
    let floor = ceiling(1_000_000);
    let start = SenderStart {
        mss_bytes: MSS,
        cwnd_pkts: 10,
        ..SenderStart::default()
    };
    let mut flow = SenderFlow::new(Policy::sender("reno").unwrap(), &start);
    flow.set_floor(&floor);
    for trip in 1..30 {
        let pkts = flow.window().cwnd_pkts;
        flow.on_ack(&SenderAck {
            now_us: trip * u64::from(RTT_US),
            delivered_now_pkts: pkts,
            acked_pkts: pkts,
            acked_bytes: pkts * MSS,
            cwnd_pkts: pkts,
            ssthresh_pkts: u32::MAX >> 1,
            rtt_us: RTT_US,
            srtt_us: RTT_US,
            mss_bytes: MSS,
            is_cwnd_limited: 1,
            ..SenderAck::default()
        });
    }
    assert_eq!(flow.window().cwnd_pkts, 35);
    floor.set_ceiling_bytes_per_s(0);
    let pkts = flow.window().cwnd_pkts;
    flow.on_ack(&SenderAck {
        now_us: 31 * u64::from(RTT_US),
        acked_pkts: pkts,
        delivered_now_pkts: pkts,
        cwnd_pkts: pkts,
        ssthresh_pkts: u32::MAX >> 1,
        rtt_us: RTT_US,
        srtt_us: RTT_US,
        mss_bytes: MSS,
        is_cwnd_limited: 1,
        ..SenderAck::default()
    });
    assert!(flow.window().cwnd_pkts > 35);
}
