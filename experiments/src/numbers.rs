// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers as tables and pages write them.

/// A value as it is written beside the paper's: as many digits as that has, and three that
/// count.
pub fn number(value: f64, paper: f64) -> String {
    let text = paper.to_string();
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    // What the last bits of a sum leave over is nothing.
    let value = match value.abs() < 1e-9 * paper.abs().max(1e-3) {
        true => 0.0,
        false => value,
    };
    let significant = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let scale = paper.abs().max(value.abs());
    match value != 0.0 && value.abs() < 1e-3 * scale.min(1.0) {
        // What is not nothing does not look like it.
        true => format!("{value:.0e}"),
        false if value == 0.0 => format!("{value:.decimals$}"),
        false => format!("{value:.0$}", decimals.max(significant).min(5)),
    }
}

/// A tolerance: with two digits that count, and without zeros behind them.
pub fn tolerance(value: f64) -> String {
    let decimals = (1 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_papers_digits_and_three_that_count() {
        assert_eq!(number(0.5, 0.123), "0.500");
        assert_eq!(number(0.01234, 0.5), "0.0123");
        assert_eq!(number(1234.5, 20.0), "1234");
        assert_eq!(number(2e-5, 0.5), "2e-5");
    }

    #[test]
    fn what_rounding_leaves_over_is_nothing() {
        assert_eq!(number(3e-15, 0.99), "0.00");
        assert_eq!(number(3e-15, 0.0), "0");
        assert_eq!(number(-2e-12, 1.5), "0.0");
        assert_eq!(number(1e-6, 1.5), "1e-6");
    }

    #[test]
    fn a_tolerance_has_two_digits_that_count() {
        assert_eq!(tolerance(0.2 * 2.46), "0.49");
        assert_eq!(tolerance(0.05), "0.05");
        assert_eq!(tolerance(0.5), "0.5");
        assert_eq!(tolerance(26.0), "26");
        assert_eq!(tolerance(246.8), "247");
        assert_eq!(tolerance(0.0), "0");
    }
}
