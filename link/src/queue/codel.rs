// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CoDel: controlled delay, RFC 8289.
//!
//! Differences from the RFC's pseudocode (section 5):
//! 1. Where it would drop a packet whose sender understands ECN, it marks it, and sends
//!    it: the count and the time of the next action go on as after a drop (section 3 of
//!    RFC 8290 and every implementation do so).
//! 2. `maxpacket_` is the largest packet seen so far, not the interface's MTU.
use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::{CodelSpec, DropCause, Nanos, Packet, Rejected};

/// One queue under CoDel.
pub(crate) struct CodelQueue<T> {
    fifo: Fifo<T>,
    codel: Codel,
    settings: Settings,
}

impl<T> CodelQueue<T> {
    pub(crate) fn new(spec: CodelSpec) -> Self {
        Self {
            fifo: Fifo::new(spec.limit),
            codel: Codel::default(),
            settings: Settings {
                target: spec.target,
                interval: spec.interval,
                is_marking: spec.ecn,
                largest_packet_bytes: 0,
            },
        }
    }

    pub(crate) fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        if !self.fifo.has_room_for(packet.size_bytes) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        self.settings.saw(packet.size_bytes);
        self.fifo.push(now, packet);
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        self.codel.pop(&mut self.fifo, &self.settings, now, events)
    }

    pub(crate) fn fifo(&self) -> &Fifo<T> {
        &self.fifo
    }
}

/// What all queues of one link have in common.
pub(super) struct Settings {
    pub(super) target: Nanos,
    pub(super) interval: Nanos,
    pub(super) is_marking: bool,
    pub(super) largest_packet_bytes: u32,
}

impl Settings {
    pub(super) fn saw(&mut self, size_bytes: u32) {
        self.largest_packet_bytes = self.largest_packet_bytes.max(size_bytes);
    }

    /// When to act next, after `count` actions: the rate grows with their square root.
    fn control_law(&self, time: Nanos, count: u32) -> Nanos {
        // IEEE 754 rounds a square root exactly: the same on every machine.
        time + Nanos((self.interval.0 as f64 / f64::from(count).sqrt()) as u64)
    }
}

/// The state of CoDel on one queue.
#[derive(Default)]
pub(super) struct Codel {
    /// When the waiting time will have been above the target for an interval.
    first_above: Option<Nanos>,
    is_dropping: bool,
    next_drop: Nanos,
    /// Drops since the dropping state was entered, and when it was entered last.
    count: u32,
    last_count: u32,
}

/// The packet at the head, and whether it may be dropped.
struct Head<T> {
    waiting: Option<Waiting<T>>,
    may_drop: bool,
}

impl Codel {
    /// The next packet to send, after dropping those that CoDel drops at `now`.
    pub(super) fn pop<T>(
        &mut self,
        fifo: &mut Fifo<T>,
        settings: &Settings,
        now: Nanos,
        events: &mut Events<T>,
    ) -> Option<Waiting<T>> {
        let mut head = self.pop_head(fifo, settings, now);
        if self.is_dropping {
            self.is_dropping = head.may_drop;
            while self.is_dropping && now >= self.next_drop {
                self.count += 1;
                let Some(waiting) = signal(head.waiting, settings, now, events) else {
                    head = self.pop_head(fifo, settings, now);
                    self.is_dropping = head.may_drop;
                    if head.may_drop {
                        self.next_drop = settings.control_law(self.next_drop, self.count);
                    }
                    continue;
                };
                self.next_drop = settings.control_law(self.next_drop, self.count);
                return Some(waiting);
            }
            return head.waiting;
        }
        if !head.may_drop {
            return head.waiting;
        }
        self.enter_dropping(settings, now);
        signal(head.waiting, settings, now, events)
            .or_else(|| self.pop_head(fifo, settings, now).waiting)
    }

    /// `dodequeue` of the RFC.
    fn pop_head<T>(&mut self, fifo: &mut Fifo<T>, settings: &Settings, now: Nanos) -> Head<T> {
        let Some(waiting) = fifo.pop() else {
            self.first_above = None;
            return Head {
                waiting: None,
                may_drop: false,
            };
        };
        let waited = now.since(waiting.queued_at);
        let is_below =
            waited < settings.target || fifo.bytes() <= u64::from(settings.largest_packet_bytes);
        let may_drop = match self.first_above {
            _ if is_below => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + settings.interval);
                false
            }
            Some(first_above) => now >= first_above,
        };
        Head {
            waiting: Some(waiting),
            may_drop,
        }
    }

    /// If the queue was controlled shortly before, goes on with the rate of then.
    fn enter_dropping(&mut self, settings: &Settings, now: Nanos) {
        self.is_dropping = true;
        let delta = self.count - self.last_count;
        let is_recent = now.since(self.next_drop).0 < settings.interval.0.saturating_mul(16);
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.last_count = self.count;
        self.next_drop = settings.control_law(now, self.count);
    }
}

/// Drops the packet, or marks it and gives it back.
fn signal<T>(
    waiting: Option<Waiting<T>>,
    settings: &Settings,
    now: Nanos,
    events: &mut Events<T>,
) -> Option<Waiting<T>> {
    let mut waiting = waiting?;
    if settings.is_marking && mark(&mut waiting.packet, events) {
        return Some(waiting);
    }
    events.dropped(now, waiting.packet, DropCause::Early);
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dropped, full, keeping};
    use super::*;
    use crate::{Class, Ecn, QueueLimit};

    const MS: u64 = 1_000_000;

    fn spec() -> CodelSpec {
        CodelSpec {
            limit: QueueLimit::Packets(1_000),
            ..CodelSpec::default()
        }
    }

    #[test]
    fn acts_after_an_interval_above_the_target_and_then_ever_faster() {
        let mut events = keeping();
        let mut queue = CodelQueue::new(spec());
        // All arrive at 0 and leave one per millisecond: each waits longer than 5 ms
        // from 5 ms on.
        for number in 0..600 {
            queue.push(Nanos::ZERO, full(number), &mut events).unwrap();
        }
        let mut drop_times = Vec::new();
        for ms in 1..=400 {
            queue.pop(Nanos(ms * MS), &mut events).unwrap();
            let new = dropped(&mut events, DropCause::Early);
            drop_times.extend(new.iter().map(|_| ms));
        }
        // Above from 5 ms on, so first dropped at 105 ms; then 100 / sqrt(1) later, and
        // 100 / sqrt(2) = 70.7, / sqrt(3) = 57.7, / sqrt(4) = 50 after that, counted
        // from the time before, not from the packet:
        // 205; 275.7 -> 276; 333.4 -> 334; 383.4 -> 384.
        assert_eq!(drop_times, [105, 205, 276, 334, 384]);
        assert_eq!(events.statistics.total().early_dropped_pkts, 5);
    }

    #[test]
    fn marks_capable_packets_at_the_same_times_and_drops_none() {
        let mut events = keeping();
        let mut queue = CodelQueue::new(spec());
        for number in 0..600 {
            let packet = full(number).with_ecn(Ecn::Capable);
            queue.push(Nanos::ZERO, packet, &mut events).unwrap();
        }
        let mut marked = Vec::new();
        for ms in 1..=400 {
            let waiting = queue.pop(Nanos(ms * MS), &mut events).unwrap();
            if waiting.packet.ecn == Ecn::Congested {
                marked.push(ms);
            }
        }
        assert_eq!(marked, [105, 205, 276, 334, 384]);
        let best_effort = events.statistics.class(Class::BestEffort);
        assert_eq!((best_effort.marked_pkts, best_effort.dropped_pkts), (5, 0));
    }

    #[test]
    fn leaves_a_queue_alone_that_drains_within_an_interval() {
        let mut events = keeping();
        let mut queue = CodelQueue::new(spec());
        for round in 0..20 {
            // A burst of 90 packets each 100 ms, one out per millisecond.
            let start = round * 100 * MS;
            for number in 0..90 {
                queue.push(Nanos(start), full(number), &mut events).unwrap();
            }
            for ms in 1..=91 {
                let waiting = queue.pop(Nanos(start + ms * MS), &mut events);
                assert_eq!(waiting.is_some(), ms <= 90);
            }
        }
        assert_eq!(events.statistics.total().dropped_pkts, 0);
    }

    #[test]
    fn keeps_one_packet_queued_at_rates_so_low_that_it_waits_above_the_target() {
        let mut events = keeping();
        let mut queue = CodelQueue::new(spec());
        // A packet takes 50 ms to send, and always one waits: more cannot be asked for.
        queue.push(Nanos::ZERO, full(0), &mut events).unwrap();
        for number in 1..100_u32 {
            let now = u64::from(number) * 50 * MS;
            queue
                .push(Nanos(now - 50 * MS), full(number), &mut events)
                .unwrap();
            queue.pop(Nanos(now), &mut events).unwrap();
        }
        assert_eq!(events.statistics.total().dropped_pkts, 0);
    }

    #[test]
    fn goes_on_with_the_last_rate_if_the_queue_is_back_soon() {
        let mut codel = Codel {
            count: 10,
            last_count: 4,
            next_drop: Nanos(1_000 * MS),
            ..Codel::default()
        };
        let queue: CodelQueue<u32> = CodelQueue::new(spec());
        // 10 - 4 drops more than when it entered: it starts at 6, 1599 ms < 16 intervals.
        codel.enter_dropping(&queue.settings, Nanos(2_599 * MS));
        assert_eq!((codel.count, codel.last_count), (6, 6));
        // 100 ms / sqrt(6) = 40.824829 ms.
        assert_eq!(codel.next_drop, Nanos(2_599 * MS + 40_824_829));
        codel.count = 12;
        let much_later = codel.next_drop + Nanos(1_600 * MS);
        codel.enter_dropping(&queue.settings, much_later);
        assert_eq!(codel.count, 1);
    }
}
