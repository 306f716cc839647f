// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The retransmission timer, what follows it, and what takes it back.

mod tcp_support;

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::TcpOptions;
use tcp_support::{Fate, Pair, ms, pair};

const MSS: u64 = 1_448;

/// Timers to the nanosecond.
const EXACT: TcpOptions = TcpOptions {
    timer_granularity: Nanos::ZERO,
    ..TcpOptions::LINUX
};

fn established(options: TcpOptions) -> Pair {
    let mut pair = pair(options, "reno", ms(50));
    pair.establish();
    pair
}

#[test]
fn doubles_the_timeout_each_time() {
    // RTT 100 ms: RTO = 100 + 200 = 300 ms. A probe leaves after 2 RTT + 200 ms or the
    // time-out, whichever is first; then the timer runs from the probe on.
    let mut pair = established(EXACT);
    pair.disturb(|sent| {
        if sent.from == 0 {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    let start = pair.now;
    pair.write(0, 1);
    pair.run_until(start + Nanos::from_secs(12));
    let times: Vec<u64> = pair
        .data_from(0)
        .iter()
        .map(|sent| sent.at.since(start).0 / 1_000_000)
        .collect();
    assert_eq!(times, [0, 300, 600, 1_200, 2_400, 4_800, 9_600]);
    assert_eq!(pair.ends[0].counters().timeouts, 5);
}

#[test]
fn starts_from_one_segment_after_a_timeout_and_repairs_in_slow_start() {
    let mut pair = established(EXACT);
    let start = pair.now;
    pair.disturb(move |sent| {
        let is_lost = sent.from == 0 && sent.at < start + ms(550);
        if is_lost { Fate::IsLost } else { Fate::Arrives }
    });
    pair.write(0, 10 * MSS);
    pair.run_until(start + ms(560));
    assert_eq!(pair.ends[0].info().phase, Phase::Loss);
    assert_eq!(pair.ends[0].info().cwnd_pkts, 1);
    assert_eq!(pair.ends[0].info().ssthresh_pkts, 5);
    pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
    assert_eq!(pair.ends[1].counters().duplicate_pkts, 0);
    let info = pair.ends[0].info();
    assert!((5..=8).contains(&info.cwnd_pkts), "{info:?}");
}

#[test]
fn takes_a_spurious_timeout_back_by_new_acknowledgements() {
    // The path stands still for 700 ms: nothing is lost. The acknowledgement of the first
    // transmission shows it, by its timestamp; without timestamps by F-RTO.
    for has_timestamps in [true, false] {
        let mut options = EXACT;
        if !has_timestamps {
            options.timestamps = None;
        }
        let mut pair = established(options);
        pair.write(0, 400 * MSS);
        pair.run_until(ms(460));
        let until = ms(1_200);
        pair.disturb(move |sent| {
            let is_held = sent.from == 0 && sent.at < until;
            if is_held {
                Fate::ComesLater(until.since(sent.at))
            } else {
                Fate::Arrives
            }
        });
        let before = pair.ends[0].info();
        pair.run_to(|pair| pair.ends[0].info().phase == Phase::Loss);
        pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
        let after = pair.ends[0].info();
        assert_eq!(
            pair.ends[0].counters().undos,
            1,
            "timestamps {has_timestamps}"
        );
        assert!(after.cwnd_pkts >= before.cwnd_pkts, "{before:?} {after:?}");
        assert_eq!(after.ssthresh_pkts, before.ssthresh_pkts);
        pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
        let resent = pair.ends[0].counters().resent_pkts;
        assert!(resent <= 3, "{resent} segments sent again in vain");
    }
}

#[test]
fn takes_a_reduction_back_when_duplicates_are_reported() {
    // Segment 40 comes 60 ms late, without timestamps: the duplicate is reported by DSACK.
    let options = TcpOptions {
        timestamps: None,
        ..EXACT
    };
    let mut pair = established(options);
    let mut is_first = true;
    pair.disturb(move |sent| {
        let is_late = sent.from == 0 && sent.segment.seq == 1_001 + 40 * 1_460;
        if is_late && std::mem::take(&mut is_first) {
            return Fate::ComesLater(ms(60));
        }
        Fate::Arrives
    });
    pair.write(0, 400 * MSS);
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Recovery);
    let reduced = pair.ends[0].info().ssthresh_pkts;
    pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
    let (info, counters) = (pair.ends[0].info(), pair.ends[0].counters());
    assert_eq!((counters.undos, counters.resent_pkts), (1, 1));
    assert_eq!(pair.ends[1].counters().duplicate_pkts, 1);
    assert!(info.cwnd_pkts >= 2 * reduced, "{info:?}");
}

#[test]
fn stalls_at_a_closed_window_and_asks_until_it_opens() {
    let mut options = EXACT;
    options.receive_buffer = ebb_scenario::Buffer::Fixed(20_000);
    let mut pair = established(options);
    pair.ends[1].read_on_demand();
    let start = pair.now;
    pair.write(0, 100_000);
    pair.run_until(start + Nanos::from_secs(5));
    let received = pair.ends[1].received_bytes();
    assert!((18_000..=20_000).contains(&received), "{received}");
    assert_eq!(pair.ends[1].readable_bytes(), received);
    // Probes without data, each after twice the time of the one before; all are answered.
    let bare = pair.acks_from(0);
    let gaps: Vec<u64> = bare
        .windows(2)
        .map(|two| two[1].at.since(two[0].at).0)
        .collect();
    assert!(
        gaps.len() >= 2 && gaps.windows(2).all(|two| two[1] == 2 * two[0]),
        "{gaps:?}"
    );
    let answers = pair.acks_from(1);
    assert_eq!(answers.last().unwrap().segment.window, 0);
    // The application reads: the window opens by more than twice, and is told at once.
    while pair.ends[0].unacknowledged_bytes() > 0 {
        pair.consume(1, 50_000);
        pair.run_until(pair.now + ms(100));
        assert!(pair.now < Nanos::from_secs(60), "{:?}", pair.ends[0].info());
    }
    assert_eq!(pair.ends[1].received_bytes(), 100_000);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

#[test]
fn opens_again_although_the_update_was_lost() {
    let mut options = EXACT;
    options.receive_buffer = ebb_scenario::Buffer::Fixed(20_000);
    let mut pair = established(options);
    pair.ends[1].read_on_demand();
    pair.write(0, 30_000);
    pair.run_until(Nanos::from_secs(4));
    let now = pair.now;
    pair.disturb(move |sent| {
        if sent.at == now {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.consume(1, 20_000);
    pair.run_until(now + Nanos::from_secs(20));
    assert_eq!(pair.ends[1].received_bytes(), 30_000);
}

#[test]
fn starts_again_from_the_initial_window_after_idleness() {
    let mut pair = established(EXACT);
    pair.write(0, 200 * MSS);
    pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
    let grown = pair.ends[0].info().cwnd_pkts;
    assert!(grown > 60);
    // Nine time-outs of 300 ms: halved each time, the initial window at least.
    pair.run_until(pair.now + ms(2_700));
    let start = pair.log.len();
    pair.write(0, 200 * MSS);
    let sent = pair.log[start..]
        .iter()
        .filter(|sent| sent.from == 0)
        .count();
    assert_eq!(sent, 10);

    let options = TcpOptions {
        has_idle_restart: false,
        ..EXACT
    };
    let mut pair = established(options);
    pair.write(0, 200 * MSS);
    pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
    pair.run_until(pair.now + ms(2_700));
    let start = pair.log.len();
    pair.write(0, 200 * MSS);
    let sent = pair.log[start..]
        .iter()
        .filter(|sent| sent.from == 0)
        .count();
    assert!(
        sent > 100,
        "the old window, or what the receiver takes: {sent}"
    );
}
