// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The TCP of the papers' simulators.

mod tcp_support;

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::{Recovery, TcpOptions};
use tcp_support::{Fate, Pair, ms, pair};

const SEGMENT: u64 = 960;

fn established(options: TcpOptions) -> Pair {
    let mut pair = pair(options, "reno", ms(50));
    pair.establish();
    pair
}

fn number(sent: &tcp_support::Sent) -> u32 {
    sent.segment.seq.wrapping_sub(1_001) / SEGMENT as u32
}

#[test]
fn starts_with_two_segments_and_acknowledges_each() {
    let mut pair = established(TcpOptions::PAPER);
    let start = pair.now;
    pair.write(0, 1_000 * SEGMENT);
    pair.run_until(start + ms(399));
    let data = pair.data_from(0);
    let in_round = |round: u64| {
        let (from, to) = (start + ms(100 * round), start + ms(100 * round + 100));
        data.iter()
            .filter(|sent| sent.at >= from && sent.at < to)
            .count()
    };
    assert_eq!([0, 1, 2, 3].map(in_round), [2, 4, 8, 16]);
    assert_eq!(pair.acks_from(1).len(), 2 + 4 + 8 + 16);
    // 1000 bytes on the wire: no timestamps.
    assert_eq!(data[0].segment.size_bytes, 1_000);
    assert_eq!(data[0].segment.timestamps, None);
}

#[test]
fn goes_on_at_half_of_the_window_at_once_after_three_duplicates() {
    let mut pair = established(TcpOptions::PAPER);
    let mut is_first = true;
    pair.disturb(move |sent| {
        let is_hit = sent.from == 0 && number(sent) == 20 && sent.segment.payload_bytes > 0;
        if is_hit && std::mem::take(&mut is_first) {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.write(0, 1_000 * SEGMENT);
    let mut before = pair.ends[0].info().cwnd_pkts;
    while pair.ends[0].info().phase != Phase::Recovery {
        before = pair.ends[0].info().cwnd_pkts;
        assert!(pair.step(Nanos(u64::MAX)));
    }
    assert_eq!(pair.ends[0].info().cwnd_pkts, before / 2);
    let resent = *pair.data_from(0).last().unwrap();
    assert_eq!((number(&resent), resent.at), (20, pair.now));
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
    let counters = pair.ends[0].counters();
    assert_eq!(
        (counters.resent_pkts, counters.timeouts, counters.recoveries),
        (1, 0, 1)
    );
}

#[test]
fn repairs_several_holes_at_once_only_with_sack() {
    let run = |recovery, has_sack| {
        let options = TcpOptions {
            recovery,
            has_sack,
            ..TcpOptions::PAPER
        };
        let mut pair = established(options);
        let mut missing = vec![20, 22, 24];
        pair.disturb(move |sent| {
            if sent.from == 1 || sent.segment.payload_bytes == 0 {
                return Fate::Arrives;
            }
            match missing.iter().position(|lost| *lost == number(sent)) {
                Some(place) => {
                    missing.remove(place);
                    Fate::IsLost
                }
                None => Fate::Arrives,
            }
        });
        pair.write(0, 200 * SEGMENT);
        pair.run_to(|pair| pair.ends[0].info().phase == Phase::Recovery);
        let start = pair.now;
        pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
        (
            pair.now.since(start).0 / 100_000_000,
            pair.ends[0].counters().resent_pkts,
        )
    };
    // Half of the window has to leave before there is room for the third.
    assert_eq!(run(Recovery::Sack, true), (2, 3));
    assert_eq!(run(Recovery::NewReno, false), (3, 3));
}

#[test]
fn times_out_at_whole_ticks_and_after_a_second_at_least() {
    let mut pair = established(TcpOptions::PAPER);
    pair.run_until(pair.now + Nanos::from_micros(33_333));
    let start = pair.now;
    pair.disturb(|sent| {
        if sent.from == 0 {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.write(0, SEGMENT);
    pair.run_until(start + Nanos::from_secs(8));
    let times: Vec<_> = pair
        .data_from(0)
        .iter()
        .skip(1)
        .map(|sent| sent.at)
        .collect();
    assert!(times.iter().all(|at| at.0 % 100_000_000 == 0), "{times:?}");
    assert!(times[0].since(start) >= Nanos::from_secs(1));
    assert!(times[0].since(start) <= ms(1_100));
    assert_eq!(times[1].since(times[0]), Nanos::from_secs(2));
}
