// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clocks that all processes of this machine, and its eBPF programs, share.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The time on CLOCK_MONOTONIC, which is that of `bpf_ktime_get_ns`. *Units*: ns.
pub fn monotonic_ns() -> u64 {
    let now = read(ClockId::CLOCK_MONOTONIC);
    now.as_secs() * 1_000_000_000 + u64::from(now.subsec_nanos())
}

/// The processor time that the calling thread has used.
pub fn thread_processor_time() -> Duration {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: ClockId) -> Duration {
    // Every Linux has both, and refuses neither.
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_thread_sees_time_go_by_without_using_any() {
        let (time_ns, used) = (monotonic_ns(), thread_processor_time());
        std::thread::sleep(Duration::from_millis(50));
        assert!(monotonic_ns() - time_ns >= 50_000_000);
        assert!(thread_processor_time() - used < Duration::from_millis(25));
    }
}
