// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers with their units, short enough for a table and the same everywhere.

/// Bits per second as Mbit/s with three significant digits, for instance `9.44 Mbit/s`.
pub fn rate(bits_per_s: f64) -> String {
    format!("{} Mbit/s", significant(bits_per_s / 1e6))
}

/// Milliseconds with three significant digits, for instance `56.1 ms`.
pub fn milliseconds(ms: f64) -> String {
    format!("{} ms", significant(ms))
}

/// Seconds with two decimals, for instance `0.74 s`.
pub fn seconds(s: f64) -> String {
    format!("{s:.2} s")
}

/// A share of one as percent, for instance `2.1 %`; below a tenth of a percent with two decimals.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent == 0.0 || percent.abs() >= 0.1 {
        1
    } else {
        2
    };
    format!("{percent:.decimals$} %")
}

/// Bytes as kB or MB (powers of ten), for instance `312 kB`.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", significant(count as f64 / 1e3)),
        _ => format!("{} MB", significant(count as f64 / 1e6)),
    }
}

pub(crate) fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits_are_kept() {
        assert_eq!(rate(9_440_000.0), "9.44 Mbit/s");
        assert_eq!(rate(94_400_000.0), "94.4 Mbit/s");
        assert_eq!(rate(944_000_000.0), "944 Mbit/s");
        assert_eq!(milliseconds(9.996), "10.0 ms");
        assert_eq!(bytes(312_400), "312 kB");
        assert_eq!(bytes(999), "999 B");
    }

    #[test]
    fn small_shares_do_not_vanish() {
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(0.0004), "0.04 %");
        assert_eq!(percent(0.021), "2.1 %");
    }
}
