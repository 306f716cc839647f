// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples of the delivery rate (draft-cardwell-iccrg-bbr-congestion-control §4.1): what was
//! delivered while the packet was under way that was sent last, by the slower of sending and
//! acknowledging.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What was known when packets left together.
#[derive(Clone, Debug)]
struct Sent {
    at: Instant,
    delivered_pkts: u64,
    delivered_at: Instant,
    flight_from: Instant,
    is_app_limited: bool,
}

/// A sample; an interval of 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    pub(crate) prior_delivered_pkts: u64,
    pub(crate) delivered_pkts: u32,
    pub(crate) interval_us: u32,
    pub(crate) is_app_limited: bool,
}

/// What is under way, and what has been delivered.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    sent: VecDeque<Sent>,
    delivered_pkts: u64,
    delivered_at: Instant,
    flight_from: Instant,
}

impl Rates {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            sent: VecDeque::new(),
            delivered_pkts: 0,
            delivered_at: now,
            flight_from: now,
        }
    }

    /// Packets on the whole connection.
    pub(crate) fn delivered_pkts(&self) -> u64 {
        self.delivered_pkts
    }

    /// Packets leave, the first that are under way or not.
    pub(crate) fn on_sent(&mut self, now: Instant, is_first: bool, is_app_limited: bool) {
        if is_first {
            self.flight_from = now;
            self.delivered_at = now;
        }
        self.sent.push_back(Sent {
            at: now,
            delivered_pkts: self.delivered_pkts,
            delivered_at: self.delivered_at,
            flight_from: self.flight_from,
            is_app_limited,
        });
    }

    /// So many packets were acknowledged, the last of which was sent then.
    pub(crate) fn on_acks(
        &mut self,
        now: Instant,
        pkts: u32,
        last_sent: Instant,
        least_rtt: Duration,
    ) -> RateSample {
        self.delivered_pkts += u64::from(pkts);
        // Who was sent before it makes no sample any more.
        while self.sent.front().is_some_and(|it| it.at < last_sent) {
            self.sent.pop_front();
        }
        let sampled = self.sent.front().filter(|it| it.at == last_sent).cloned();
        self.delivered_at = now;
        let Some(sent) = sampled else {
            return RateSample::default();
        };
        self.flight_from = sent.at;
        let sending = sent.at.saturating_duration_since(sent.flight_from);
        let acknowledging = now.saturating_duration_since(sent.delivered_at);
        let interval = sending.max(acknowledging);
        // Shorter than any round trip: compressed acknowledgements, no rate.
        if interval < least_rtt {
            return RateSample::default();
        }
        let delivered_pkts = self.delivered_pkts - sent.delivered_pkts;
        RateSample {
            prior_delivered_pkts: sent.delivered_pkts,
            delivered_pkts: u32::try_from(delivered_pkts).unwrap_or(u32::MAX),
            interval_us: crate::controller::micros32(interval),
            is_app_limited: sent.is_app_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_came_while_the_last_packet_was_under_way() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let least_rtt = Duration::from_millis(100);
        let mut rates = Rates::new(began);
        // Two flights of ten, 100 ms apart; the second is acknowledged 20 ms late.
        rates.on_sent(at(0), true, false);
        let first = rates.on_acks(at(100), 10, at(0), least_rtt);
        assert_eq!((first.delivered_pkts, first.interval_us), (10, 100_000));
        rates.on_sent(at(100), false, true);
        let second = rates.on_acks(at(220), 10, at(100), least_rtt);
        assert_eq!((second.delivered_pkts, second.interval_us), (10, 120_000));
        assert_eq!(
            (second.prior_delivered_pkts, second.is_app_limited),
            (10, true)
        );
        assert_eq!(rates.delivered_pkts(), 20);
    }

    #[test]
    fn acknowledgements_faster_than_any_round_trip_are_no_rate() {
        let began = Instant::now();
        let mut rates = Rates::new(began);
        rates.on_sent(began, true, false);
        let later = began + Duration::from_millis(99);
        let sample = rates.on_acks(later, 1, began, Duration::from_millis(100));
        assert_eq!(sample, RateSample::default());
        // What was sent at another time, as a probe for the MTU is, is none either.
        let other = rates.on_acks(later, 1, later, Duration::ZERO);
        assert_eq!(other, RateSample::default());
    }
}
