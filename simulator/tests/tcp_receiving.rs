// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Acknowledgements, windows, marks, wrapping numbers.

mod tcp_support;

use std::sync::Arc;

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::{Buffer, DelayedAcks, TcpOptions};
use ebb_simulator::Flags;
use ebb_simulator::tcp::{Connection, Identity, Role, TcpConfig};
use tcp_support::{Fate, ms, pair, pair_of};

const MSS: u64 = 1_448;

/// Timers to the nanosecond, and a window that does not grow.
fn exact() -> TcpOptions {
    TcpOptions {
        timer_granularity: Nanos::ZERO,
        receive_buffer: Buffer::Fixed(60_000),
        ..TcpOptions::LINUX
    }
}

#[test]
fn acknowledges_the_first_segments_each_and_then_every_second() {
    let mut pair = pair(exact(), "reno", ms(50));
    pair.ns_per_byte = 800;
    pair.establish();
    pair.write(0, 200 * MSS);
    pair.run_to(|pair| pair.ends[1].received_bytes() == 200 * MSS);
    let acks = pair.acks_from(1);
    let steps: Vec<u32> = acks
        .windows(2)
        .map(|two| two[1].segment.ack.wrapping_sub(two[0].segment.ack) / MSS as u32)
        .collect();
    assert!(steps[..15].iter().all(|step| *step == 1), "{steps:?}");
    let late = &steps[16..];
    let doubles = late.iter().filter(|step| **step == 2).count();
    assert!(doubles * 10 >= late.len() * 9, "{steps:?}");
}

#[test]
fn acknowledges_a_lone_segment_after_40_ms() {
    let mut options = TcpOptions {
        initial_window_pkts: 1,
        ..exact()
    };
    options.delayed_acks.quick_pkts = 0;
    let mut pair = pair(options, "reno", ms(50));
    pair.establish();
    let start = pair.now;
    pair.write(0, 10 * MSS);
    pair.run_until(start + ms(100));
    let acks = pair.acks_from(1);
    assert_eq!(acks[0].at, start + ms(50) + ms(40));
}

#[test]
fn tells_at_once_of_a_window_that_reading_has_doubled() {
    // One or two segments in all: no more than half is left. Of three, two are left.
    for (segments, wait) in [(1, ms(0)), (2, ms(0)), (3, ms(40))] {
        for reads_at_once in [true, false] {
            let mut options = TcpOptions {
                receive_buffer: Buffer::Fixed(segments * MSS),
                initial_window_pkts: 1,
                ..exact()
            };
            options.delayed_acks.quick_pkts = 0;
            let mut pair = pair(options, "reno", ms(50));
            if !reads_at_once {
                pair.ends[1].read_on_demand();
            }
            pair.establish();
            pair.write(0, 10 * MSS);
            pair.run_to(|pair| pair.ends[1].received_bytes() == MSS);
            let arrived_at = pair.now;
            pair.consume(1, MSS);
            pair.run_until(arrived_at + ms(45));
            let acks = pair.acks_from(1);
            let what = format!("{segments} segments, reads at once: {reads_at_once}");
            assert_eq!(acks[0].at, arrived_at + wait, "{what}");
        }
    }
}

#[test]
fn answers_the_end_of_what_was_written_at_once() {
    // A last segment that is pushed, full or short: the application reads and answers.
    for bytes in [20 * MSS, 20 * MSS + 100] {
        let mut options = exact();
        options.delayed_acks.quick_pkts = 0;
        let mut pair = pair(options, "reno", ms(50));
        pair.establish();
        pair.write(0, bytes);
        pair.run_to(|pair| pair.ends[1].received_bytes() == bytes);
        assert_eq!(pair.acks_from(1).last().unwrap().at, pair.now);
    }
}

#[test]
fn acknowledges_everything_at_once_if_told_so() {
    let options = TcpOptions {
        delayed_acks: DelayedAcks {
            segments: 1,
            ..TcpOptions::LINUX.delayed_acks
        },
        ..exact()
    };
    let mut pair = pair(options, "reno", ms(50));
    pair.ns_per_byte = 800;
    pair.establish();
    pair.write(0, 100 * MSS);
    pair.run_until(pair.now + Nanos::from_secs(2));
    assert_eq!(pair.acks_from(1).len(), 100);
}

#[test]
fn compresses_what_it_says_about_one_gap() {
    // 100 Mbit/s: a segment each 0.12 ms, so that 8 of them come in a millisecond.
    let mut pair = pair(exact(), "reno", ms(50));
    pair.ns_per_byte = 80;
    let mut is_first = true;
    pair.disturb(move |sent| {
        let is_hit = sent.from == 0 && sent.segment.seq == 1_001 + 20 * 1_448;
        if is_hit && std::mem::take(&mut is_first) {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.establish();
    pair.write(0, 200 * MSS);
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Recovery);
    pair.run_to(|pair| pair.ends[0].info().phase == Phase::Open);
    let hole = 1_001 + 20 * 1_448;
    let of_gap = pair.acks_from(1);
    let of_gap: Vec<_> = of_gap
        .iter()
        .filter(|sent| sent.segment.ack == hole && !sent.segment.sack.is_empty())
        .collect();
    assert!(of_gap.len() >= 4);
    assert!(of_gap[3].at.since(of_gap[2].at) >= ms(1));
}

#[test]
fn rounds_the_window_up_to_what_its_scale_can_say() {
    // 3 MiB at the most: 3145728 / 65535 needs 6 bits; windows are multiples of 64.
    let options = TcpOptions {
        receive_buffer: Buffer::Autotuned {
            initial_bytes: 50_001,
            max_bytes: 3 << 20,
        },
        ..TcpOptions::LINUX
    };
    let mut pair = pair(options, "reno", ms(50));
    pair.establish();
    pair.write(0, 1);
    pair.run_until(pair.now + ms(100));
    let answer = pair.acks_from(1)[0].segment;
    let window = u64::from(answer.window) << 6;
    assert!(
        (50_001..50_001 + 2 * 1_460 + 64).contains(&window),
        "{window}"
    );
    assert_eq!(pair.ends[1].info().advertised_window_bytes as u64, window);
}

#[test]
fn follows_what_the_application_reads_with_its_buffer() {
    // 100 Mbit/s and 100 ms need 1.25 MB, twenty times what the window is at first.
    let mut pair = pair(TcpOptions::LINUX, "reno", ms(50));
    pair.ns_per_byte = 80;
    pair.establish();
    pair.write(0, 1 << 30);
    pair.run_until(Nanos::from_secs(3));
    let window = pair.ends[1].info().advertised_window_bytes;
    assert!(window > 1_250_000, "{window}");
    let received = pair.ends[1].received_bytes();
    pair.run_until(Nanos::from_secs(4));
    let goodput = (pair.ends[1].received_bytes() - received) * 8;
    assert!(goodput > 95_000_000, "{goodput}");
}

#[test]
fn wraps_past_the_last_sequence_number_and_timestamp() {
    let config = TcpConfig::new(TcpOptions::LINUX, "reno", None).unwrap();
    let end = |role, initial_seq| {
        let identity = Identity {
            initial_seq,
            timestamp_offset: u32::MAX - 200,
            ..Identity::default()
        };
        Connection::new(&config, role, identity)
    };
    let mut pair = pair_of(&config, &config, ms(10));
    // The wrap lies in the middle of what is lost and repaired.
    let initial = u32::MAX - 60 * 1_448;
    pair.ends = [end(Role::Client, initial), end(Role::Server, u32::MAX - 3)];
    let mut count = 0;
    pair.disturb(move |sent| {
        count += 1;
        let is_hit = sent.from == 0 && sent.segment.payload_bytes > 0 && count % 13 == 0;
        if is_hit { Fate::IsLost } else { Fate::Arrives }
    });
    pair.establish();
    pair.write(0, 300 * MSS);
    pair.close(0);
    pair.run_to(|pair| pair.ends[1].is_peer_closed());
    assert_eq!(pair.ends[1].received_bytes(), 300 * MSS);
    assert_eq!(pair.ends[0].info().least_rtt_us, Some(20_000));
}

#[test]
fn counts_more_than_4_gigabytes() {
    let options = TcpOptions {
        mss_bytes: 60_000,
        ..TcpOptions::LINUX
    };
    let mut pair = pair(options, "reno", Nanos::from_micros(10));
    pair.establish();
    let bytes = (1_u64 << 32) + 5_000_000;
    pair.write(0, bytes);
    while pair.ends[1].received_bytes() < bytes {
        assert!(pair.step(Nanos(u64::MAX)));
        // Nobody reads the log here.
        pair.log.clear();
        pair.forget_arrivals();
    }
    assert_eq!(pair.ends[1].received_bytes(), bytes);
}

fn with_ecn() -> Arc<TcpConfig> {
    let options = TcpOptions {
        has_ecn: true,
        ..TcpOptions::LINUX
    };
    TcpConfig::new(options, "reno", None).unwrap()
}

#[test]
fn answers_marks_with_one_reduction_a_round_trip() {
    let config = with_ecn();
    let mut pair = pair_of(&config, &config, ms(50));
    pair.establish();
    pair.write(0, 1 << 30);
    pair.run_until(pair.now + ms(350));
    let before = pair.ends[0].info().cwnd_pkts;
    // All segments of a round trip are marked, each is echoed: one reduction.
    let start = pair.now;
    pair.disturb(move |sent| {
        if sent.at < start + ms(100) {
            Fate::IsMarked
        } else {
            Fate::Arrives
        }
    });
    pair.run_until(start + ms(420));
    let (info, counters) = (pair.ends[0].info(), pair.ends[0].counters());
    assert_eq!((counters.reductions, counters.resent_pkts), (1, 0));
    assert!(
        info.ssthresh_pkts >= before / 2 && info.ssthresh_pkts <= before + 10,
        "{info:?}"
    );
    let echoes = pair.acks_from(1);
    let echoing = echoes
        .iter()
        .filter(|sent| sent.segment.flags.has(Flags::ECE))
        .count();
    assert!(
        echoing > 10,
        "it echoes until it hears that the window was reduced"
    );
    assert!(!echoes.last().unwrap().segment.flags.has(Flags::ECE));
    let data = pair.data_from(0);
    let announcing = data
        .iter()
        .filter(|sent| sent.segment.flags.has(Flags::CWR))
        .count();
    assert_eq!(announcing, 1);
}

#[test]
fn does_without_ecn_if_the_peer_has_none() {
    let without = TcpConfig::new(TcpOptions::LINUX, "reno", None).unwrap();
    let mut pair = pair_of(&with_ecn(), &without, ms(50));
    pair.establish();
    pair.write(0, 100_000);
    pair.run_until(pair.now + ms(500));
    let is_capable = |sent: &tcp_support::Sent| sent.segment.ecn != ebb_link::Ecn::NotCapable;
    assert!(!pair.log.iter().any(is_capable));
}
