// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Class, Delivery, Nanos, Waiting};
use serde::Serialize;

/// Length of one bin.
const BIN: Nanos = Nanos::from_millis(100);

/// What one class did at a bottleneck in one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueBin {
    /// Waiting times of the packets whose waiting ended in the bin.
    pub waiting: Waiting,
    /// Bytes of these packets, IP headers included.
    pub sent_bytes: u64,
    /// Packets that the full queue dropped.
    pub dropped_pkts: u64,
}

/// What happened at a bottleneck, by class, in bins of equal length.
///
/// *Shape:* bin `i` covers `epoch + i * bin` up to the next; bins at the end without
/// any packet are left out.
#[derive(Clone, Debug, Serialize)]
pub struct QueueSeries {
    /// Where the first bin begins, by CLOCK_MONOTONIC.
    pub epoch: Nanos,
    /// Length of a bin.
    pub bin: Nanos,
    classes: [Vec<QueueBin>; 2],
}

impl QueueSeries {
    /// The bins of one class.
    pub fn class(&self, class: Class) -> &[QueueBin] {
        &self.classes[class.index()]
    }

    /// All bins of one class that begin from `from` and before `until`, together; times
    /// by CLOCK_MONOTONIC.
    pub fn between(&self, class: Class, from: Nanos, until: Nanos) -> QueueBin {
        let mut total = QueueBin::default();
        for (index, bin) in self.class(class).iter().enumerate() {
            let begin = self.epoch + Nanos(index as u64 * self.bin.0);
            if begin >= from && begin < until {
                total.waiting += bin.waiting;
                total.sent_bytes += bin.sent_bytes;
                total.dropped_pkts += bin.dropped_pkts;
            }
        }
        total
    }

    pub(super) fn new(epoch: Nanos) -> Self {
        // Room for two minutes: the emulator's thread should not allocate.
        let bins = || Vec::with_capacity(1_200);
        Self {
            epoch,
            bin: BIN,
            classes: [bins(), bins()],
        }
    }

    pub(super) fn add_sent<T>(&mut self, delivery: &Delivery<T>) {
        let bin = self.bin_mut(delivery.packet.class, delivery.sent_from);
        bin.waiting.add(delivery.waited());
        bin.sent_bytes += u64::from(delivery.packet.size_bytes);
    }

    pub(super) fn add_dropped(&mut self, class: Class, now: Nanos) {
        self.bin_mut(class, now).dropped_pkts += 1;
    }

    fn bin_mut(&mut self, class: Class, time: Nanos) -> &mut QueueBin {
        let index = (time.since(self.epoch).0 / self.bin.0) as usize;
        let bins = &mut self.classes[class.index()];
        if index >= bins.len() {
            bins.resize(index + 1, QueueBin::default());
        }
        &mut bins[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_link::Packet;

    #[test]
    fn puts_packets_into_the_bin_in_which_their_waiting_ended() {
        let epoch = Nanos::from_secs(1_000);
        let at = |ms| epoch + Nanos::from_millis(ms);
        let mut series = QueueSeries::new(epoch);
        for (queued, sent) in [(0, 99), (50, 100), (90, 199)] {
            series.add_sent(&Delivery {
                packet: Packet::new(1_500, Class::LessThanBestEffort, ()),
                queued_at: at(queued),
                sent_from: at(sent),
                due: at(sent + 50),
            });
        }
        series.add_dropped(Class::LessThanBestEffort, at(210));
        let bins = series.class(Class::LessThanBestEffort);
        assert_eq!(bins.len(), 3);
        assert_eq!(bins[0].waiting.count, 1);
        assert_eq!(bins[1].sent_bytes, 3_000);
        // 100 - 50 and 199 - 90 ms.
        assert_eq!(bins[1].waiting.sum_ns, 159_000_000);
        assert_eq!(bins[1].waiting.max_ns, 109_000_000);
        assert_eq!(bins[2].dropped_pkts, 1);
        assert!(series.class(Class::BestEffort).is_empty());
        let later = series.between(Class::LessThanBestEffort, at(100), at(1_000));
        assert_eq!((later.waiting.count, later.dropped_pkts), (2, 1));
    }
}
