// SPDX-License-Identifier: Apache-2.0 OR MIT

/// The time on `CLOCK_MONOTONIC`, the same for all processes. *Units:* ns.
pub fn monotonic_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .expect("CLOCK_MONOTONIC exists on every Linux");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Seconds from `epoch_ns` to `now_ns`, negative before it.
pub(crate) fn seconds_since(epoch_ns: u64, now_ns: u64) -> f64 {
    now_ns.wrapping_sub(epoch_ns).cast_signed() as f64 / 1e9
}

/// The time `seconds` after `epoch_ns`. *Units:* ns.
pub(crate) fn after(epoch_ns: u64, seconds: f64) -> u64 {
    epoch_ns + (seconds * 1e9).round() as u64
}
