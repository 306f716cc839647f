// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab's one clock: CLOCK_MONOTONIC, the same for all processes of a run.
pub use ebb_host::clock::monotonic_ns;

use ebb_host::clock::thread_processor_time;
use ebb_link::Nanos;

/// The time in which all times of the emulator are given.
pub fn monotonic_now() -> Nanos {
    Nanos(monotonic_ns())
}

/// The processor time that the calling thread has used.
pub fn thread_cpu_time() -> Nanos {
    let used = thread_processor_time();
    Nanos(used.as_secs() * 1_000_000_000 + u64::from(used.subsec_nanos()))
}

/// Seconds from `epoch_ns` to `now_ns`, negative before it.
pub(crate) fn seconds_since(epoch_ns: u64, now_ns: u64) -> f64 {
    now_ns.wrapping_sub(epoch_ns).cast_signed() as f64 / 1e9
}

/// The time `seconds` after `epoch_ns`. *Units:* ns.
pub(crate) fn after(epoch_ns: u64, seconds: f64) -> u64 {
    epoch_ns + (seconds * 1e9).round() as u64
}
