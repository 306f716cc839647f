// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fast recovery, worked out by hand.

mod tcp_support;

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::{Recovery, TcpOptions};
use tcp_support::{Fate, Pair, Sent, ms, pair};

/// Timers to the nanosecond.
const EXACT: TcpOptions = TcpOptions {
    timer_granularity: Nanos::ZERO,
    ..TcpOptions::LINUX
};

const MSS: u32 = 1_448;

/// Number of a data segment of full size, from 0.
fn number(sent: &Sent) -> u32 {
    sent.segment.seq.wrapping_sub(1_001) / MSS
}

/// Loses the first transmission of each of these segments.
fn lose(pair: &mut Pair, mut numbers: Vec<u32>) {
    pair.disturb(move |sent| {
        if sent.from == 1 || sent.segment.payload_bytes == 0 {
            return Fate::Arrives;
        }
        match numbers.iter().position(|lost| *lost == number(sent)) {
            Some(place) => {
                numbers.remove(place);
                Fate::IsLost
            }
            None => Fate::Arrives,
        }
    });
}

/// Numbers of the segments that were sent again, and when.
fn resent(pair: &Pair) -> Vec<(u32, Nanos)> {
    let mut highest = None;
    let mut resent = Vec::new();
    for sent in pair.data_from(0) {
        if highest.is_some_and(|highest| number(&sent) <= highest) {
            resent.push((number(&sent), sent.at));
        } else {
            highest = Some(number(&sent));
        }
    }
    resent
}

fn options(recovery: Recovery) -> TcpOptions {
    TcpOptions { recovery, ..EXACT }
}

/// Slow start until 40 segments are in flight, then these are lost in the next 80.
fn lossy(options: TcpOptions, numbers: Vec<u32>) -> Pair {
    let mut pair = pair(options, "reno", ms(50));
    lose(&mut pair, numbers);
    pair.establish();
    pair.write(0, 300 * u64::from(MSS));
    pair.close(0);
    pair
}

#[test]
fn sends_exactly_the_holes_again_within_a_round_trip() {
    for recovery in [Recovery::Rack, Recovery::Sack] {
        let mut pair = lossy(options(recovery), vec![40, 44, 45, 50, 61]);
        pair.run_to(|pair| pair.ends[1].is_peer_closed());
        let resent = resent(&pair);
        let numbers: Vec<_> = resent.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [40, 44, 45, 50, 61], "{recovery:?}");
        assert!(resent[4].1.since(resent[0].1) <= ms(100));
        let counters = pair.ends[0].counters();
        assert_eq!((counters.recoveries, counters.timeouts), (1, 0));
        assert_eq!((counters.resent_pkts, counters.lost_pkts), (5, 5));
        assert_eq!(pair.ends[1].counters().duplicate_pkts, 0);
    }
}

#[test]
fn repairs_one_hole_a_round_trip_without_sack() {
    let options = TcpOptions {
        has_sack: false,
        ..options(Recovery::NewReno)
    };
    let mut pair = lossy(options, vec![40, 44, 61]);
    pair.run_to(|pair| pair.ends[1].is_peer_closed());
    let resent = resent(&pair);
    let numbers: Vec<_> = resent.iter().map(|entry| entry.0).collect();
    assert_eq!(numbers, [40, 44, 61]);
    let gaps = [0, 1].map(|place| resent[place + 1].1.since(resent[place].1));
    assert_eq!(gaps, [ms(100), ms(100)]);
    let counters = pair.ends[0].counters();
    assert_eq!((counters.recoveries, counters.timeouts), (1, 0));
}

#[test]
fn leaves_the_recovery_too_early_with_plain_reno() {
    // RFC 5681: the first new acknowledgement ends it, so each further hole costs another
    // halving, or a time-out once the window is too small for three duplicates.
    let options = TcpOptions {
        has_sack: false,
        ..options(Recovery::Reno)
    };
    let mut pair = lossy(options, vec![40, 44, 61]);
    pair.run_to(|pair| pair.ends[1].is_peer_closed());
    let counters = pair.ends[0].counters();
    assert_eq!((counters.recoveries, counters.timeouts), (2, 1));
}

#[test]
fn halves_the_window_once_however_many_are_lost() {
    let mut pair = lossy(options(Recovery::Rack), (70..80).collect());
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Recovery);
    let cwnd_before = 2 * pair.ends[0].info().ssthresh_pkts;
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
    let info = pair.ends[0].info();
    assert_eq!(info.cwnd_pkts, cwnd_before / 2);
    assert_eq!(pair.ends[0].counters().reductions, 1);
}

#[test]
fn sends_one_segment_for_two_that_arrive_while_the_window_is_halved() {
    let mut pair = pair(EXACT, "reno", ms(50));
    // 0.12 ms a segment: 50 in flight do not fill the path, acknowledgements come apart.
    pair.ns_per_byte = 80;
    lose(&mut pair, vec![40]);
    pair.establish();
    pair.write(0, 300 * u64::from(MSS));
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Recovery);
    let prior = 2 * pair.ends[0].info().ssthresh_pkts;
    let mut first = true;
    loop {
        let (log, before) = (pair.log.len(), pair.ends[0].info());
        pair.run_to(|pair| pair.ends[0].info() != before);
        let after = pair.ends[0].info();
        if after.inflight_pkts <= after.ssthresh_pkts || after.phase != Phase::Recovery {
            break;
        }
        let sent = pair.log[log..].iter().filter(|sent| sent.from == 0).count() as u32;
        // Each acknowledgement takes more out of the network than it lets in.
        let gone = before.inflight_pkts + sent - after.inflight_pkts;
        assert!(sent <= gone / 2 + 1, "{sent} sent for {gone}");
        first = false;
    }
    assert!(!first);
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
    assert!(pair.ends[0].info().cwnd_pkts.abs_diff(prior / 2) <= 1);
}

#[test]
fn sends_new_data_for_the_first_two_duplicates() {
    // Ten segments, the first is lost: each duplicate lets one new segment go, since the
    // one that arrived has left the network; the third starts the recovery.
    let mut pair = pair(EXACT, "reno", ms(50));
    lose(&mut pair, vec![0]);
    pair.establish();
    let start = pair.now;
    pair.write(0, 100 * u64::from(MSS));
    pair.run_until(start + ms(100));
    let sent: Vec<_> = pair.data_from(0).iter().skip(10).map(number).collect();
    assert_eq!(sent[..3], [10, 11, 0]);

    let options = TcpOptions {
        has_limited_transmit: false,
        ..EXACT
    };
    let mut pair = tcp_support::pair(options, "reno", ms(50));
    lose(&mut pair, vec![0]);
    pair.establish();
    let start = pair.now;
    pair.write(0, 100 * u64::from(MSS));
    pair.run_until(start + ms(100));
    assert_eq!(number(&pair.data_from(0)[10]), 0);
}

#[test]
fn turns_a_lost_tail_into_a_fast_recovery() {
    // Segments 5 to 9 of ten are lost: no duplicates. Two round trips after the last
    // acknowledgement a probe sends the last one again; its SACK shows the other four.
    let mut pair = pair(EXACT, "reno", ms(50));
    lose(&mut pair, vec![5, 6, 7, 8, 9]);
    pair.establish();
    let start = pair.now;
    pair.write(0, 10 * u64::from(MSS));
    pair.run_to(|pair| pair.ends[1].received_bytes() == 10 * u64::from(MSS));
    let resent = resent(&pair);
    assert_eq!(resent[0], (9, start + ms(100) + ms(202)));
    let numbers: Vec<_> = resent.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [9, 5, 6, 7, 8]);
    let counters = pair.ends[0].counters();
    assert_eq!(
        (counters.timeouts, counters.probes, counters.recoveries),
        (0, 1, 1)
    );
}

#[test]
fn reduces_the_window_once_when_a_probe_repairs_the_only_loss() {
    let mut pair = pair(EXACT, "reno", ms(50));
    lose(&mut pair, vec![9]);
    pair.establish();
    pair.write(0, 10 * u64::from(MSS));
    pair.run_until(ms(1_000));
    assert_eq!(pair.ends[1].received_bytes(), 10 * u64::from(MSS));
    pair.write(0, 10 * u64::from(MSS));
    pair.run_until(ms(3_000));
    let counters = pair.ends[0].counters();
    assert_eq!(
        (counters.probes, counters.reductions, counters.timeouts),
        (1, 1, 0)
    );
    assert_eq!(counters.resent_pkts, 1);
}

#[test]
fn finds_a_retransmission_that_was_lost_too_without_a_timeout() {
    let mut losses = 2;
    let mut pair = pair(EXACT, "reno", ms(50));
    pair.disturb(move |sent| {
        if sent.from == 0 && sent.segment.payload_bytes > 0 && number(sent) == 40 && losses > 0 {
            losses -= 1;
            return Fate::IsLost;
        }
        Fate::Arrives
    });
    pair.establish();
    pair.write(0, 200 * u64::from(MSS));
    pair.run_to(|pair| pair.ends[1].received_bytes() == 200 * u64::from(MSS));
    let resent = resent(&pair);
    assert_eq!(
        resent.iter().map(|entry| entry.0).collect::<Vec<_>>(),
        [40, 40]
    );
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

#[test]
fn waits_a_quarter_of_the_round_trip_once_it_has_seen_reordering() {
    // Segment 40 comes 10 ms late: with a window of 25 ms nothing is sent again.
    let mut pair = pair(EXACT, "reno", ms(50));
    pair.disturb(|sent| {
        let is_late = sent.from == 0 && matches!(number(sent), 10 | 40 | 70);
        if is_late && sent.segment.payload_bytes > 0 {
            return Fate::ComesLater(ms(10));
        }
        Fate::Arrives
    });
    pair.ns_per_byte = 800;
    pair.establish();
    pair.write(0, 200 * u64::from(MSS));
    pair.run_to(|pair| pair.ends[0].unacknowledged_bytes() == 0);
    let numbers: Vec<_> = resent(&pair).iter().map(|entry| entry.0).collect();
    assert_eq!(numbers, [10], "the first time costs a retransmission");
    let counters = pair.ends[0].counters();
    assert_eq!((counters.recoveries, counters.undos), (1, 1));
}

#[test]
fn repeats_nothing_in_vain_after_a_slow_start_that_overshot() {
    // 50 Mbit/s, 20 ms, 125 packets: each second segment of a window is lost, more holes
    // than three blocks can tell of unless each is told of in time.
    let mut pair = pair(TcpOptions::LINUX, "reno", ms(10));
    pair.ns_per_byte = 160;
    pair.queue_bytes = 1_500 * 125;
    pair.establish();
    pair.write(0, 1 << 36);
    pair.run_until(Nanos::from_secs(4));
    let lost = pair
        .log
        .iter()
        .filter(|sent| sent.fate == Fate::IsLost)
        .count() as u64;
    let counters = pair.ends[0].counters();
    assert!(lost > 100, "{lost}");
    assert_eq!((counters.resent_pkts, counters.timeouts), (lost, 0));
    assert_eq!(pair.ends[1].counters().duplicate_pkts, 0);
}
