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

/// The clock of RFC 7323 timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimestampClock {
    tick: Nanos,
    offset: u32,
    drift_ppm: i32,
    /// The tick shown last lasts from here to there.
    shown_from: Nanos,
    shown_until: Nanos,
    shown: u32,
}

impl TimestampClock {
    pub(super) fn new(tick: Nanos, offset: u32, drift_ppm: i32) -> Self {
        Self {
            tick,
            offset,
            drift_ppm,
            shown_from: NEVER,
            shown_until: Nanos::ZERO,
            shown: 0,
        }
    }

    /// What the clock shows.
    #[inline]
    pub(super) fn at(&mut self, now: Nanos) -> u32 {
        if now < self.shown_from || now >= self.shown_until {
            self.look(now);
        }
        self.shown
    }

    fn look(&mut self, now: Nanos) {
        if self.drift_ppm != 0 {
            return self.look_with_drift(now);
        }
        let ticks = now.0 / self.tick.0;
        self.shown_from = Nanos(ticks * self.tick.0);
        self.shown_until = self.shown_from + self.tick;
        self.shown = (ticks as u32).wrapping_add(self.offset);
    }

    #[cold]
    fn look_with_drift(&mut self, now: Nanos) {
        let rate = u128::from(1_000_000_u32.saturating_add_signed(self.drift_ppm));
        let tick = u128::from(self.tick.0) * 1_000_000;
        let ticks = u128::from(now.0) * rate / tick;
        // First nanosecond at which the clock shows so many ticks.
        let start_of =
            |ticks: u128| Nanos(u64::try_from((ticks * tick).div_ceil(rate)).unwrap_or(u64::MAX));
        self.shown_from = start_of(ticks);
        self.shown_until = start_of(ticks + 1);
        self.shown = (ticks as u32).wrapping_add(self.offset);
    }

    /// Length of a tick, without drift. *Units:* µs.
    #[inline]
    pub(super) fn tick_us(&self) -> u32 {
        u32::try_from(self.tick.0 / 1_000).unwrap_or(u32::MAX)
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
        let mut clock = TimestampClock::new(Nanos::from_millis(1), 100, 0);
        assert_eq!(clock.at(Nanos(0)), 100);
        assert_eq!(clock.at(Nanos(999_999)), 100);
        assert_eq!(clock.at(Nanos(1_000_000)), 101);
        assert_eq!(clock.at(Nanos(5_999_999)), 105);
        assert_eq!(clock.at(Nanos(1_500_000)), 101);
    }

    #[test]
    fn runs_fast_by_its_drift_and_wraps() {
        // 100 ppm of 1000 s are 100 ms.
        let mut clock = TimestampClock::new(Nanos::from_millis(1), 0, 100);
        assert_eq!(clock.at(Nanos::from_secs(1_000)), 1_000_100);
        let mut clock = TimestampClock::new(Nanos::from_millis(10), u32::MAX, -100);
        assert_eq!(clock.at(Nanos::from_secs(1_000)), 99_990 - 1);
    }
}
