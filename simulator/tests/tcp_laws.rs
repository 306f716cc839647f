// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Endpoints under laws: how these are told, asked and obeyed.

mod tcp_support;

use std::sync::Arc;

use ebb_algorithms::{Side, laws_of};
use ebb_link::Nanos;
use ebb_scenario::{Pacing, TcpOptions};
use ebb_simulator::tcp::TcpConfig;
use tcp_support::{Fate, Pair, ms, pair, pair_of};

const MSS: u64 = 1_448;

fn config(law: &str, receiver: Option<&str>) -> Arc<TcpConfig> {
    TcpConfig::new(TcpOptions::LINUX, law, receiver).unwrap()
}

/// A greedy transfer over 10 Mbit/s, 40 ms and 60 packets of queue.
fn greedy(law: &str, receiver: Option<&str>) -> Pair {
    let config = config(law, receiver);
    let mut pair = pair_of(&config, &config, ms(20));
    pair.ns_per_byte = 800;
    pair.queue_bytes = 90_000;
    pair.establish();
    pair.write(0, 1 << 40);
    pair
}

#[test]
fn fills_an_empty_link_under_each_sender_law() {
    for law in laws_of(Side::Sender) {
        let mut pair = greedy(law.name, None);
        pair.run_until(Nanos::from_secs(20));
        let at_20 = pair.ends[1].received_bytes();
        pair.run_until(Nanos::from_secs(40));
        let goodput = (pair.ends[1].received_bytes() - at_20) * 8 / 20;
        // TCP-LP steps aside for its own queue, too.
        let least = if law.name.starts_with("tcp-lp") {
            5_000_000
        } else {
            8_000_000
        };
        assert!(goodput > least, "{}: {goodput} bit/s", law.name);
        let counters = pair.ends[0].counters();
        assert!(
            counters.resent_pkts * 20 < counters.sent_pkts,
            "{}: {counters:?}",
            law.name
        );
    }
}

#[test]
fn fills_an_empty_link_under_each_receiver_law_that_wants_that() {
    for law in laws_of(Side::Receiver).filter(|law| law.name != "rate") {
        let mut pair = greedy("cubic", Some(law.name));
        pair.run_until(Nanos::from_secs(20));
        let at_20 = pair.ends[1].received_bytes();
        pair.run_until(Nanos::from_secs(40));
        let goodput = (pair.ends[1].received_bytes() - at_20) * 8 / 20;
        assert!(goodput > 7_500_000, "{}: {goodput} bit/s", law.name);
        assert_eq!(pair.ends[0].counters().timeouts, 0, "{}", law.name);
    }
}

#[test]
fn advertises_what_the_receiver_law_wants_once_the_right_edge_allows_it() {
    let mut pair = greedy("cubic", Some("ebb"));
    let mut edge = 0;
    let mut bound = 0;
    while pair.now < Nanos::from_secs(20) {
        assert!(pair.step(Nanos(u64::MAX)));
        let now_edge = pair.ends[1].right_edge_bytes();
        assert!(now_edge >= edge, "the right edge moved back");
        edge = now_edge;
        let info = pair.ends[1].info();
        let wanted = info.law_window_bytes.unwrap_or(u32::MAX).max(1_152);
        // Rounding of the scale, and what was promised before.
        bound += u32::from(info.advertised_window_bytes <= wanted.saturating_add(64));
    }
    assert!(bound > 1_000);
}

#[test]
fn begins_with_the_window_that_the_law_wants() {
    // LEDBAT and LEDBAT++ have a first window of their own; the host's is ten segments.
    let laws = [
        ("reno", 10),
        ("ledbat", 2),
        ("ledbat:init_cwnd_pkts=1", 1),
        ("ledbat:init_cwnd_pkts=12,slow_start=0", 12),
        ("ledbat++", 2),
        ("ledbat++:least_pkts=4", 4),
    ];
    for (law, first_pkts) in laws {
        let mut pair = pair(TcpOptions::LINUX, law, ms(50));
        pair.establish();
        pair.write(0, 1 << 20);
        pair.run_until(pair.now + ms(60));
        assert_eq!(pair.data_from(0).len(), first_pkts, "{law}");
    }
}

#[test]
fn lets_a_law_watch_without_obeying_it() {
    let run = |receiver: Option<&str>, is_observing: bool| {
        let mut pair = greedy("cubic", receiver);
        pair.ends[1].set_observing(is_observing);
        pair.run_until(Nanos::from_secs(10));
        (
            pair.ends[1].received_bytes(),
            pair.ends[0].counters().resent_pkts,
        )
    };
    assert_eq!(run(Some("ebb"), true), run(None, false));
    assert_ne!(run(Some("ebb"), false), run(None, false));
}

#[test]
fn lets_go_when_the_law_is_to_watch_from_now_on() {
    let mut pair = greedy("cubic", Some("rate:target_kbit_per_s=1000"));
    pair.run_until(Nanos::from_secs(20));
    let held = pair.ends[1].received_bytes();
    pair.ends[1].set_observing(true);
    pair.run_until(Nanos::from_secs(40));
    let free = pair.ends[1].received_bytes() - held;
    assert!(free > 4 * held, "{held} bytes, then {free}");
}

#[test]
fn paces_a_window_over_the_round_trip() {
    let options = TcpOptions {
        pacing: Pacing::On,
        ..TcpOptions::LINUX
    };
    let mut pair = pair(options, "reno", ms(50));
    pair.establish();
    pair.write(0, 1 << 30);
    pair.run_until(pair.now + ms(500));
    let data = pair.data_from(0);
    let late: Vec<_> = data.iter().filter(|sent| sent.at > ms(450)).collect();
    let bursts = late.windows(2).filter(|two| two[0].at == two[1].at).count();
    assert!(late.len() > 50 && bursts == 0, "{bursts} of {}", late.len());
}

#[test]
fn sends_bursts_as_large_as_it_is_told_to_at_the_most() {
    // The pace is up to twice 100 Mbit/s, of which a millisecond is 17 segments, and more
    // while the smoothed round-trip time lags behind a queue that grows.
    let largest = |tso_pkts| {
        let options = TcpOptions {
            pacing: Pacing::On,
            tso_pkts,
            ..TcpOptions::LINUX
        };
        let mut pair = pair(options, "reno", ms(50));
        pair.ns_per_byte = 80;
        pair.establish();
        pair.write(0, 1 << 30);
        pair.run_until(pair.now + Nanos::from_secs(2));
        let data = pair.data_from(0);
        let late: Vec<_> = data.iter().filter(|sent| sent.at > ms(1_000)).collect();
        let bursts = late.chunk_by(|one, next| one.at == next.at);
        bursts.map(<[_]>::len).max().unwrap()
    };
    assert_eq!([1, 4].map(largest), [1, 4]);
    let free = largest(44);
    assert!((8..=34).contains(&free), "{free}");
}

#[test]
fn does_not_grow_a_window_that_the_application_leaves_empty() {
    let mut pair = pair(TcpOptions::LINUX, "reno", ms(50));
    pair.establish();
    // Five segments each round trip.
    for _ in 0..100 {
        pair.write(0, 5 * MSS);
        pair.run_until(pair.now + ms(100));
    }
    let info = pair.ends[0].info();
    assert!(info.cwnd_pkts <= 20, "{info:?}");
    assert_eq!(pair.ends[1].received_bytes(), 500 * MSS);
}

#[test]
fn sends_small_segments_where_the_law_asks_for_them() {
    // TCP-LP below five packets (its paper, §IV-D): a busy path keeps its window there.
    let config = config("tcp-lp", None);
    let mut pair = pair_of(&config, &config, ms(20));
    pair.ns_per_byte = 800;
    pair.queue_bytes = 90_000;
    let mut count = 0_u32;
    pair.disturb(move |sent| {
        count += u32::from(sent.from == 0 && sent.segment.payload_bytes > 0);
        if sent.from == 0 && count % 25 == 24 {
            Fate::IsLost
        } else {
            Fate::Arrives
        }
    });
    pair.establish();
    pair.write(0, 1 << 40);
    pair.run_until(Nanos::from_secs(20));
    let small = pair
        .data_from(0)
        .iter()
        .filter(|sent| sent.segment.payload_bytes < 1_448)
        .count();
    assert!(small > 20, "{small}");
    let counters = pair.ends[0].counters();
    assert!(pair.ends[1].received_bytes() > 1_000_000, "{counters:?}");
}
