// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab's one clock.
use ebb_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// The time of CLOCK_MONOTONIC, in which all times of the lab are given.
pub fn monotonic_now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has CLOCK_MONOTONIC");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
