// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::{Nanos, RateSteps};

/// A rate that changes: exact, what is left below a nanosecond is carried on.
pub(crate) struct StepsClock {
    rates: RateSteps,
    bit_ns_of_period: u128,
    /// What the last nanosecond of the last packet can still carry. *Units:* 10^-9 bits.
    surplus: u128,
    /// The steps start with the first packet.
    origin: Option<Nanos>,
}

impl StepsClock {
    pub(super) fn new(rates: RateSteps) -> Self {
        Self {
            bit_ns_of_period: rates.bit_ns_of_period(),
            rates,
            surplus: 0,
            origin: None,
        }
    }

    pub(super) fn end_of(&mut self, start: Nanos, size_bytes: u32, is_continuing: bool) -> Nanos {
        let origin = *self.origin.get_or_insert(start);
        let carried = if is_continuing { self.surplus } else { 0 };
        let mut missing = (u128::from(size_bytes) * 8_000_000_000).saturating_sub(carried);
        // A whole period carries the same from wherever it is counted.
        let periods = missing / self.bit_ns_of_period;
        missing %= self.bit_ns_of_period;
        let period = self.rates.period();
        let skipped = Nanos(
            u64::try_from(periods)
                .unwrap_or(u64::MAX)
                .saturating_mul(period.0),
        );
        let mut end = start + skipped;
        loop {
            let offset = Nanos(end.since(origin).0 % period.0);
            let (step, until) = self.rates.at(offset);
            let rate = u128::from(step.bits_per_s);
            let room = rate * u128::from(until.since(offset).0);
            if room >= missing {
                // Fits: it is at most the length of the step.
                let ns = missing
                    .checked_div(rate)
                    .map_or(0, |whole| whole + u128::from(whole * rate < missing));
                self.surplus = ns * rate - missing;
                return end + Nanos(ns as u64);
            }
            missing -= room;
            end += until.since(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(text: &str) -> StepsClock {
        StepsClock::new(RateSteps::parse("t", text).unwrap())
    }

    #[test]
    fn a_packet_goes_on_through_changes_and_silence() {
        // 1 Mbit/s for 10 ms, nothing for 5 ms, 2 Mbit/s for 5 ms.
        let mut clock = clock("0 1mbit\n10 0\n15 2mbit\n20 end\n");
        let ms = Nanos::from_millis;
        let start = ms(1_000);
        // 1000 bytes are 8 ms; the next 2 ms, then 3 ms at double the rate.
        let first = clock.end_of(start, 1_000, false);
        assert_eq!(first, start + ms(8));
        let second = clock.end_of(first, 1_000, true);
        assert_eq!(second, start + ms(18));
        // 4000 bits in the 2 ms that are left, 4000 in 4 ms of the next period.
        assert_eq!(clock.end_of(second, 1_000, true), start + ms(24));
        // One that begins in the silence waits for its end; 2000 bits take 1 ms then.
        assert_eq!(clock.end_of(start + ms(32), 250, false), start + ms(36));
    }

    #[test]
    fn a_packet_of_many_periods_takes_them_all() {
        // A period carries 20 000 bits, 2500 bytes.
        let mut clock = clock("0 1mbit\n10 0\n15 2mbit\n20 end\n");
        let ms = Nanos::from_millis;
        let end = clock.end_of(Nanos::ZERO, 2_500 * 1_000 + 125, false);
        assert_eq!(end, ms(20_001));
    }

    #[test]
    fn a_busy_link_does_not_drift() {
        let mut clock = clock("0 7mbit\n1000 end\n");
        let mut end = Nanos::ZERO;
        for number in 0..7_000 {
            end = clock.end_of(end, 125, number > 0);
        }
        // 7 * 10^6 bits at 7 Mbit/s.
        assert_eq!(end, Nanos::from_secs(1));
    }
}
