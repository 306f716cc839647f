// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bandwidth, aggregation, policers, recovery: what the window is made of.

use crate::Rounds;
use ebb_algorithms::{Phase, SenderAck};

#[test]
fn the_window_is_two_bandwidth_delay_products_and_room_for_bursts() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    for _ in 0..4 {
        rounds.round(100);
    }
    // 2 x 100 + 3 x 2, and two more in the phase that probes.
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
}

#[test]
fn bandwidth_is_forgotten_after_ten_round_trips() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    for _ in 0..9 {
        rounds.round(50);
    }
    assert!(rounds.flow.window().cwnd_pkts > 200);
    for _ in 0..2 {
        rounds.round(50);
    }
    // 2 x 50 + 6, or two more in the phase that probes.
    assert!((106..=108).contains(&rounds.flow.window().cwnd_pkts));
}

#[test]
fn samples_of_a_lazy_application_do_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    let lazy = SenderAck {
        is_app_limited: 1,
        ..SenderAck::default()
    };
    for _ in 0..5 {
        rounds.round_with(20, &lazy);
    }
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
    rounds.round_with(200, &lazy);
    assert!(rounds.pace_x1000() > 1400, "but they may raise it");
}

#[test]
fn bandwidth_is_kept_for_as_long_as_the_application_is_lazy() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    let lazy = SenderAck {
        is_app_limited: 1,
        ..SenderAck::default()
    };
    for _ in 0..50 {
        rounds.round_with(20, &lazy);
    }
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
    // The first sample that counts ends that.
    rounds.round(50).round(50);
    assert!(rounds.pace_x1000() < 630);
}

#[test]
fn conserves_packets_in_the_first_round_of_a_recovery_and_restores_the_window() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_loss(&rounds.event());
    let recovery = SenderAck {
        phase: Phase::Recovery as u8,
        lost_now_pkts: 30,
        inflight_pkts: 60,
        ..SenderAck::default()
    };
    rounds.round_with(10, &recovery);
    // In flight and delivered, but 30 are lost: 206 - 30 is more than that.
    assert_eq!(rounds.flow.window().cwnd_pkts, 70);
    rounds.round(100);
    assert!(rounds.flow.window().cwnd_pkts >= before);
}

#[test]
fn an_undo_brings_the_window_back() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_timeout(&rounds.event());
    rounds.flow.on_undo(&rounds.event());
    assert_eq!(rounds.flow.window().cwnd_pkts, before);
}

/// A path that delivers 50 and drops 25 of each 75 segments, every fourth round trip
/// losing; answers the pace then.
fn policed(policy: &str) -> u64 {
    let mut rounds = Rounds::probing(policy, u32::MAX);
    for _ in 0..14 {
        let more = SenderAck {
            lost_now_pkts: 25,
            inflight_pkts: 60,
            ..SenderAck::default()
        };
        rounds.round_with(50, &more);
    }
    rounds.pace_x1000()
}

#[test]
fn a_policer_s_rate_is_used_after_two_like_intervals() {
    // 50 segments in 100 ms, x 0.99, without probing; the bandwidth filter has it, too, by
    // then, but probes, or yields.
    assert_eq!(policed("bbr"), 495);
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    // Without losses: nothing of the kind.
    for _ in 0..9 {
        rounds.round(50);
    }
    assert!(rounds.pace_x1000() > 700);
}

#[test]
fn a_policer_s_rate_is_forgotten_after_48_round_trips() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    for _ in 0..14 {
        let more = SenderAck {
            lost_now_pkts: 25,
            inflight_pkts: 60,
            ..SenderAck::default()
        };
        rounds.round_with(50, &more);
    }
    let mut paces = Vec::new();
    for _ in 0..60 {
        paces.push(rounds.round(50).pace_x1000());
    }
    assert!(paces[..34].iter().all(|pace| *pace == 495), "{paces:?}");
    assert!(paces[34..].iter().any(|pace| *pace > 600), "{paces:?}");
}

#[test]
fn aggregated_acknowledgements_widen_the_window() {
    let widen = |policy| {
        let mut rounds = Rounds::probing(policy, u32::MAX);
        for _ in 0..12 {
            rounds.round(100);
        }
        rounds.flow.window().cwnd_pkts
    };
    // A round trip's worth comes in one batch: up to 100 segments more, 100 ms of them.
    let (without, with) = (widen("bbr:extra_gain_x1024=0"), widen("bbr"));
    assert!(
        with > without + 50 && with <= without + 102,
        "{without} {with}"
    );
}
