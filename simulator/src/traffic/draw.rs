// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::{Draw, Stream};

/// The next value of a draw.
///
/// Logarithms and powers are libm's, not the C library's: the same bits everywhere.
pub(super) fn draw(draw: Draw, stream: &mut Stream) -> u64 {
    match draw {
        Draw::Constant(value) => value,
        Draw::Exponential { mean } => stream.exponential(mean),
        Draw::Pareto { mean, shape, max } => {
            let value = pareto(mean as f64, shape, stream.unit());
            // A float above 2^64 becomes 2^64 - 1.
            (value.round() as u64).min(max.unwrap_or(u64::MAX))
        }
    }
}

/// The value that a share of `1 - unit` exceeds: least / (1 - unit)^(1 / shape), the
/// least being mean (shape - 1) / shape.
fn pareto(mean: f64, shape: f64, unit: f64) -> f64 {
    let least = mean * (shape - 1.0) / shape;
    least / libm::pow(1.0 - unit, 1.0 / shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_scenario::Seeds;

    fn values(kind: Draw, count: usize) -> Vec<u64> {
        let mut stream = Seeds::new(1).stream("sizes", "test");
        (0..count).map(|_| draw(kind, &mut stream)).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().sum::<u64>() as f64 / values.len() as f64
    }

    #[test]
    fn constants_are_constant() {
        assert_eq!(values(Draw::Constant(7), 3), [7, 7, 7]);
    }

    #[test]
    fn exponential_values_have_their_mean_and_their_deviation() {
        let values = values(Draw::Exponential { mean: 1_000_000 }, 100_000);
        // The standard deviation is the mean: 5 sigma of the mean are 1.6 %.
        let mean = mean(&values);
        assert!((mean / 1e6 - 1.0).abs() < 0.016, "{mean}");
        // 1 - 1/e of them are below the mean.
        let below = values.iter().filter(|value| **value < 1_000_000).count();
        assert!(below.abs_diff(63_212) < 800, "{below}");
    }

    #[test]
    fn pareto_values_have_their_least_their_tail_and_their_mean() {
        let kind = |shape| Draw::Pareto {
            mean: 12_000,
            shape,
            max: None,
        };
        let sizes = values(kind(1.2), 100_000);
        // 12 000 * 0.2 / 1.2.
        assert_eq!(sizes.iter().min(), Some(&2_000));
        // Above 20 000, ten times the least: 10^-1.2 = 6.31 %.
        let above = sizes.iter().filter(|size| **size > 20_000).count();
        assert!(above.abs_diff(6_310) < 400, "{above}");
        // The median is 2000 * 2^(1 / 1.2) = 3563.6.
        let below = sizes.iter().filter(|size| **size < 3_564).count();
        assert!(below.abs_diff(50_000) < 800, "{below}");
        // At shape 1.2 the variance is infinite; at 3 it is mean^2 / 3, and the mean of
        // 100 000 is within 5 * 12 000 / sqrt(3 * 10^5).
        let mean = mean(&values(kind(3.0), 100_000));
        assert!((mean - 12_000.0).abs() < 110.0, "{mean}");
    }

    #[test]
    fn pareto_values_end_at_their_greatest() {
        let kind = Draw::Pareto {
            mean: 12_000,
            shape: 1.2,
            max: Some(20_000),
        };
        let sizes = values(kind, 10_000);
        assert_eq!(sizes.iter().max(), Some(&20_000));
        let cut = sizes.iter().filter(|size| **size == 20_000).count();
        assert!(cut.abs_diff(631) < 130, "{cut}");
    }
}
