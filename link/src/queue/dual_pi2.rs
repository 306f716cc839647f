// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DualPI2: two queues under one controller, RFC 9332, appendix A.
//!
//! What is ECT(1) or marked goes to the L4S queue, the rest to the classic one. Differences
//! from the pseudocode and choices:
//! 1. The scheduler is a weighted round robin by bytes, as in Linux (RFC 9332, section 4.2.2
//!    leaves it open), not a time-shifted FIFO.
//! 2. The native AQM of the L4S queue is a step, which is a ramp without width.
//! 3. As in Linux nothing is dropped, or marked by the controller, while not more than two
//!    full packets wait in both queues together.
//! 4. A packet that its controller chooses is the next one after probabilities have added up
//!    to 1 (`recur` in the appendix): no random numbers.
use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::{DropCause, DualPi2Spec, Ecn, Nanos, Packet, QueueLimit, Rejected};

/// Of a full-size packet. *Units:* bytes.
const FULL_BYTES: u64 = 1_500;

pub(crate) struct DualPi2Queue<T> {
    l4s: Fifo<T>,
    classic: Fifo<T>,
    spec: DualPi2Spec,
    controller: Controller,
    scheduler: Scheduler,
    l4s_marks: Recurrence,
    l4s_drops: Recurrence,
    classic_signals: Recurrence,
}

impl<T> DualPi2Queue<T> {
    pub(crate) fn new(spec: DualPi2Spec) -> Self {
        // The limit is one for both.
        let unlimited = || Fifo::new(QueueLimit::Packets(u64::MAX));
        Self {
            l4s: unlimited(),
            classic: unlimited(),
            spec,
            controller: Controller::new(spec),
            scheduler: Scheduler::new(spec.classic_share),
            l4s_marks: Recurrence::default(),
            l4s_drops: Recurrence::default(),
            classic_signals: Recurrence::default(),
        }
    }

    pub(crate) fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        self.control(now);
        let bytes = self.bytes() + u64::from(packet.size_bytes);
        if !self.spec.limit.holds(self.len_pkts() + 1, bytes) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        match packet.ecn {
            Ecn::L4s | Ecn::Congested => self.l4s.push(now, packet),
            Ecn::Capable | Ecn::NotCapable => self.classic.push(now, packet),
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        self.control(now);
        loop {
            let is_spared = self.bytes() <= 2 * FULL_BYTES;
            let turn = self
                .scheduler
                .turn(!self.l4s.is_empty(), !self.classic.is_empty())?;
            let fifo = match turn {
                Turn::L4s => &mut self.l4s,
                Turn::Classic => &mut self.classic,
            };
            let mut waiting = fifo.pop()?;
            let packet = &mut waiting.packet;
            let size_bytes = packet.size_bytes;
            let waited = now.since(waiting.queued_at);
            let is_sent = match turn {
                Turn::L4s => self.pass_l4s(packet, waited, is_spared, events),
                Turn::Classic => is_spared || self.pass_classic(packet, events),
            };
            if is_sent {
                self.scheduler.sent(turn, size_bytes);
                return Some(waiting);
            }
            events.dropped(now, waiting.packet, DropCause::Early);
        }
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.l4s.len_pkts() + self.classic.len_pkts()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.l4s.bytes() + self.classic.bytes()
    }

    /// Whether an L4S packet is sent, after marking it if that is due.
    fn pass_l4s(
        &mut self,
        packet: &mut Packet<T>,
        waited: Nanos,
        is_spared: bool,
        events: &mut Events<T>,
    ) -> bool {
        let is_above_step = waited > self.spec.step
            && self.l4s.len_pkts() as u64 >= u64::from(self.spec.step_min_pkts);
        let coupled = self.controller.coupled();
        if coupled < 1.0 || is_spared {
            let coupled = if is_spared { 0.0 } else { coupled };
            let native = if is_above_step { 1.0 } else { 0.0 };
            if self.l4s_marks.adds(coupled.max(native)) {
                mark(packet, events);
            }
            return true;
        }
        // Overload: marks have lost their meaning, so drops are as likely as of the others.
        if self.l4s_drops.adds(self.controller.squared()) {
            return false;
        }
        mark(packet, events);
        true
    }

    /// Whether a classic packet is sent, after marking it if that is due.
    fn pass_classic(&mut self, packet: &mut Packet<T>, events: &mut Events<T>) -> bool {
        if !self.classic_signals.adds(self.controller.squared()) {
            return true;
        }
        // Overload switches ECN off: the same bound as for L4S.
        self.controller.coupled() < 1.0 && mark(packet, events)
    }

    /// Makes up for all updates until `now`; no packet has come or gone since the last call.
    fn control(&mut self, now: Nanos) {
        let first = |fifo: &Fifo<T>| fifo.first_since();
        let heads = [first(&self.l4s), first(&self.classic)];
        let oldest = heads.into_iter().flatten().min();
        self.controller.run_until(now, oldest);
    }
}

/// The base probability and how it follows the delay.
struct Controller {
    spec: DualPi2Spec,
    /// `p'`.
    probability: f64,
    old_delay: Nanos,
    next_update: Option<Nanos>,
}

impl Controller {
    fn new(spec: DualPi2Spec) -> Self {
        Self {
            spec,
            probability: 0.0,
            old_delay: Nanos::ZERO,
            next_update: None,
        }
    }

    /// `p_CL`: of a mark on an L4S packet; from 1 on it is overload.
    fn coupled(&self) -> f64 {
        self.probability * self.spec.coupling
    }

    /// `p_C`: of a drop or a mark of a classic packet.
    fn squared(&self) -> f64 {
        self.probability * self.probability
    }

    /// Updates since the last call, with the time at which the packet came that has waited
    /// longest, if any waits.
    fn run_until(&mut self, now: Nanos, oldest: Option<Nanos>) {
        let update = self.spec.update;
        let mut next = *self.next_update.get_or_insert(now + update);
        while next <= now {
            let delay = oldest.map_or(Nanos::ZERO, |since| next.since(since));
            let before = (self.probability, self.old_delay);
            self.update(delay);
            next += update;
            // Without traffic nothing changes any more.
            if oldest.is_none() && before == (self.probability, self.old_delay) && next <= now {
                let missed = 1 + now.since(next).0 / update.0;
                next += Nanos(missed.saturating_mul(update.0));
            }
        }
        self.next_update = Some(next);
    }

    fn update(&mut self, delay: Nanos) {
        let [delay_s, old_delay_s, target_s] =
            [delay, self.old_delay, self.spec.target].map(Nanos::as_secs_f64);
        let change =
            self.spec.alpha * (delay_s - target_s) + self.spec.beta * (delay_s - old_delay_s);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    L4s,
    Classic,
}

/// Weighted round robin: below zero the credit is the classic queue's.
struct Scheduler {
    classic_share: f64,
    credit_bytes: f64,
    initial_bytes: f64,
    /// Whether both queues had packets when it was asked last.
    is_contended: bool,
}

impl Scheduler {
    fn new(classic_share: f64) -> Self {
        // The queue with the larger share begins.
        let initial_bytes = (1.0 - 2.0 * classic_share) * FULL_BYTES as f64;
        Self {
            classic_share,
            credit_bytes: initial_bytes,
            initial_bytes,
            is_contended: false,
        }
    }

    fn turn(&mut self, has_l4s: bool, has_classic: bool) -> Option<Turn> {
        self.is_contended = has_l4s && has_classic;
        if !self.is_contended {
            self.credit_bytes = self.initial_bytes;
        }
        match (has_l4s, has_classic) {
            (false, false) => None,
            (true, false) => Some(Turn::L4s),
            (false, true) => Some(Turn::Classic),
            (true, true) if self.credit_bytes > 0.0 => Some(Turn::L4s),
            (true, true) => Some(Turn::Classic),
        }
    }

    fn sent(&mut self, turn: Turn, size_bytes: u32) {
        // What is sent without a rival counts for nothing.
        if !self.is_contended {
            return;
        }
        let size_bytes = f64::from(size_bytes);
        self.credit_bytes += match turn {
            Turn::L4s => -self.classic_share * size_bytes,
            Turn::Classic => (1.0 - self.classic_share) * size_bytes,
        };
    }
}

/// True as often as a probability says, evenly: `recur` of the appendix.
#[derive(Default)]
struct Recurrence {
    sum: f64,
}

impl Recurrence {
    fn adds(&mut self, probability: f64) -> bool {
        self.sum += probability.min(1.0);
        let is_due = self.sum >= 1.0;
        if is_due {
            self.sum -= 1.0;
        }
        is_due
    }
}

#[cfg(test)]
mod tests;
