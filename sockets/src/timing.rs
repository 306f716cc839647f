// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often to look.

use std::time::Duration;

/// Looks in one round trip, while they are few in all.
const LOOKS_PER_RTT: u32 = 16;
/// The shortest and the longest time between two looks at a connection that moves.
const SHORTEST: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(50);
/// A connection that does not move is looked at so often at the least.
const IDLE_LONGEST: Duration = Duration::from_millis(100);
/// Looks at all connections together, per second: each costs some microseconds.
const LOOKS_PER_S: u32 = 1_000;

/// Time to the next look at a connection.
///
/// `moving` connections share the looks; one of them has `rtt_us` as its round trip and did
/// not move for `idle_looks` looks.
pub(crate) fn until_next_look(rtt_us: u32, moving: usize, idle_looks: u32) -> Duration {
    let rtt = Duration::from_micros(rtt_us.into());
    let fair = Duration::from_secs(1) / LOOKS_PER_S * u32::try_from(moving).unwrap_or(u32::MAX);
    let wanted = (rtt / LOOKS_PER_RTT).clamp(SHORTEST, LONGEST).max(fair);
    if idle_looks < 4 {
        return wanted;
    }
    let slower = wanted.saturating_mul(1 << (idle_looks - 3).min(5));
    slower.min(IDLE_LONGEST.max(fair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_connections_are_looked_at_many_times_in_a_round_trip() {
        assert_eq!(until_next_look(100_000, 1, 0), Duration::from_micros(6_250));
        assert_eq!(until_next_look(1_000, 1, 0), SHORTEST);
        assert_eq!(until_next_look(3_000_000, 1, 0), LONGEST);
    }

    #[test]
    fn many_connections_share_a_fixed_number_of_looks() {
        // 1000 looks a second, 100 connections: each ten times a second.
        assert_eq!(until_next_look(100_000, 100, 0), Duration::from_millis(100));
    }

    #[test]
    fn idle_connections_are_looked_at_less_often_but_not_never() {
        let idle = until_next_look(100_000, 1, 100);
        assert_eq!(idle, IDLE_LONGEST);
        assert!(until_next_look(100_000, 1, 5) < idle);
    }
}
