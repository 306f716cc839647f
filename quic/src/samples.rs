// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Round trips that were measured, without those that nobody can have had.
//!
//! quinn reads its clock before it reads its socket. If the machine gives the processor to others in
//! between, what arrives meanwhile is stamped too early, and its round trip is too short, by up to
//! some ten ms. A law would take that for the empty path, and everything after it for others' queue,
//! for minutes. So a round trip shorter than any before counts only once a second one, soon after
//! it, is as short.

use std::time::{Duration, Instant};

/// How long a sample waits for one that says the same.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(500);

/// The least round trip that two samples have shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    least_us: Option<u32>,
    /// A shorter one, and when.
    claimed: Option<(u32, Instant)>,
}

impl Samples {
    /// Takes a sample; answers what it counts for. *Units:* µs.
    pub(crate) fn take(&mut self, now: Instant, sample_us: u32) -> u32 {
        let Some(least_us) = self.least_us else {
            self.least_us = Some(sample_us);
            return sample_us;
        };
        if sample_us >= least_us {
            return sample_us;
        }
        // All that was read at once has one stamp.
        let other = self.claimed.filter(|(_, at)| *at != now);
        let since = |at: Instant| now.saturating_duration_since(at);
        match other.filter(|(_, at)| since(*at) <= CONFIRMED_WITHIN) {
            Some((claimed_us, _)) => {
                let confirmed_us = claimed_us.max(sample_us);
                self.claimed = (sample_us < confirmed_us).then_some((sample_us, now));
                self.least_us = Some(confirmed_us);
                confirmed_us
            }
            None => {
                self.claimed = Some((sample_us, now));
                least_us
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_shorter_than_any_counts_once_two_have_shown_it() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut samples = Samples::default();
        assert_eq!(samples.take(at(0), 101_000), 101_000);
        assert_eq!(samples.take(at(10), 130_000), 130_000);
        // Read at once: one stamp, one sample.
        assert_eq!(samples.take(at(20), 80_000), 101_000);
        assert_eq!(samples.take(at(20), 78_000), 101_000);
        // Too late to say the same.
        assert_eq!(samples.take(at(900), 79_000), 101_000);
        assert_eq!(samples.take(at(950), 70_000), 79_000);
        assert_eq!(samples.take(at(960), 72_000), 72_000);
        assert_eq!(samples.take(at(970), 71_000), 72_000);
        assert_eq!(samples.take(at(980), 110_000), 110_000);
    }
}
