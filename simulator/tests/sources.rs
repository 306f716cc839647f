// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The plain sources of traffic send what they are asked for.

mod common;

use common::Builder;
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{Flow, FlowOutcome, NodeKind, Traffic};
use ebb_simulator::{Options, run};

/// A flow alone on 100 Mbit/s with an RTT of 20 ms, for 10 s.
fn alone(traffic: Traffic, stop: Option<Nanos>) -> FlowOutcome {
    alone_with(traffic, |flow| flow.stop = stop)
}

fn alone_with(traffic: Traffic, set: impl FnOnce(&mut Flow)) -> FlowOutcome {
    let mut builder = Builder::new(Nanos::from_secs(10));
    let hosts = [NodeKind::Host; 2].map(|kind| builder.node(kind));
    let spec = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(100),
        Nanos::from_millis(10),
        QueueLimit::Packets(1_000),
    );
    let there = builder.link(hosts[0], hosts[1], spec.clone());
    let back = builder.link(hosts[1], hosts[0], spec);
    set(builder.flow(traffic, &[there], &[back]));
    let mut outcome = run(&builder.scenario, Options::default()).unwrap();
    outcome.flows.remove(0)
}

#[test]
fn a_fixed_size_arrives_whole_and_says_when() {
    let flow = alone(Traffic::Fixed { bytes: 1_000_000 }, None);
    assert_eq!(flow.measures[0].delivered_bytes, 1_000_000);
    // 80 ms at the rate of the link, and the round trips of handshake and slow start.
    let seconds = flow.completion_s.unwrap();
    assert!((0.12..0.3).contains(&seconds), "{seconds}");
}

#[test]
fn a_single_segment_takes_a_handshake_and_a_way() {
    let flow = alone(Traffic::Fixed { bytes: 100 }, None);
    let seconds = flow.completion_s.unwrap();
    // Three ways of 10 ms, and what 60, 60 and 152 bytes take at 100 Mbit/s.
    assert!((0.030..0.0301).contains(&seconds), "{seconds}");
    let nothing = alone(Traffic::Fixed { bytes: 0 }, None);
    assert!(nothing.completion_s.is_some());
    assert_eq!(nothing.measures[0].delivered_bytes, 0);
}

#[test]
fn a_constant_rate_is_kept_and_ends_when_it_is_stopped() {
    let traffic = Traffic::Constant {
        rate: Rate::from_mbit_per_s(2),
        write_bytes: 1_000,
        backlog_bytes: None,
    };
    let flow = alone(traffic, Some(Nanos::from_secs(4)));
    // A write each 4 ms, the first at once: 1000 before 4 s.
    assert_eq!(flow.measures[0].delivered_bytes, 1_000_000);
}

#[test]
fn what_a_constant_source_could_not_send_it_leaves_out_if_told_so() {
    let delivered = |backlog_bytes| {
        let traffic = Traffic::Constant {
            rate: Rate::from_mbit_per_s(200),
            write_bytes: 1_448,
            backlog_bytes,
        };
        alone(traffic, Some(Nanos::from_secs(2))).measures[0].delivered_bytes
    };
    // 100 Mbit/s for two seconds, and the rest later or not at all.
    let (all, some) = (delivered(None), delivered(Some(10_000)));
    assert!(some < 26_000_000, "{some}");
    assert!(all > 40_000_000, "{all}");
}

#[test]
fn what_is_fetched_comes_half_a_round_trip_later() {
    let seconds = |receiver_connects| {
        let set = |flow: &mut Flow| flow.receiver_connects = receiver_connects;
        alone_with(Traffic::Fixed { bytes: 100 }, set).completion_s
    };
    let (sent, fetched) = (seconds(false).unwrap(), seconds(true).unwrap());
    // A way of 10 ms for the third segment of the handshake, which has 52 bytes: 4.16 µs.
    assert!(
        (fetched - sent - 0.010_004_16).abs() < 1e-8,
        "{sent} {fetched}"
    );
}

#[test]
fn a_greedy_flow_fills_its_link_until_it_is_stopped() {
    let flow = alone(Traffic::Greedy, Some(Nanos::from_secs(5)));
    let mbit = flow.measures[0].delivered_bytes as f64 * 8e-6 / 5.0;
    // 1448 of 1500 bytes at the most.
    assert!((90.0..96.6).contains(&mbit), "{mbit}");
}

#[test]
fn a_square_wave_has_its_two_rates() {
    let wave = |low_rate| Traffic::UdpSquareWave {
        rate: Rate::from_mbit_per_s(8),
        low_rate,
        period: Nanos::from_secs(2),
        packet_bytes: 1_000,
    };
    // 8 Mbit/s: 1000 packets in each of five seconds; 800 kbit/s: 100 in the others.
    let sent = |low_rate| alone(wave(low_rate), None).measures[0].sent_pkts;
    assert_eq!(sent(None), 5_000);
    assert_eq!(sent(Some("800kbit".parse().unwrap())), 5_500);
}

#[test]
fn sizes_and_periods_of_nothing_do_not_hang() {
    let rate = Rate::from_mbit_per_s(1);
    let nothing = Traffic::UdpSquareWave {
        rate,
        low_rate: None,
        period: Nanos::ZERO,
        packet_bytes: 0,
    };
    // 28 bytes are 224 µs.
    assert_eq!(alone(nothing, None).measures[0].sent_pkts, 44_643);
    let nothing = Traffic::Constant {
        rate,
        write_bytes: 0,
        backlog_bytes: None,
    };
    assert!(alone(nothing, None).measures[0].delivered_bytes > 1_000_000);
}
