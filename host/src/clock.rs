// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clocks that all processes of this machine, and its eBPF programs, share.

use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime};

/// The time since 1970, by the clock that people set.
pub fn unix_time() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// The time on CLOCK_MONOTONIC, which is that of `bpf_ktime_get_ns`. *Units*: ns.
pub fn monotonic_ns() -> u64 {
    let now = read(ClockId::CLOCK_MONOTONIC);
    now.as_secs() * 1_000_000_000 + u64::from(now.subsec_nanos())
}

/// The processor time that the calling thread has used.
pub fn thread_processor_time() -> Duration {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time that all threads of this process have used.
pub fn processor_time() -> Duration {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: ClockId) -> Duration {
    // Every Linux has all of them, and refuses none.
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

    #[test]
    fn what_another_thread_uses_is_the_process_s() {
        let (of_process, of_thread) = (processor_time(), thread_processor_time());
        let busy = Duration::from_millis(30);
        let other = std::thread::spawn(move || while thread_processor_time() < busy {});
        other.join().unwrap();
        assert!(processor_time() - of_process >= busy);
        assert!(thread_processor_time() - of_thread < busy);
    }
}
