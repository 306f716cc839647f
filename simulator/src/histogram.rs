// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::Distribution;

/// Values by size: exact in count, mean, least and greatest, within 0.8 % in between.
///
/// 64 classes for each doubling, and room only for those between the least and the
/// greatest value seen: some hundred bytes for the RTTs of a connection.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// Class of `counts[0]`.
    first: usize,
    counts: Vec<u32>,
}

const CLASS_BITS: u32 = 6;

impl Histogram {
    /// Counts a length of time.
    pub fn add(&mut self, value: Nanos) {
        let value = value.0;
        if self.count == 0 {
            self.min = value;
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let class = class_of(value);
        let place = class.wrapping_sub(self.first);
        match self.counts.get_mut(place) {
            Some(count) => *count = count.saturating_add(1),
            None => self.widen_and_count(class),
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The values in milliseconds.
    pub fn in_millis(&self) -> Distribution {
        self.scaled(1e-6)
    }

    /// The values in seconds.
    pub fn in_secs(&self) -> Distribution {
        self.scaled(1e-9)
    }

    fn scaled(&self, scale: f64) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        Distribution {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 * scale,
            min: self.min as f64 * scale,
            median: self.quantile(0.5) * scale,
            p95: self.quantile(0.95) * scale,
            max: self.max as f64 * scale,
        }
    }

    /// The middle of the class in which this share of all values ends.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                let class = self.first + place;
                let middle = (start_of(class) as f64 + start_of(class + 1) as f64 - 1.0) / 2.0;
                return middle.clamp(self.min as f64, self.max as f64);
            }
        }
        self.max as f64
    }

    #[cold]
    fn widen_and_count(&mut self, class: usize) {
        if self.counts.is_empty() {
            self.first = class;
        }
        if class < self.first {
            let missing = self.first - class;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = class;
        }
        let place = class - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }
}

/// Values below 64 have a class each; then each doubling has 64.
fn class_of(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let doublings = bits.saturating_sub(CLASS_BITS + 1);
    ((u64::from(doublings) << CLASS_BITS) + (value >> doublings)) as usize
}

/// The least value of a class.
fn start_of(class: usize) -> u128 {
    let class = class as u128;
    if class < 2 << CLASS_BITS {
        return class;
    }
    let doublings = (class >> CLASS_BITS) - 1;
    ((class & ((1 << CLASS_BITS) - 1)) + (1 << CLASS_BITS)) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other_without_gap_and_are_narrow() {
        for class in 0..3_000 {
            let (start, next) = (start_of(class), start_of(class + 1));
            assert!(start < next);
            assert!(
                (next - start) as f64 <= (start as f64 / 64.0).max(1.0),
                "{class}"
            );
            let Ok(start) = u64::try_from(start) else {
                continue;
            };
            assert_eq!(class_of(start), class);
            if let Ok(last) = u64::try_from(next - 1) {
                assert_eq!(class_of(last), class);
            }
        }
        assert!(start_of(class_of(u64::MAX) + 1) > u128::from(u64::MAX));
    }

    #[test]
    fn knows_quantiles_within_a_percent_in_whatever_order_values_come() {
        let mut histogram = Histogram::default();
        for number in (0..=100_000_u64)
            .rev()
            .step_by(2)
            .chain((1..100_000).step_by(2))
        {
            histogram.add(Nanos(1_000_000 + number * 1_000));
        }
        let distribution = histogram.in_millis();
        assert_eq!(distribution.count, 100_001);
        assert!((distribution.mean - 51.0).abs() < 1e-9);
        assert!((distribution.min - 1.0).abs() < 1e-9);
        assert!((distribution.max - 101.0).abs() < 1e-9);
        assert!((distribution.median / 51.0 - 1.0).abs() < 0.008);
        assert!((distribution.p95 / 96.0 - 1.0).abs() < 0.008);
    }

    #[test]
    fn has_nothing_to_say_about_no_values() {
        assert_eq!(Histogram::default().in_secs(), Distribution::default());
    }
}
