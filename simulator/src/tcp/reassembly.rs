// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What arrived out of order: ranges of bytes, and those that SACK reports.

use std::collections::VecDeque;

/// First byte, first byte after.
pub(super) type Range = (u64, u64);

/// Ranges beyond the next byte expected; they neither overlap nor touch.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// In the order of bytes.
    ranges: VecDeque<Range>,
    /// As SACK reports them: the one that changed last first. *Shape:* an empty range is
    /// none.
    recent: [Range; 4],
}

/// What became of a range that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Bytes that were not there before.
    pub(super) new_bytes: u64,
    /// A part that was there before, if any was.
    pub(super) duplicate: Option<Range>,
    /// It changed one of the two ranges that changed last, or there are no more.
    pub(super) is_of_latest: bool,
}

impl Reassembly {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// First byte after everything that arrived.
    pub(super) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.1)
    }

    /// Takes a range beyond the next byte expected.
    pub(super) fn insert(&mut self, range: Range) -> Inserted {
        let place = self.first_touching(range.0);
        let mut merged = range;
        let mut old_bytes = 0;
        let mut duplicate = None;
        let mut count = 0;
        while let Some(&(start, end)) = self.ranges.get(place + count) {
            if start > range.1 {
                break;
            }
            let overlap = (start.max(range.0), end.min(range.1));
            if overlap.0 < overlap.1 {
                old_bytes += overlap.1 - overlap.0;
                duplicate.get_or_insert(overlap);
            }
            merged = (merged.0.min(start), merged.1.max(end));
            count += 1;
        }
        self.replace(place, count, merged);
        let is_of_latest = self.report(merged);
        Inserted {
            new_bytes: range.1 - range.0 - old_bytes,
            duplicate,
            is_of_latest,
        }
    }

    /// Place of the first range that ends at `start` or after it.
    fn first_touching(&self, start: u64) -> usize {
        match self.ranges.back() {
            None => 0,
            Some(last) if last.1 < start => self.ranges.len(),
            Some(last) if last.0 <= start => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|range| range.1 < start),
        }
    }

    fn replace(&mut self, place: usize, count: usize, merged: Range) {
        if count == 0 {
            self.ranges.insert(place, merged);
            return;
        }
        self.ranges[place] = merged;
        if count > 1 {
            self.ranges.drain(place + 1..place + count);
        }
    }

    fn report(&mut self, merged: Range) -> bool {
        let is_part = |range: &Range| merged.0 <= range.0 && range.1 <= merged.1;
        let is_of_latest = self.recent[1] == (0, 0) || self.recent[..2].iter().any(is_part);
        let mut next = [merged, (0, 0), (0, 0), (0, 0)];
        let others = self
            .recent
            .iter()
            .filter(|range| range.0 < range.1 && !is_part(range));
        for (slot, range) in next[1..].iter_mut().zip(others) {
            *slot = *range;
        }
        self.recent = next;
        is_of_latest
    }

    /// Takes out what continues the stream at `expected`. *Returns:* the next byte
    /// expected after it.
    pub(super) fn advance(&mut self, mut expected: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > expected {
                break;
            }
            expected = expected.max(end);
            self.ranges.pop_front();
        }
        for range in &mut self.recent {
            if range.1 <= expected {
                *range = (0, 0);
            }
        }
        expected
    }

    /// The ranges for SACK, the latest first.
    pub(super) fn recent(&self) -> impl Iterator<Item = Range> {
        self.recent.into_iter().filter(|range| range.0 < range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reports_the_latest_range_first_and_whole() {
        let mut reassembly = Reassembly::default();
        for range in [(10, 20), (30, 40), (50, 60), (20, 30)] {
            reassembly.insert(range);
        }
        assert_eq!(
            reassembly.recent().collect::<Vec<_>>(),
            [(10, 40), (50, 60)]
        );
        assert_eq!(reassembly.advance(10), 40);
        assert_eq!(reassembly.recent().collect::<Vec<_>>(), [(50, 60)]);
        assert_eq!(reassembly.end(), Some(60));
    }

    #[test]
    fn says_what_was_there_before() {
        let mut reassembly = Reassembly::default();
        reassembly.insert((10, 20));
        let inserted = reassembly.insert((15, 25));
        assert_eq!(inserted.new_bytes, 5);
        assert_eq!(inserted.duplicate, Some((15, 20)));
    }

    proptest! {
        #[test]
        fn holds_the_union_of_what_arrived(ranges in prop::collection::vec((1_u64..200, 1_u64..30), 1..60)) {
            let mut reassembly = Reassembly::default();
            let mut bytes = [false; 300];
            for (start, length) in ranges {
                let range = (start, start + length);
                let slice = &mut bytes[start as usize..(start + length) as usize];
                let new = slice.iter().filter(|byte| !**byte).count();
                slice.fill(true);
                let inserted = reassembly.insert(range);
                prop_assert_eq!(inserted.new_bytes, new as u64);
                prop_assert_eq!(inserted.duplicate.is_some(), new as u64 != length);
                let first = reassembly.recent().next().unwrap();
                prop_assert!(first.0 <= range.0 && range.1 <= first.1);
            }
            let mut held = [false; 300];
            let mut last_end = 0;
            for &(start, end) in &reassembly.ranges {
                prop_assert!(last_end == 0 || last_end < start);
                last_end = end;
                held[start as usize..end as usize].fill(true);
            }
            prop_assert_eq!(&held[..], &bytes[..]);
        }
    }
}
