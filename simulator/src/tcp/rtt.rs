// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Round-trip times: smoothed, their variance, the retransmission time-out, the least.

use ebb_link::Nanos;
use ebb_scenario::{TcpOptions, TcpProfile};

/// RFC 6298 with Linux's variance: it grows at once, shrinks once a round trip, and is at
/// least the lower end of the time-out. The papers' profile bounds the whole instead.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RttEstimator {
    /// Smoothed, times 8; 0: none. *Units:* µs.
    srtt_us_x8: u32,
    /// Mean deviation, times 4. *Units:* µs.
    deviation_us_x4: u32,
    /// Its largest value in this round trip.
    max_deviation_us_x4: u32,
    /// What the time-out adds to the smoothed time. *Units:* µs.
    variance_us: u32,
    /// This round trip ends when this byte is acknowledged.
    round_end: u64,
    rto: Nanos,
}

impl RttEstimator {
    pub(super) fn new(options: &TcpOptions) -> Self {
        Self {
            srtt_us_x8: 0,
            deviation_us_x4: 0,
            max_deviation_us_x4: 0,
            variance_us: 0,
            round_end: 0,
            rto: options.initial_rto,
        }
    }

    /// Smoothed round-trip time; 0: none. *Units:* µs.
    #[inline]
    pub(super) fn srtt_us(&self) -> u32 {
        self.srtt_us_x8 >> 3
    }

    /// The time-out, without backoff.
    #[inline]
    pub(super) fn rto(&self) -> Nanos {
        self.rto
    }

    /// Takes a sample; `una` and `nxt` say what is acknowledged and sent.
    #[inline]
    pub(super) fn add(&mut self, rtt_us: u32, una: u64, nxt: u64, options: &TcpOptions) {
        let floor_us = match options.profile {
            TcpProfile::Linux => micros(options.min_rto),
            TcpProfile::Paper => 0,
        };
        let rtt_us = rtt_us.clamp(1, u32::MAX >> 4);
        if self.srtt_us_x8 == 0 {
            self.srtt_us_x8 = rtt_us << 3;
            self.deviation_us_x4 = rtt_us << 1;
            self.variance_us = self.deviation_us_x4.max(floor_us);
            self.max_deviation_us_x4 = self.variance_us;
            self.round_end = nxt;
        } else {
            self.smooth(rtt_us);
            self.bound_variance(una, nxt, floor_us);
        }
        let rto = Nanos(u64::from(self.srtt_us() + self.variance_us) * 1_000);
        self.rto = match options.profile {
            TcpProfile::Linux => rto.min(options.max_rto),
            TcpProfile::Paper => {
                let tick = options.timer_granularity.0.max(1);
                Nanos(rto.0.next_multiple_of(tick)).clamp(options.min_rto, options.max_rto)
            }
        };
    }

    fn smooth(&mut self, rtt_us: u32) {
        let smoothed = self.srtt_us_x8 >> 3;
        let deviation = self.deviation_us_x4 >> 2;
        if rtt_us >= smoothed {
            let error = rtt_us - smoothed;
            self.srtt_us_x8 += error;
            self.deviation_us_x4 = self.deviation_us_x4 - deviation + error;
        } else {
            let error = smoothed - rtt_us;
            self.srtt_us_x8 = (self.srtt_us_x8 - error).max(1);
            // A falling time is no reason for a longer time-out: an eighth of the gain.
            if error > deviation {
                self.deviation_us_x4 += (error - deviation) >> 3;
            } else {
                self.deviation_us_x4 -= deviation - error;
            }
        }
    }

    fn bound_variance(&mut self, una: u64, nxt: u64, floor_us: u32) {
        if self.deviation_us_x4 > self.max_deviation_us_x4 {
            self.max_deviation_us_x4 = self.deviation_us_x4;
            self.variance_us = self.variance_us.max(self.max_deviation_us_x4);
        }
        if una > self.round_end {
            if self.max_deviation_us_x4 < self.variance_us {
                self.variance_us -= (self.variance_us - self.max_deviation_us_x4) >> 2;
            }
            self.round_end = nxt;
            self.max_deviation_us_x4 = floor_us;
        }
    }
}

fn micros(time: Nanos) -> u32 {
    u32::try_from(time.0 / 1_000).unwrap_or(u32::MAX >> 2)
}

/// The least round-trip time of the last five minutes, as Linux keeps it: the least, the
/// least after it, the least after that. Times and values stand apart, which needs no padding.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct LeastRtt {
    at: [Nanos; 3],
    us: [u32; 3],
}

/// How long a sample counts.
const LEAST_RTT_WINDOW: Nanos = Nanos::from_secs(300);

impl LeastRtt {
    pub(super) const NONE: Self = Self {
        at: [Nanos::ZERO; 3],
        us: [u32::MAX; 3],
    };

    /// *Units:* µs; `u32::MAX` before the first sample.
    #[inline]
    pub(super) fn us(&self) -> u32 {
        self.us[0]
    }

    #[inline]
    pub(super) fn add(&mut self, now: Nanos, rtt_us: u32) {
        let rtt_us = rtt_us.max(1);
        let is_stale = now.since(self.at[2]) > LEAST_RTT_WINDOW;
        if rtt_us <= self.us[0] || is_stale {
            self.at = [now; 3];
            self.us = [rtt_us; 3];
            return;
        }
        if rtt_us <= self.us[1] {
            self.set_from(1, now, rtt_us);
        } else if rtt_us <= self.us[2] {
            self.set_from(2, now, rtt_us);
        }
        self.age(now, rtt_us);
    }

    /// Lets the second best take over before the best is too old.
    fn age(&mut self, now: Nanos, rtt_us: u32) {
        let age = now.since(self.at[0]);
        if age > LEAST_RTT_WINDOW {
            self.shift(now, rtt_us);
            if now.since(self.at[0]) > LEAST_RTT_WINDOW {
                self.shift(now, rtt_us);
            }
        } else if self.at[1] == self.at[0] && age.0 > LEAST_RTT_WINDOW.0 / 4 {
            self.set_from(1, now, rtt_us);
        } else if self.at[2] == self.at[1] && age.0 > LEAST_RTT_WINDOW.0 / 2 {
            self.set_from(2, now, rtt_us);
        }
    }

    /// Makes it the sample at this place and at those after it.
    #[inline]
    fn set_from(&mut self, place: usize, now: Nanos, rtt_us: u32) {
        self.at[place..].fill(now);
        self.us[place..].fill(rtt_us);
    }

    fn shift(&mut self, now: Nanos, rtt_us: u32) {
        self.at = [self.at[1], self.at[2], now];
        self.us = [self.us[1], self.us[2], rtt_us];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_the_variance_by_200_ms_and_not_the_whole_as_linux_does() {
        let mut rtt = RttEstimator::new(&TcpOptions::LINUX);
        assert_eq!(rtt.rto(), Nanos::from_secs(1));
        // First sample 100 ms: srtt 100 ms, variance max(4 * 50 ms, 200 ms).
        rtt.add(100_000, 1, 10, &TcpOptions::LINUX);
        assert_eq!(rtt.rto(), Nanos::from_millis(300));
        for step in 1..200 {
            rtt.add(100_000, step * 10, step * 10 + 10, &TcpOptions::LINUX);
        }
        assert_eq!(rtt.rto(), Nanos::from_millis(300));
        assert_eq!(rtt.srtt_us(), 100_000);
    }

    #[test]
    fn bounds_the_whole_by_a_second_and_counts_in_ticks_in_the_papers_profile() {
        let mut rtt = RttEstimator::new(&TcpOptions::PAPER);
        rtt.add(100_000, 1, 10, &TcpOptions::PAPER);
        assert_eq!(rtt.rto(), Nanos::from_secs(1));
        // 800 ms + 4 * 400 ms = 2.4 s.
        let mut rtt = RttEstimator::new(&TcpOptions::PAPER);
        rtt.add(777_000, 1, 10, &TcpOptions::PAPER);
        // 777 + 1554 = 2331 ms, in ticks of 100 ms.
        assert_eq!(rtt.rto(), Nanos::from_millis(2_400));
    }

    #[test]
    fn forgets_the_least_time_after_five_minutes() {
        let mut least = LeastRtt::NONE;
        least.add(Nanos::from_secs(1), 10_000);
        for second in 2..290 {
            least.add(Nanos::from_secs(second), 20_000);
        }
        assert_eq!(least.us(), 10_000);
        for second in 290..310 {
            least.add(Nanos::from_secs(second), 20_000);
        }
        assert_eq!(least.us(), 20_000);
    }
}
