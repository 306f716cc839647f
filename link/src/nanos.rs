// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use crate::LinkError;
use crate::text::{Decimal, split_number, string_serde};

/// A time or a length of time. *Units:* nanoseconds.
///
/// As a time its zero is the caller's business; the link only compares and adds.
/// Arithmetic saturates: a time never wraps around (2^64 ns are 584 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// So many seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// So many milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000))
    }

    /// So many microseconds.
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds.saturating_mul(1_000))
    }

    /// This time in seconds, for people: a float keeps 53 bits.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This time in milliseconds, for people: a float keeps 53 bits.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The longest time of which both are whole multiples; of zero and another it is the other.
    pub const fn common_divisor(self, other: Self) -> Self {
        let (mut left, mut right) = (self.0, other.0);
        while right > 0 {
            (left, right) = (right, left % right);
        }
        Self(left)
    }

    /// The time since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.since(other)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl fmt::Display for Nanos {
    /// Writes the largest unit that divides the time: `50ms`, `1500us`, `0s`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, nanoseconds) in UNITS {
            if self.0.is_multiple_of(nanoseconds) {
                return write!(formatter, "{}{unit}", self.0 / nanoseconds);
            }
        }
        unreachable!("every time is a whole number of nanoseconds")
    }
}

impl FromStr for Nanos {
    type Err = LinkError;

    /// Reads `50ms`, `1.5s`, `200us`, `10ns` or `0`.
    fn from_str(input: &str) -> Result<Self, LinkError> {
        let error = |problem| LinkError::Value {
            what: "duration",
            input: input.to_owned(),
            problem,
            example: "50ms, 1.5s, 200us or 0",
        };
        let (number, unit) = split_number(input);
        let decimal = Decimal::parse(number).ok_or_else(|| error("not a number with a unit"))?;
        let unit = if unit == "µs" { "us" } else { unit };
        let scale = match UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        {
            Some((_, nanoseconds)) => *nanoseconds,
            None if unit.is_empty() && decimal.is_zero() => 1,
            None if unit.is_empty() => return Err(error("the unit is missing")),
            None => return Err(error("unknown unit")),
        };
        decimal
            .times(scale)
            .map(Self)
            .ok_or_else(|| error("too large"))
    }
}

string_serde!(Nanos);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_with_units_and_fractions() {
        let parse = |text: &str| text.parse::<Nanos>().unwrap();
        assert_eq!(parse("50ms"), Nanos(50_000_000));
        assert_eq!(parse("1.5s"), Nanos(1_500_000_000));
        assert_eq!(parse("0.25 us"), Nanos(250));
        assert_eq!(parse("7ns"), Nanos(7));
        assert_eq!(parse("3µs"), Nanos(3_000));
        assert_eq!(parse("0"), Nanos::ZERO);
    }

    #[test]
    fn refuses_durations_by_saying_what_would_be_right() {
        for (text, problem) in [
            ("50", "the unit is missing"),
            ("ms", "not a number with a unit"),
            ("-1ms", "not a number with a unit"),
            ("5 parsec", "unknown unit"),
            ("99999999999999s", "too large"),
        ] {
            let message = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
            assert!(message.contains("50ms"), "{message}");
        }
    }

    #[test]
    fn a_common_divisor_divides_both_and_is_the_greatest() {
        let divisor = |left, right| Nanos(left).common_divisor(Nanos(right));
        assert_eq!(divisor(12, 18), Nanos(6));
        assert_eq!(divisor(7, 9), Nanos(1));
        assert_eq!([divisor(0, 5), divisor(5, 0)], [Nanos(5); 2]);
        assert_eq!(divisor(0, 0), Nanos::ZERO);
    }

    #[test]
    fn prints_durations_so_that_they_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (50_000_000, "50ms"),
            (1_500, "1500ns"),
            (60_000_000_000, "60s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
            assert_eq!(text.parse(), Ok(Nanos(nanos)));
        }
    }
}
