// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values from text and to text: numbers without rounding, and what serde makes of them.
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::{LinkError, Nanos};

/// The lines of a file that say something, numbered from 1: without comments and empty lines.
pub(crate) fn lines_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| {
        let content = line.split('#').next().unwrap_or("").trim();
        (index + 1, content)
    });
    lines.filter(|(_, content)| !content.is_empty())
}

/// A time in milliseconds as such files have it.
///
/// *Errors:* what is wrong, and what would be right.
pub(crate) fn time_in_ms(text: &str) -> Result<Nanos, String> {
    let time = Decimal::parse(text).and_then(|decimal| decimal.times(1_000_000));
    let wrong = || format!("`{text}` is no time in milliseconds, like 12 or 12.5");
    time.map(Nanos).ok_or_else(wrong)
}

/// Reads a value from its text, or from a number as people would type it without quotes.
pub(crate) struct TextOrNumber<T> {
    expected: &'static str,
    value: PhantomData<T>,
}

impl<T> TextOrNumber<T> {
    /// `expected` says in errors what would be right.
    pub(crate) fn of(expected: &'static str) -> Self {
        Self {
            expected,
            value: PhantomData,
        }
    }
}

impl<T: FromStr<Err = LinkError>> serde::de::Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Serialises a value as the text that its `Display` writes and `FromStr` reads.
macro_rules! string_serde {
    ($name:ident) => {
        crate::text::string_serde!(@serialize $name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
    (@serialize $name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
pub(crate) use string_serde;

/// The same, but reads a plain number, too; `$expected` says in errors what would be right.
macro_rules! string_or_number_serde {
    ($name:ident, $expected:literal) => {
        crate::text::string_serde!(@serialize $name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(crate::text::TextOrNumber::of($expected))
            }
        }
    };
}
pub(crate) use string_or_number_serde;

/// Splits `1.5 gbit` into `1.5` and `gbit`.
pub(crate) fn split_number(input: &str) -> (&str, &str) {
    let input = input.trim();
    let end = input
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '_')
        .unwrap_or(input.len());
    (&input[..end], input[end..].trim())
}

/// A decimal number kept as integers, so that `0.1` of a unit is exact.
pub(crate) struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// Reads digits, at the most one point, and `_` between digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain: String = text.chars().filter(|letter| *letter != '_').collect();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let too_long = whole.len() > 20 || fraction.len() > 15;
        if (whole.is_empty() && fraction.is_empty())
            || !is_number(whole)
            || !is_number(fraction)
            || too_long
        {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self {
            digits,
            decimals: fraction.len() as u32,
        })
    }

    /// The number times `scale`, the rest below one cut off; `None` beyond 64 bits.
    pub(crate) fn times(&self, scale: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(scale))?;
        u64::try_from(product / 10_u128.pow(self.decimals)).ok()
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits == 0
    }

    /// The number if it has no fraction.
    pub(crate) fn whole(&self) -> Option<u64> {
        let is_whole = self.digits.is_multiple_of(10_u128.pow(self.decimals));
        if is_whole { self.times(1) } else { None }
    }
}
