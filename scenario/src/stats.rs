// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of repeated runs: means, spreads, fairness.

use serde::Serialize;

/// Mean and spread of one figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Number of runs.
    pub runs: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t);
    /// absent with one run.
    pub half_width_95: Option<f64>,
}

impl Spread {
    /// Summarises values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        let mean = mean(values)?;
        let half_width_95 = (runs > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let variance = squares / (runs - 1) as f64;
            student_t_95(runs - 1) * (variance / runs as f64).sqrt()
        });
        Some(Self {
            runs,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            half_width_95,
        })
    }
}

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's fairness index, `(Σx)² / (n Σx²)`: 1 if all are equal, 1/n if one has all;
/// `None` if nobody has anything.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The value that so many in a hundred do not exceed, between neighbours
/// proportionally; `None` without values.
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(below + (above - below) * place.fract())
}

/// Two-sided 95 % quantile of Student's t distribution.
fn student_t_95(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    if let Some(quantile) = TABLE.get(degrees_of_freedom.saturating_sub(1)) {
        return *quantile;
    }
    // Beyond the table, its expansion at the normal distribution's quantile.
    let (normal, degrees) = (1.959_964_f64, degrees_of_freedom as f64);
    let first = (normal.powi(3) + normal) / (4.0 * degrees);
    let second = 5.0 * normal.powi(5) + 16.0 * normal.powi(3) + 3.0 * normal;
    normal + first + second / (96.0 * degrees * degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_an_interval_by_students_t() {
        let spread = Spread::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((spread.mean, spread.min, spread.max), (2.0, 1.0, 3.0));
        // s = 1, 4.303 * 1 / sqrt(3) = 2.4843.
        assert!((spread.half_width_95.unwrap() - 2.4843).abs() < 1e-4);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[7.0]).unwrap().half_width_95, None);
    }

    #[test]
    fn quantiles_of_students_t_are_those_of_the_tables() {
        let table = [
            (1, 12.706),
            (9, 2.262),
            (30, 2.042),
            (31, 2.0395),
            (49, 2.0096),
        ];
        for (degrees, quantile) in table.into_iter().chain([(100, 1.9840), (999, 1.9623)]) {
            assert!((student_t_95(degrees) - quantile).abs() < 1e-4, "{degrees}");
        }
    }

    #[test]
    fn jain_index_tells_equal_from_unequal() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[5.0, 0.0]), Some(0.5));
        // (1+2)^2 / (2 * (1+4)) = 0.9.
        assert_eq!(jain_index(&[1.0, 2.0]), Some(0.9));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(percentile(&values, 50.0), Some(2.5));
        assert_eq!(percentile(&values, 0.0), Some(1.0));
        assert_eq!(percentile(&values, 100.0), Some(4.0));
        assert_eq!(percentile(&[], 50.0), None);
    }
}
