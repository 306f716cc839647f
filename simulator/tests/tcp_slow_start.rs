// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How CUBIC's slow start ends where the queue is long: with HyStart++ (RFC 9406), with
//! Linux's HyStart, with neither.

mod tcp_support;

use ebb_link::Nanos;
use ebb_scenario::TcpOptions;
use ebb_simulator::tcp::TcpConfig;
use tcp_support::{Pair, ms, pair_of};

const NO_SSTHRESH_PKTS: u32 = 0x7fff_ffff;
/// 20 Mbit/s and 100 ms hold 167 segments of 1500 bytes.
const PATH_PKTS: u32 = 167;
/// Twelve times that wait at the most.
const QUEUE_BYTES: u64 = 3_000_000;

/// The window at the end of each round trip of slow start, then the threshold.
struct SlowStart {
    windows_pkts: Vec<u32>,
    ssthresh_pkts: u32,
    resent_pkts: u64,
}

fn slow_start(law: &str) -> SlowStart {
    let config = TcpConfig::new(TcpOptions::LINUX, law, None).unwrap();
    let mut pair: Pair = pair_of(&config, &config, ms(50));
    pair.ns_per_byte = 400;
    pair.queue_bytes = QUEUE_BYTES;
    pair.establish();
    pair.write(0, 1 << 40);
    let mut windows_pkts = vec![pair.ends[0].info().cwnd_pkts];
    let mut round_end_bytes = pair.ends[0].counters().sent_bytes;
    while pair.ends[0].info().ssthresh_pkts == NO_SSTHRESH_PKTS {
        assert!(pair.step(Nanos::from_secs(60)), "slow start has no end");
        if pair.ends[0].acknowledged_bytes() >= round_end_bytes {
            round_end_bytes = pair.ends[0].counters().sent_bytes;
            windows_pkts.push(pair.ends[0].info().cwnd_pkts);
        }
    }
    let ssthresh_pkts = pair.ends[0].info().ssthresh_pkts;
    // What was lost shows within a few round trips.
    pair.run_until(pair.now + Nanos::from_secs(3));
    SlowStart {
        windows_pkts,
        ssthresh_pkts,
        resent_pkts: pair.ends[0].counters().resent_pkts,
    }
}

fn growth(windows_pkts: &[u32]) -> Vec<f64> {
    let pairs = windows_pkts.windows(2);
    pairs
        .map(|pair| f64::from(pair[1]) / f64::from(pair[0]))
        .collect()
}

#[test]
fn without_hystart_slow_start_fills_the_queue_and_loses_a_hundred_segments() {
    let run = slow_start("cubic:hystart=0");
    assert!(run.resent_pkts > 100, "{}", run.resent_pkts);
}

#[test]
fn hystart_plus_grows_by_a_quarter_of_that_for_five_rounds_once_the_delay_grows() {
    let run = slow_start("cubic:hystart=1");
    assert_eq!(run.resent_pkts, 0);
    let growth = growth(&run.windows_pkts);
    // RFC 9406 §4.2: CSS_GROWTH_DIVISOR 4, CSS_ROUNDS 5. The rounds before them double.
    let first_slow = growth.iter().position(|factor| *factor < 1.6).unwrap();
    assert!(first_slow >= 4, "10 segments double to 160: {growth:.2?}");
    let fast = &growth[1..first_slow - 1];
    assert!(fast.iter().all(|factor| *factor > 1.8), "{growth:.2?}");
    let slow = &growth[first_slow..];
    assert!((4..=5).contains(&slow.len()), "{growth:.2?}");
    let is_quarter = |factor: &f64| (1.1..1.6).contains(factor);
    assert!(slow.iter().all(is_quarter), "{growth:.2?}");
}

#[test]
fn linuxs_hystart_ends_slow_start_about_when_the_path_is_full() {
    let run = slow_start("cubic:hystart=2");
    assert_eq!(run.resent_pkts, 0);
    let bounds_pkts = PATH_PKTS / 2..2 * PATH_PKTS;
    let ssthresh_pkts = run.ssthresh_pkts;
    assert!(bounds_pkts.contains(&ssthresh_pkts), "{ssthresh_pkts}");
}
