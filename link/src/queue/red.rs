// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RED: random early detection, after Floyd and Jacobson, "Random Early Detection
//! Gateways for Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993.
//!
//! Differences from the paper:
//! 1. Marking is what ECN-capable packets get, dropping what the others get; RFC 3168
//!    would have capable ones dropped too where the paper marks all.
//! 2. The packet that the bottleneck is sending does not count as queued.
//! 3. `gentle` (Floyd, 2000): between the maximum threshold and twice that the
//!    probability rises to 1, instead of jumping there.
//! 4. Each class of packets has its own thresholds, or none: TCP-LP/ECN marks packets
//!    of one class above a threshold of the average queue and leaves the other alone. It
//!    drops none early: what cannot be marked (acknowledgements, retransmissions) passes.
use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::random::{Purpose, Stream};
use crate::{
    ClassRedSpec, DropCause, Nanos, Packet, QueueLimit, RedCurve, RedSpec, Rejected,
    TRACE_MTU_BYTES,
};

/// What RED does with each class.
pub(crate) struct ClassCurves {
    limit: QueueLimit,
    weight: f64,
    is_marking: bool,
    only_marks: bool,
    typical_bytes: u32,
    curves: [Option<RedCurve>; 2],
}

impl From<&RedSpec> for ClassCurves {
    fn from(spec: &RedSpec) -> Self {
        Self {
            limit: spec.limit,
            weight: spec.weight,
            is_marking: spec.ecn,
            only_marks: false,
            typical_bytes: spec.typical_packet_bytes,
            curves: [Some(spec.curve()); 2],
        }
    }
}

impl From<&ClassRedSpec> for ClassCurves {
    fn from(spec: &ClassRedSpec) -> Self {
        Self {
            limit: spec.limit,
            weight: spec.weight,
            is_marking: spec.ecn,
            only_marks: spec.only_marks,
            typical_bytes: spec.typical_packet_bytes,
            curves: [spec.best_effort, spec.less_than_best_effort],
        }
    }
}

pub(crate) struct RedQueue<T> {
    fifo: Fifo<T>,
    is_marking: bool,
    only_marks: bool,
    average: Average,
    classes: [Option<EarlyDetection>; 2],
    random: Stream,
}

impl<T> RedQueue<T> {
    pub(crate) fn new(red: ClassCurves, bits_per_s: Option<f64>, seed: u64) -> Self {
        let average = Average::new(&red, bits_per_s);
        Self {
            fifo: Fifo::new(red.limit),
            is_marking: red.is_marking,
            only_marks: red.only_marks,
            average,
            classes: red.curves.map(|curve| curve.map(EarlyDetection::new)),
            random: Stream::new(seed, Purpose::Red),
        }
    }

    pub(crate) fn push(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        self.average.on_arrival(now, &self.fifo);
        let is_detected = match &mut self.classes[packet.class.index()] {
            Some(class) => class.is_chosen(self.average.value, packet.size_bytes, &mut self.random),
            None => false,
        };
        if !self.fifo.has_room_for(packet.size_bytes) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        let is_marked = is_detected && self.is_marking && mark(&mut packet, events);
        if is_detected && !is_marked && !self.only_marks {
            return Err(events.rejected(packet, DropCause::Early));
        }
        self.average.idle_since = None;
        self.fifo.push(now, packet);
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Waiting<T>> {
        let waiting = self.fifo.pop();
        if waiting.is_none() {
            self.average.idle_since.get_or_insert(now);
        }
        waiting
    }

    pub(crate) fn fifo(&self) -> &Fifo<T> {
        &self.fifo
    }
}

/// The moving average of the queue, in packets or bytes.
struct Average {
    value: f64,
    weight: f64,
    is_bytes: bool,
    /// Since when the link has had nothing to send.
    idle_since: Option<Nanos>,
    /// What a typical packet takes to send.
    typical: Nanos,
}

impl Average {
    fn new(red: &ClassCurves, bits_per_s: Option<f64>) -> Self {
        let is_bytes = red
            .curves
            .iter()
            .flatten()
            .any(|curve| matches!(curve.max_threshold, QueueLimit::Bytes(_)));
        let bit_ns = f64::from(red.typical_bytes) * 8e9;
        let typical_ns = bits_per_s.map_or(1.0, |bits_per_s| bit_ns / bits_per_s);
        Self {
            value: 0.0,
            weight: red.weight,
            is_bytes,
            idle_since: Some(Nanos::ZERO),
            typical: Nanos((typical_ns as u64).max(1)),
        }
    }

    /// Counts the queue that an arriving packet finds; an idle link counts as if
    /// typical packets had found it empty all the time. It stays idle if the packet is
    /// not taken.
    fn on_arrival<T>(&mut self, now: Nanos, fifo: &Fifo<T>) {
        if let Some(idle_since) = &mut self.idle_since {
            let missed = now.since(*idle_since).0 / self.typical.0;
            *idle_since += Nanos(missed * self.typical.0);
            self.value *= power(1.0 - self.weight, missed);
            return;
        }
        let queue = if self.is_bytes {
            fifo.bytes() as f64
        } else {
            fifo.len_pkts() as f64
        };
        self.value += self.weight * (queue - self.value);
    }
}

/// `base` to the power of `exponent`, by multiplications alone: the same bits on every
/// machine.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

/// The dice of one class: which packets are marked at an average queue.
struct EarlyDetection {
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    is_bytes: bool,
    /// Packets since the last one that was marked, -1 below the minimum threshold.
    count: i64,
}

impl EarlyDetection {
    fn new(curve: RedCurve) -> Self {
        Self {
            min: amount(curve.min_threshold),
            max: amount(curve.max_threshold),
            max_probability: curve.max_probability.as_f64(),
            gentle: curve.gentle,
            is_bytes: matches!(curve.max_threshold, QueueLimit::Bytes(_)),
            count: -1,
        }
    }

    fn is_chosen(&mut self, average: f64, size_bytes: u32, random: &mut Stream) -> bool {
        let Some(mut probability) = self.probability(average) else {
            self.count = -1;
            return false;
        };
        if probability >= 1.0 {
            self.count = 0;
            return true;
        }
        self.count += 1;
        if self.is_bytes {
            probability *= f64::from(size_bytes) / f64::from(TRACE_MTU_BYTES);
        }
        // Spreads marks evenly: the gap between two is uniform, not geometric.
        let spread = 1.0 - self.count as f64 * probability;
        let is_chosen = spread <= 0.0 || random.unit() < probability / spread;
        if is_chosen {
            self.count = 0;
        }
        is_chosen
    }

    /// The probability at this average, before it is spread; `None` below the minimum.
    fn probability(&self, average: f64) -> Option<f64> {
        if average < self.min {
            return None;
        }
        if average < self.max {
            let part = (average - self.min) / (self.max - self.min);
            return Some(self.max_probability * part);
        }
        if self.gentle && average < 2.0 * self.max {
            let part = (average - self.max) / self.max;
            return Some(self.max_probability + (1.0 - self.max_probability) * part);
        }
        Some(1.0)
    }
}

fn amount(threshold: QueueLimit) -> f64 {
    match threshold {
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => bytes as f64,
    }
}

#[cfg(test)]
mod tests;
