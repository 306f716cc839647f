// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the tests of both directions share: QUIC over an emulated link, and what came through.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod cases;
#[path = "../../../cli/tests/transfers/greedy.rs"]
pub mod greedy;
pub mod keys;
pub mod streams;
pub mod transfer;

use std::time::{Duration, Instant};

use ebb_lab::emulator::{PathReport, PathSpec};
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};

/// Less than best effort: QUIC.
pub const OURS: u16 = 8_443;
/// Best effort: one greedy TCP connection.
pub const OTHERS: u16 = 8_080;

const LINK_MBIT_PER_S: f64 = 10.0;

/// The link of the figures: 10 Mbit/s with a queue of 86 packets and RTT 100 ms.
pub fn path() -> PathSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
    let link = || LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86));
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link(), link())
    }
}

/// Of the link, what a class had of it from one time to another, counted from the emulator's start.
pub fn share(path: &PathReport, class: Class, [from, until]: [Duration; 2]) -> f64 {
    let series = &path.forward.series;
    let at = |time: Duration| series.epoch + Nanos(time.as_nanos() as u64);
    let bytes = series.between(class, at(from), at(until)).sent_bytes;
    bytes as f64 * 8e-6 / (until - from).as_secs_f64() / LINK_MBIT_PER_S
}

pub fn wait_until(time: Instant) {
    std::thread::sleep(time.saturating_duration_since(Instant::now()));
}
