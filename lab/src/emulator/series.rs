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
    /// Bin and waiting time in µs of each packet, if they are kept.
    #[serde(skip)]
    waits: Option<[Vec<(u32, u32)>; 2]>,
}

/// Room for the packets of a run: the emulator's thread should not move them.
const WAITS_CAPACITY: usize = 1 << 20;

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

    /// The waiting times of each packet of one class that left the queue in bins that
    /// begin from `from` and before `until`. *Units:* µs. Empty where they are not kept.
    pub fn waits_us(
        &self,
        class: Class,
        from: Nanos,
        until: Nanos,
    ) -> impl Iterator<Item = u32> + '_ {
        let waits = self
            .waits
            .iter()
            .flat_map(move |waits| &waits[class.index()]);
        waits.filter_map(move |(bin, wait_us)| {
            let begin = self.epoch + Nanos(u64::from(*bin) * self.bin.0);
            (begin >= from && begin < until).then_some(*wait_us)
        })
    }

    pub(super) fn new(epoch: Nanos, keeps_waits: bool) -> Self {
        // Room for two minutes: the emulator's thread should not allocate.
        let bins = || Vec::with_capacity(1_200);
        let waits = || Vec::with_capacity(WAITS_CAPACITY);
        Self {
            epoch,
            bin: BIN,
            classes: [bins(), bins()],
            waits: keeps_waits.then(|| [waits(), waits()]),
        }
    }

    pub(super) fn add_sent<T>(&mut self, delivery: &Delivery<T>) {
        let class = delivery.packet.class;
        let bin = self.bin_mut(class, delivery.sent_from);
        bin.waiting.add(delivery.waited());
        bin.sent_bytes += u64::from(delivery.packet.size_bytes);
        let number = (delivery.sent_from.since(self.epoch).0 / self.bin.0) as u32;
        if let Some(waits) = &mut self.waits {
            let wait_us = u32::try_from(delivery.waited().0 / 1_000).unwrap_or(u32::MAX);
            waits[class.index()].push((number, wait_us));
        }
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
        let mut series = QueueSeries::new(epoch, true);
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
        let waits_us = series.waits_us(Class::LessThanBestEffort, at(100), at(200));
        assert!(waits_us.eq([50_000, 109_000]));
        let later = series.between(Class::LessThanBestEffort, at(100), at(1_000));
        assert_eq!((later.waiting.count, later.dropped_pkts), (2, 1));
    }
}
