// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PIE: proportional integral controller enhanced, RFC 8033.
//!
//! The basic scheme (section 4) with ECN (5.1), capped adjustment (5.5) and
//! derandomisation (5.4). Differences and choices:
//! 1. The delay is that of the packet sent last, as section 4.3 allows; no departure
//!    rate is estimated.
//! 2. The controller runs each update period from the first packet on.
//! 3. It is always on (no activation at a third of the buffer, section 5.3).
use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::random::{Purpose, Stream};
use crate::{DropCause, Nanos, Packet, PieSpec, Rejected};

/// Below so many bytes nothing is dropped: two packets of MEAN_PKTSIZE. [4.1]
const SPARED_BYTES: u64 = 2 * 1_024;
/// Above this probability packets are dropped even if they could be marked. [5.1]
const MARK_LIMIT: f64 = 0.1;
/// Bounds of the probability that has added up since the last drop. [5.4]
const SPREAD_LOW: f64 = 0.85;
const SPREAD_HIGH: f64 = 8.5;
/// Above a probability of a tenth it grows by this per update at the most. [5.5]
const GROWTH_LIMIT: f64 = 0.02;
/// What the probability keeps per update without any delay. [4.2]
const DECAY: f64 = 0.98;

pub(crate) struct PieQueue<T> {
    fifo: Fifo<T>,
    spec: PieSpec,
    controller: Controller,
    /// Probability that has added up since the last drop.
    accumulated: f64,
    random: Stream,
}

impl<T> PieQueue<T> {
    pub(crate) fn new(spec: PieSpec, seed: u64) -> Self {
        Self {
            fifo: Fifo::new(spec.limit),
            spec,
            controller: Controller::new(spec),
            accumulated: 0.0,
            random: Stream::new(seed, Purpose::Pie),
        }
    }

    pub(crate) fn push(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        self.controller.run_until(now);
        if !self.fifo.has_room_for(packet.size_bytes) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        if self.is_chosen() {
            self.accumulated = 0.0;
            let may_mark = self.spec.ecn && self.controller.probability <= MARK_LIMIT;
            if !(may_mark && mark(&mut packet, events)) {
                return Err(events.rejected(packet, DropCause::Early));
            }
        }
        self.fifo.push(now, packet);
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Waiting<T>> {
        self.controller.run_until(now);
        let waiting = self.fifo.pop();
        self.controller.delay = match &waiting {
            Some(waiting) if !self.fifo.is_empty() => now.since(waiting.queued_at),
            _ => Nanos::ZERO,
        };
        waiting
    }

    pub(crate) fn fifo(&self) -> &Fifo<T> {
        &self.fifo
    }

    /// `drop_early` of the RFC.
    fn is_chosen(&mut self) -> bool {
        let probability = self.controller.probability;
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        let is_short = self.controller.old_delay.0 < self.spec.target.0 / 2 && probability < 0.2;
        if self.controller.burst_allowance > Nanos::ZERO
            || is_short
            || self.fifo.bytes() <= SPARED_BYTES
        {
            return false;
        }
        self.accumulated += probability;
        if self.accumulated < SPREAD_LOW {
            return false;
        }
        self.accumulated >= SPREAD_HIGH || self.random.unit() < probability
    }
}

/// The probability and how it follows the delay.
struct Controller {
    spec: PieSpec,
    probability: f64,
    delay: Nanos,
    old_delay: Nanos,
    burst_allowance: Nanos,
    next_update: Option<Nanos>,
}

impl Controller {
    fn new(spec: PieSpec) -> Self {
        Self {
            spec,
            probability: 0.0,
            delay: Nanos::ZERO,
            old_delay: Nanos::ZERO,
            burst_allowance: spec.max_burst,
            next_update: None,
        }
    }

    /// Makes up for all updates until `now`; nothing has changed since the last call.
    fn run_until(&mut self, now: Nanos) {
        let update = self.spec.update;
        let next = *self.next_update.get_or_insert(now + update);
        if next > now {
            return;
        }
        let missed = 1 + now.since(next).0 / update.0;
        for _ in 0..missed {
            let before = (self.probability, self.burst_allowance, self.old_delay);
            self.update();
            // Without traffic nothing changes any more.
            if before == (self.probability, self.burst_allowance, self.old_delay) {
                break;
            }
        }
        self.next_update = Some(next + Nanos(missed.saturating_mul(update.0)));
    }

    fn update(&mut self) {
        let (delay, old_delay) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let target = self.spec.target.as_secs_f64();
        let adjustment = self.spec.alpha * (delay - target) + self.spec.beta * (delay - old_delay);
        let mut adjustment = adjustment / f64::from(damping(self.probability));
        if self.probability >= 0.1 {
            adjustment = adjustment.min(GROWTH_LIMIT);
        }
        self.probability += adjustment;
        if self.delay == Nanos::ZERO && self.old_delay == Nanos::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let half = Nanos(self.spec.target.0 / 2);
        self.burst_allowance = self.burst_allowance - self.spec.update;
        if self.probability == 0.0 && self.delay < half && self.old_delay < half {
            self.burst_allowance = self.spec.max_burst;
        }
        self.old_delay = self.delay;
    }
}

/// The smaller the probability, the smaller its steps. [4.2]
fn damping(probability: f64) -> u16 {
    const STEPS: [(f64, u16); 6] = [
        (0.000_001, 2_048),
        (0.000_01, 512),
        (0.000_1, 128),
        (0.001, 32),
        (0.01, 8),
        (0.1, 2),
    ];
    let step = STEPS.iter().find(|(below, _)| probability < *below);
    step.map_or(1, |(_, divisor)| *divisor)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{full, keeping};
    use super::*;
    use crate::Ecn;

    const MS: u64 = 1_000_000;

    fn controller() -> Controller {
        Controller {
            next_update: Some(Nanos(15 * MS)),
            ..Controller::new(PieSpec::default())
        }
    }

    #[test]
    fn probability_follows_delay_and_its_growth_by_the_equation() {
        let mut controller = controller();
        controller.probability = 0.05;
        controller.old_delay = Nanos(20 * MS);
        controller.delay = Nanos(40 * MS);
        controller.run_until(Nanos(15 * MS));
        // 0.125 * (0.040 - 0.015) + 1.25 * (0.040 - 0.020) = 0.028125, below 0.1 halved.
        assert!((controller.probability - 0.064_062_5).abs() < 1e-12);
        controller.run_until(Nanos(29 * MS));
        assert!(
            (controller.probability - 0.064_062_5).abs() < 1e-12,
            "not before its time"
        );
        controller.run_until(Nanos(30 * MS));
        // 0.125 * 0.025 / 2.
        assert!((controller.probability - 0.065_625).abs() < 1e-12);
    }

    #[test]
    fn steps_are_damped_and_capped() {
        for (probability, divisor) in [(0.0, 2_048), (5e-6, 512), (0.005, 8), (0.1, 1)] {
            assert_eq!(damping(probability), divisor);
        }
        let mut controller = controller();
        controller.probability = 0.5;
        controller.delay = Nanos(1_000 * MS);
        controller.run_until(Nanos(15 * MS));
        // 0.125 * 0.985 + 1.25 * 1 is far more than 0.02.
        assert!((controller.probability - 0.52).abs() < 1e-12);
    }

    #[test]
    fn probability_decays_without_delay_and_bursts_are_allowed_again() {
        let mut controller = controller();
        controller.probability = 0.5;
        controller.burst_allowance = Nanos::ZERO;
        controller.run_until(Nanos(15 * MS));
        // (0.5 - 0.125 * 0.015) * 0.98.
        assert!((controller.probability - 0.488_162_5).abs() < 1e-12);
        controller.run_until(Nanos(60_000 * MS));
        assert_eq!(controller.probability, 0.0);
        assert_eq!(controller.burst_allowance, Nanos(150 * MS));
        // 4000 updates by then, the next is due 15 ms later.
        assert_eq!(controller.next_update, Some(Nanos(60_015 * MS)));
    }

    #[test]
    fn nothing_is_dropped_in_the_first_150_ms_of_congestion() {
        let mut queue = PieQueue::new(PieSpec::default(), 1);
        let mut events = keeping();
        let mut first_drop = None;
        for ms in 0..400 {
            // Two arrive, one leaves.
            for _ in 0..2 {
                if queue.push(Nanos(ms * MS), full(0), &mut events).is_err() {
                    first_drop.get_or_insert(ms);
                }
            }
            queue.pop(Nanos(ms * MS));
        }
        let first_drop = first_drop.expect("the queue grew to 200 ms");
        assert!((150..300).contains(&first_drop), "{first_drop}");
    }

    /// A source of twice the rate for 20 s whose packets are answered by nobody; the
    /// share that was dropped, and marked, in the second half.
    fn overload(ecn: Ecn, seed: u64) -> (f64, f64) {
        let mut queue = PieQueue::new(PieSpec::default(), seed);
        let mut events = keeping();
        for ms in 0..20_000 {
            if ms == 10_000 {
                events = keeping();
            }
            for _ in 0..2 {
                let _ = queue.push(Nanos(ms * MS), full(0).with_ecn(ecn), &mut events);
            }
            queue.pop(Nanos(ms * MS));
            assert!(queue.fifo.len_pkts() <= 1_000);
        }
        let counted = events.statistics.total();
        let share = |pkts: u64| pkts as f64 / 20_000.0;
        (share(counted.dropped_pkts), share(counted.marked_pkts))
    }

    #[test]
    fn drops_half_of_twice_the_rate_and_marks_nothing_at_such_probabilities() {
        let (dropped, _) = overload(Ecn::NotCapable, 1);
        assert!((dropped - 0.5).abs() < 0.02, "{dropped}");
        // Above 10 % also capable packets are dropped.
        let (dropped, marked) = overload(Ecn::Capable, 1);
        assert!(
            (dropped - 0.5).abs() < 0.02 && marked == 0.0,
            "{dropped} {marked}"
        );
    }

    #[test]
    fn marks_capable_packets_at_small_probabilities() {
        let mut queue = PieQueue::new(PieSpec::default(), 1);
        let mut events = keeping();
        queue.controller.probability = 0.05;
        queue.controller.old_delay = Nanos(20 * MS);
        queue.controller.burst_allowance = Nanos::ZERO;
        for number in 0..1_000 {
            let packet = full(number).with_ecn(Ecn::Capable);
            queue.push(Nanos::ZERO, packet, &mut events).unwrap();
        }
        let marked = events.statistics.total().marked_pkts;
        // Not before 0.85 / 0.05 = 17 packets, then one in twenty: 1000 / (16 + 20).
        assert!(marked.abs_diff(28) < 12, "{marked}");
    }

    #[test]
    fn equal_seeds_drop_equal_packets() {
        assert_eq!(overload(Ecn::NotCapable, 3), overload(Ecn::NotCapable, 3));
        assert_ne!(overload(Ecn::NotCapable, 3), overload(Ecn::NotCapable, 4));
    }
}
