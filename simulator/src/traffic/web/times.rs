// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::{ApplicationMeasure, Interval, SizeClass};

use super::Object;
use crate::Histogram;

/// How long pages and objects took, by the interval in which they were complete.
#[derive(Default)]
pub(super) struct Times {
    intervals: Vec<Interval>,
    pages: Vec<Histogram>,
    objects: Vec<Histogram>,
    /// *Shape:* by interval, then by class of size.
    sizes: Vec<Vec<Mean>>,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    count: u64,
    sum_ns: u128,
}

impl Times {
    pub(super) fn new(intervals: &[Interval]) -> Self {
        Self {
            intervals: intervals.to_vec(),
            pages: vec![Histogram::default(); intervals.len()],
            objects: vec![Histogram::default(); intervals.len()],
            sizes: vec![Vec::new(); intervals.len()],
        }
    }

    pub(super) fn page(&mut self, opened_at: Nanos, now: Nanos) {
        for (interval, pages) in self.intervals.iter().zip(&mut self.pages) {
            if interval.contains(now) {
                pages.add(now.since(opened_at));
            }
        }
    }

    pub(super) fn object(&mut self, object: Object, now: Nanos) {
        let time = now.since(object.wanted_at);
        let class = class_of(object.bytes);
        for (place, interval) in self.intervals.iter().enumerate() {
            if !interval.contains(now) {
                continue;
            }
            self.objects[place].add(time);
            let sizes = &mut self.sizes[place];
            if sizes.len() <= class {
                sizes.resize(class + 1, Mean::default());
            }
            sizes[class].count += 1;
            sizes[class].sum_ns += u128::from(time.0);
        }
    }

    pub(super) fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        let by_size = self.sizes.get(interval)?;
        Some(ApplicationMeasure::Web {
            page_s: self.pages.get(interval)?.in_secs(),
            object_s: self.objects.get(interval)?.in_secs(),
            object_s_by_size: borders()
                .zip(borders().skip(1))
                .zip(by_size)
                .filter(|(_, mean)| mean.count > 0)
                .map(|((from_bytes, to_bytes), mean)| SizeClass {
                    from_bytes,
                    to_bytes,
                    count: mean.count,
                    mean_s: mean.sum_ns as f64 / mean.count as f64 / 1e9,
                })
                .collect(),
        })
    }
}

/// Where classes of sizes begin: each is a tenth wider than the one before, as in the
/// paper's figures (footnote 8), from 100 bytes on; what is smaller is one class.
fn borders() -> impl Iterator<Item = u64> {
    let growing = std::iter::successors(Some(100_u64), |border| border.checked_add(border / 10));
    std::iter::once(0).chain(growing)
}

fn class_of(bytes: u64) -> usize {
    borders()
        .skip(1)
        .take_while(|border| *border <= bytes)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_sizes_are_a_tenth_wide() {
        assert_eq!(class_of(0), 0);
        assert_eq!(class_of(99), 0);
        assert_eq!(class_of(100), 1);
        assert_eq!(class_of(109), 1);
        assert_eq!(class_of(110), 2);
        for (from, to) in borders().zip(borders().skip(1)).skip(1).take(200) {
            let ratio = to as f64 / from as f64;
            assert!((1.09..=1.1).contains(&ratio), "{from} {to}");
            assert_eq!(class_of(from) + 1, class_of(to));
            assert_eq!(class_of(from), class_of(to - 1));
        }
    }

    #[test]
    fn means_are_kept_by_size_and_by_the_interval_of_completion() {
        let interval = |from, to| Interval {
            name: String::new(),
            from: Nanos::from_secs(from),
            to: Nanos::from_secs(to),
        };
        let mut times = Times::new(&[interval(0, 10), interval(5, 20)]);
        for (bytes, wanted_s, done_s) in [(105, 1, 2), (100, 1, 4), (5_000, 4, 9), (5_000, 9, 12)] {
            let object = Object {
                page: 1,
                bytes,
                wanted_at: Nanos::from_secs(wanted_s),
            };
            times.object(object, Nanos::from_secs(done_s));
        }
        times.page(Nanos::from_secs(1), Nanos::from_secs(9));
        let read = |place| match times.measure(place) {
            Some(ApplicationMeasure::Web {
                page_s,
                object_s,
                object_s_by_size,
            }) => (page_s, object_s, object_s_by_size),
            other => panic!("not web: {other:?}"),
        };
        let (page_s, object_s, sizes) = read(0);
        assert_eq!((page_s.count, page_s.mean), (1, 8.0));
        assert_eq!((object_s.count, object_s.mean), (3, 3.0));
        assert_eq!((sizes[0].from_bytes, sizes[0].to_bytes), (100, 110));
        // (1 + 3) / 2 seconds.
        assert_eq!((sizes[0].count, sizes[0].mean_s), (2, 2.0));
        assert_eq!((sizes[1].count, sizes[1].mean_s), (1, 5.0));
        assert_eq!(read(1).2[0].count, 2);
        assert!(times.measure(2).is_none());
    }
}
