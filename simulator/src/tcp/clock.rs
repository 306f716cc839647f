// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clocks and counters of the wire: 32 bits that wrap.

use ebb_link::Nanos;

/// Time that does not come.
pub(super) const NEVER: Nanos = Nanos(u64::MAX);

/// The full number that a wrapping one means: the one nearest to `near`.
#[inline]
pub(super) fn unwrap32(wire: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(wire.wrapping_sub(near as u32).cast_signed()))
}

/// `a` comes before `b` on a counter that wraps.
#[inline]
pub(super) fn is_before32(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

/// The clock of RFC 7323 timestamps; how long a tick is stands in the configuration.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct TimestampClock {
    /// The tick shown last lasts from here to there.
    shown_from: Nanos,
    shown_until: Nanos,
    shown: u32,
    offset: u32,
    drift_ppm: i32,
}

impl TimestampClock {
    pub(super) fn new(offset: u32, drift_ppm: i32) -> Self {
        Self {
            shown_from: NEVER,
            shown_until: Nanos::ZERO,
            shown: 0,
            offset,
            drift_ppm,
        }
    }

    /// What the clock shows.
    #[inline]
    pub(super) fn at(&mut self, now: Nanos, tick: Nanos) -> u32 {
        if now < self.shown_from || now >= self.shown_until {
            self.look(now, tick);
        }
        self.shown
    }

    fn look(&mut self, now: Nanos, tick: Nanos) {
        if self.drift_ppm != 0 {
            return self.look_with_drift(now, tick);
        }
        let ticks = now.0 / tick.0;
        self.shown_from = Nanos(ticks * tick.0);
        self.shown_until = self.shown_from + tick;
        self.shown = (ticks as u32).wrapping_add(self.offset);
    }

    #[cold]
    fn look_with_drift(&mut self, now: Nanos, tick: Nanos) {
        let rate = u128::from(1_000_000_u32.saturating_add_signed(self.drift_ppm));
        let tick = u128::from(tick.0) * 1_000_000;
        let ticks = u128::from(now.0) * rate / tick;
        // First nanosecond at which the clock shows so many ticks.
        let start_of =
            |ticks: u128| Nanos(u64::try_from((ticks * tick).div_ceil(rate)).unwrap_or(u64::MAX));
        self.shown_from = start_of(ticks);
        self.shown_until = start_of(ticks + 1);
        self.shown = (ticks as u32).wrapping_add(self.offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_full_number_on_both_sides_of_the_wrap() {
        let near = (7_u64 << 32) + 5;
        assert_eq!(unwrap32(9, near), near + 4);
        assert_eq!(unwrap32(u32::MAX, near), near - 6);
        assert_eq!(unwrap32(5, near), near);
    }

    #[test]
    fn ticks_whenever_the_time_is_a_multiple_of_the_tick() {
        let mut clock = TimestampClock::new(100, 0);
        let mut at = |now| clock.at(Nanos(now), Nanos::from_millis(1));
        assert_eq!(at(0), 100);
        assert_eq!(at(999_999), 100);
        assert_eq!(at(1_000_000), 101);
        assert_eq!(at(5_999_999), 105);
        assert_eq!(at(1_500_000), 101);
    }

    #[test]
    fn runs_fast_by_its_drift_and_wraps() {
        // 100 ppm of 1000 s are 100 ms.
        let now = Nanos::from_secs(1_000);
        let mut clock = TimestampClock::new(0, 100);
        assert_eq!(clock.at(now, Nanos::from_millis(1)), 1_000_100);
        let mut clock = TimestampClock::new(u32::MAX, -100);
        assert_eq!(clock.at(now, Nanos::from_millis(10)), 99_990 - 1);
    }
}
