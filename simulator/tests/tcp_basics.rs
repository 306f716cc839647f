// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening, sending, closing.

mod tcp_support;

use ebb_link::Nanos;
use ebb_scenario::TcpOptions;
use ebb_simulator::Flags;
use ebb_simulator::tcp::{Failure, State};
use tcp_support::{Fate, ms, pair};

/// Timers to the nanosecond.
const EXACT: TcpOptions = TcpOptions {
    timer_granularity: Nanos::ZERO,
    ..TcpOptions::LINUX
};

#[test]
fn opens_in_a_round_trip_and_agrees_on_options() {
    let mut pair = pair(EXACT, "reno", ms(50));
    pair.connect();
    pair.run_until(ms(200));
    let flags: Vec<_> = pair.log.iter().map(|sent| sent.segment.flags).collect();
    assert_eq!(flags, [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK]);
    let times: Vec<_> = pair.log.iter().map(|sent| sent.at).collect();
    assert_eq!(times, [ms(0), ms(50), ms(100)]);
    assert_eq!(pair.log[0].segment.size_bytes, 60);
    assert!(
        pair.ends
            .iter()
            .all(|end| end.state() == State::Established)
    );
    assert_eq!(pair.ends[0].srtt_us(), 100_000);
}

#[test]
fn doubles_the_window_each_round_trip_in_slow_start() {
    let mut pair = pair(EXACT, "reno", ms(50));
    pair.establish();
    let start = pair.now;
    pair.write(0, 10_000_000);
    pair.run_until(start + ms(299));
    let in_round = |round: u64| {
        let (from, to) = (start + ms(100 * round), start + ms(100 * round + 100));
        let data = pair.data_from(0);
        data.iter()
            .filter(|sent| sent.at >= from && sent.at < to)
            .count()
    };
    assert_eq!([in_round(0), in_round(1), in_round(2)], [10, 20, 40]);
    assert_eq!(pair.log[0].segment.payload_bytes, 1_448);
    assert_eq!(pair.log[0].segment.size_bytes, 1_500);
}

#[test]
fn delivers_every_byte_and_closes_both_ways() {
    let mut pair = pair(EXACT, "reno", ms(10));
    pair.establish();
    pair.write(0, 1_000_000);
    pair.close(0);
    pair.run_to(|pair| pair.ends[1].is_peer_closed());
    assert_eq!(pair.ends[1].received_bytes(), 1_000_000);
    pair.write(1, 500);
    pair.close(1);
    pair.run_to(|pair| pair.ends.iter().all(|end| end.state() == State::Finished));
    assert_eq!(pair.ends[0].received_bytes(), 500);
    assert_eq!(pair.ends[0].acknowledged_bytes(), 1_000_000);
    assert_eq!(pair.ends[0].counters().resent_pkts, 0);
}

#[test]
fn sends_a_lost_syn_again_after_1_then_2_then_4_seconds() {
    let mut pair = pair(EXACT, "reno", ms(10));
    pair.disturb(|sent| {
        if sent.at < Nanos::from_secs(6) {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.connect();
    pair.run_to(|pair| pair.ends[0].state() == State::Established);
    let syns: Vec<_> = pair
        .log
        .iter()
        .filter(|sent| sent.from == 0)
        .map(|sent| sent.at)
        .collect();
    let seconds = Nanos::from_secs;
    assert_eq!(syns[..4], [seconds(0), seconds(1), seconds(3), seconds(7)]);
    assert_eq!(pair.ends[0].info().cwnd_pkts, 1);
}

#[test]
fn gives_up_after_many_timeouts() {
    let mut pair = pair(EXACT, "reno", ms(10));
    pair.establish();
    pair.disturb(|_| Fate::IsLost);
    pair.write(0, 1);
    pair.run_until(Nanos::from_secs(3_000));
    assert_eq!(pair.ends[0].state(), State::Failed(Failure::TimedOut));
    assert_eq!(pair.ends[0].next_timer(), None);
}

#[test]
fn resets_on_abort() {
    let mut pair = pair(EXACT, "reno", ms(10));
    pair.establish();
    let now = pair.now;
    pair.act(0, |end, out| end.abort(now, out));
    pair.run_until(now + ms(20));
    assert_eq!(pair.ends[0].state(), State::Failed(Failure::Aborted));
    assert_eq!(pair.ends[1].state(), State::Failed(Failure::Reset));
}
