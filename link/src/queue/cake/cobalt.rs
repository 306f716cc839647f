// SPDX-License-Identifier: Apache-2.0 OR MIT
//! COBALT: CoDel for flows that answer, and BLUE for those that do not.
//!
//! Differences from CoDel (RFC 8289), all of them the authors':
//! 1. The count also falls, at the pace at which it rose, when the delay is below the target.
//! 2. It begins with the second of CoDel's steps: the first two actions are 1/√2 of an
//!    interval apart.
//! 3. The last packet of a queue is never dropped, by the caller.
//! 4. A wait is long only if it is also longer than four full packets take, and than two of
//!    each flow that is served.
//!
//! BLUE's probability grows when the flow is cut because the link overflows, and falls when
//! its queue is found empty. It drops, whatever the packet's ECN field.
use crate::Nanos;

/// What all flows of one link have in common.
pub(super) struct Settings {
    pub(super) target: Nanos,
    pub(super) interval: Nanos,
    /// How long a full packet takes.
    pub(super) full_packet: Nanos,
}

/// BLUE's probability, in 1/2^32, grows by 1/256 and falls by 1/4096, once in a target.
const BLUE_GROWTH: u32 = 1 << 24;
const BLUE_FALL: u32 = 1 << 20;

/// The state of COBALT on one queue.
#[derive(Default)]
pub(super) struct Cobalt {
    count: u32,
    /// When the next action is due; without a count, when the queue is forgotten.
    next_action: Nanos,
    is_dropping: bool,
    blue_changed_at: Option<Nanos>,
    /// *Units:* 1/2^32.
    blue: u32,
}

/// A packet that is served.
#[derive(Clone, Copy)]
pub(super) struct Served {
    pub(super) waited: Nanos,
    pub(super) can_be_marked: bool,
    /// How many flows are served in turns.
    pub(super) bulk_flows: u32,
}

impl Cobalt {
    /// Whether a packet that is served at `now` is to be marked, or dropped if it cannot be.
    pub(super) fn signals(&mut self, settings: &Settings, now: Nanos, served: Served) -> bool {
        let Served {
            waited,
            can_be_marked,
            bulk_flows,
        } = served;
        let packets = u64::from(bulk_flows.saturating_mul(2).max(4));
        let accepted = Nanos(settings.full_packet.0.saturating_mul(packets));
        let is_due = self.is_due(now);
        if waited <= settings.target.max(accepted) {
            self.is_dropping = false;
        } else {
            if !self.is_dropping {
                self.is_dropping = true;
                self.next_action = self.step_after(now, settings);
            }
            self.count = self.count.max(1);
        }
        let is_signalled = is_due && self.is_dropping;
        if is_signalled {
            self.count = self.count.saturating_add(1);
            self.next_action = self.step_after(self.next_action, settings);
        } else {
            while is_due && self.is_due(now) {
                self.step_back(settings);
            }
        }
        if self.count == 0 {
            self.next_action = now + settings.interval;
        } else if now > self.next_action && (can_be_marked || !is_signalled) {
            // One action a packet; what is dropped is followed by another at once.
            self.next_action = now;
        }
        is_signalled
    }

    /// Whether BLUE drops a packet, whose random number from 0 to below 1 is drawn if needed.
    pub(super) fn is_dropped_by_blue(&self, unit: impl FnOnce() -> f64) -> bool {
        self.blue > 0 && unit() * f64::from(u32::MAX) < f64::from(self.blue)
    }

    /// A packet of this queue was dropped because the link had no room.
    pub(super) fn overflowed(&mut self, settings: &Settings, now: Nanos) {
        if self.may_change_blue(settings, now) {
            self.blue = self.blue.saturating_add(BLUE_GROWTH);
            self.blue_changed_at = Some(now);
        }
        self.is_dropping = true;
        self.next_action = now;
        self.count = self.count.max(1);
    }

    /// The queue was served, and there was nothing in it.
    pub(super) fn ran_empty(&mut self, settings: &Settings, now: Nanos) {
        if self.blue > 0 && self.may_change_blue(settings, now) {
            self.blue = self.blue.saturating_sub(BLUE_FALL);
            self.blue_changed_at = Some(now);
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.step_back(settings);
        }
    }

    /// Whether nothing is left to remember.
    pub(super) fn is_at_rest(&self, now: Nanos) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.next_action
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.count > 0 && now >= self.next_action
    }

    fn step_back(&mut self, settings: &Settings) {
        self.count -= 1;
        self.next_action = self.step_after(self.next_action, settings);
    }

    /// The rate of actions grows with the square root of their count.
    fn step_after(&self, time: Nanos, settings: &Settings) -> Nanos {
        // IEEE 754 rounds a square root exactly: the same on every machine.
        let root = f64::from(self.count.max(1)).sqrt();
        time + Nanos((settings.interval.0 as f64 / root) as u64)
    }

    fn may_change_blue(&self, settings: &Settings, now: Nanos) -> bool {
        self.blue_changed_at
            .is_none_or(|changed_at| now.since(changed_at) > settings.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn settings() -> Settings {
        Settings {
            target: Nanos(5 * MS),
            interval: Nanos(100 * MS),
            full_packet: Nanos(MS),
        }
    }

    fn served(waited_ms: u64, can_be_marked: bool) -> Served {
        Served {
            waited: Nanos(waited_ms * MS),
            can_be_marked,
            bulk_flows: 1,
        }
    }

    /// When it acts in this time, a packet served each ms that waits longer each time.
    fn actions(cobalt: &mut Cobalt, times_ms: std::ops::Range<u64>) -> Vec<u64> {
        let mut acts = |ms: u64| {
            let waited = served(ms - times_ms.start, true);
            cobalt.signals(&settings(), Nanos(ms * MS), waited)
        };
        times_ms.clone().filter(|ms| acts(*ms)).collect()
    }

    #[test]
    fn acts_as_codel_does_from_its_second_step_on() {
        let mut cobalt = Cobalt::default();
        // Above 5 ms at 6 ms, so first at 106 ms. CoDel has 100 / sqrt(1), sqrt(2), sqrt(3),
        // sqrt(4) ms then; COBALT 100 / sqrt(2) = 70.7, sqrt(3) = 57.7, 50, 44.7:
        // 176.7; 234.4; 284.4; 329.2.
        assert_eq!(actions(&mut cobalt, 0..331), [106, 177, 235, 285, 330]);
        assert_eq!(cobalt.count, 6);
    }

    #[test]
    fn goes_back_by_the_steps_that_it_came() {
        let mut cobalt = Cobalt::default();
        actions(&mut cobalt, 0..331);
        // Short waits: its next step would be at 329.2 + 100 / sqrt(6) = 370.0.
        for ms in 331..371 {
            assert!(!cobalt.signals(&settings(), Nanos(ms * MS), served(1, true)));
        }
        assert_eq!(cobalt.count, 5);
        for ms in 371..1_000 {
            assert!(!cobalt.signals(&settings(), Nanos(ms * MS), served(1, true)));
        }
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn resumes_where_it_was_when_the_queue_is_soon_back() {
        let mut cobalt = Cobalt::default();
        actions(&mut cobalt, 0..331);
        assert!(!cobalt.signals(&settings(), Nanos(340 * MS), served(1, true)));
        let count = cobalt.count;
        // CoDel would begin with one more action after a whole interval; here the count goes
        // on, and the pause to the next is an interval by its root.
        let acts =
            (341..441).find(|ms| cobalt.signals(&settings(), Nanos(ms * MS), served(6, true)));
        assert_eq!((acts, cobalt.count), (Some(382), count + 1));
    }

    #[test]
    fn accepts_what_slow_links_and_many_flows_need() {
        let waits = |bulk_flows, waited_ms| {
            let mut cobalt = Cobalt::default();
            let served = Served {
                bulk_flows,
                ..served(waited_ms, true)
            };
            (0..200).any(|ms| cobalt.signals(&settings(), Nanos(ms * MS), served))
        };
        // Two packets of 1 ms for each of 10 flows.
        assert_eq!([20, 21].map(|waited| waits(10, waited)), [false, true]);
        assert_eq!([5, 6].map(|waited| waits(1, waited)), [false, true]);
    }

    #[test]
    fn blue_grows_by_overflow_and_falls_by_emptiness_once_in_a_target() {
        let mut cobalt = Cobalt::default();
        for ms in 0..12 {
            cobalt.overflowed(&settings(), Nanos(ms * MS));
        }
        // At 0, 6 ms: more than 5 ms apart. The next at 12 ms.
        assert_eq!(cobalt.blue, 2 << 24);
        assert!(cobalt.is_dropped_by_blue(|| 1.9 / 256.0));
        assert!(!cobalt.is_dropped_by_blue(|| 2.1 / 256.0));
        for step in 1..=31 {
            cobalt.ran_empty(&settings(), Nanos((12 + 6 * step) * MS));
        }
        assert_eq!(cobalt.blue, 1 << 20);
        assert!(!cobalt.is_at_rest(Nanos(199 * MS)));
        cobalt.ran_empty(&settings(), Nanos(204 * MS));
        assert!(cobalt.is_at_rest(Nanos(1_000 * MS)));
    }
}
