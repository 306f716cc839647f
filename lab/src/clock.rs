// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab's one clock.
use ebb_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// The time of CLOCK_MONOTONIC, in which all times of the lab are given.
pub fn monotonic_now() -> Nanos {
    now(ClockId::CLOCK_MONOTONIC)
}

/// The processor time that the calling thread has used.
pub fn thread_cpu_time() -> Nanos {
    now(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn now(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock).expect("Linux has these clocks");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
