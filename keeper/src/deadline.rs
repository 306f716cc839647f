// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Until when how much is to be transferred, as people say it.

use std::fmt;
use std::str::FromStr;

use ebb_host::LocalTime;
use ebb_link::QueueLimit;

use crate::error::{Error, Result};

/// Until when so much is to be transferred, both ways together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// Until when.
    pub by: By,
    /// How much. *Units:* bytes; more than 0.
    pub size_bytes: u64,
}

/// Until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Until this moment. *Units:* seconds since 1970.
    At(u64),
    /// Until clocks show this next time, and so every day.
    Daily {
        /// Up to 23.
        hour: u8,
        /// Up to 59.
        minute: u8,
    },
    /// So long after the beginning. *Units:* seconds; more than 0.
    Within(u64),
}

/// A size of data as people write it, `40GB`. *Units:* bytes; more than 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSize(pub u64);

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 60 * MINUTE_S;
const DAY_S: u64 = 24 * HOUR_S;

/// Longer ones are mistakes, and products with them stay small.
const LONGEST_S: u64 = 366 * DAY_S;

impl By {
    /// When it is, if what it is for begins now. *Units:* seconds since 1970.
    pub fn from(self, now_unix_s: u64) -> u64 {
        match self {
            Self::At(moment) => moment,
            Self::Daily { hour, minute } => LocalTime::next(hour, minute, now_unix_s),
            Self::Within(seconds) => now_unix_s.saturating_add(seconds),
        }
    }
}

impl FromStr for By {
    type Err = Error;

    /// Reads `06:00`, `2026-11-26 06:00` (or with a `T`), and durations as `3h`, `1h30m`, `45s`, `2d`.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let read = time_of_day(text)
            .map(|(hour, minute)| Self::Daily { hour, minute })
            .or_else(|| date_and_time(text).map(Self::At))
            .or_else(|| duration(text).map(Self::Within));
        read.ok_or_else(|| Error::NoDeadline {
            text: text.to_owned(),
        })
    }
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn time_of_day(text: &str) -> Option<(u8, u8)> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (number(hour)?, number(minute).filter(|_| minute.len() == 2)?);
    (hour < 24 && minute < 60).then_some((hour, minute))
}

fn date_and_time(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let (hour, minute) = time_of_day(time.trim())?;
    let mut parts = date.split('-');
    let mut next = || parts.next();
    let (year, month, day) = (number(next()?)?, number(next()?)?, number(next()?)?);
    let shown = LocalTime {
        year,
        month,
        day,
        hour,
        minute,
    };
    shown.unix_s().filter(|_| parts.next().is_none())
}

/// Whole ones only. *Units:* seconds.
fn duration(text: &str) -> Option<u64> {
    let duration = humantime::parse_duration(text).ok()?;
    let is_right = duration.subsec_nanos() == 0 && (1..=LONGEST_S).contains(&duration.as_secs());
    is_right.then_some(duration.as_secs())
}

impl fmt::Display for By {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::At(moment) => LocalTime::at(moment).fmt(formatter),
            Self::Daily { hour, minute } => write!(formatter, "{hour:02}:{minute:02}"),
            Self::Within(mut seconds) => {
                for (unit_s, unit) in [(DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "m"), (1, "s")] {
                    if seconds >= unit_s {
                        write!(formatter, "{}{unit}", seconds / unit_s)?;
                    }
                    seconds %= unit_s;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for DataSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(QueueLimit::Bytes(bytes)) => Ok(Self(bytes)),
            _ => Err(Error::NoSize {
                text: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> By {
        text.parse().unwrap()
    }

    #[test]
    fn times_dates_and_durations_are_read_and_written() {
        for (text, by) in [
            ("06:00", By::Daily { hour: 6, minute: 0 }),
            (
                "23:59",
                By::Daily {
                    hour: 23,
                    minute: 59,
                },
            ),
            ("3h", By::Within(3 * HOUR_S)),
            ("1d12h", By::Within(36 * HOUR_S)),
            ("45s", By::Within(45)),
        ] {
            assert_eq!(read(text), by);
            assert_eq!(by.to_string(), text);
        }
        assert_eq!(read("6:00"), read("06:00"));
        assert_eq!(read("90min"), By::Within(90 * MINUTE_S));
        assert_eq!(read("1h 30m"), read("90m"));
        assert_eq!(read("3 hours"), read("3h"));
        let date = read("2026-11-26 06:00");
        assert_eq!(date.to_string(), "2026-11-26 06:00");
        assert_eq!(read("2026-11-26T06:00"), date);
    }

    #[test]
    fn what_is_none_is_refused_with_what_would_be_right() {
        for text in [
            "",
            "6",
            "24:00",
            "06:60",
            "06:0",
            "tomorrow",
            "3",
            "h",
            "0s",
            "1500ms",
            "-3h",
            "1000d",
            "2026-02-30 06:00",
            "2026-11-26",
            "26-11 06:00",
            "06:00 pm",
            "2026-11-26-1 06:00",
            "99999999999999999999h",
        ] {
            let told = text.parse::<By>().unwrap_err().to_string();
            assert!(
                told.contains(&format!("'{text}'")) && told.contains("06:00, 2026-"),
                "{text}: {told}"
            );
        }
        for text in ["", "40", "0GB", "much", "40Gbit"] {
            let told = text.parse::<DataSize>().unwrap_err().to_string();
            assert!(told.contains("40GB") && told.contains(text), "{told}");
        }
        assert_eq!("40GB".parse::<DataSize>().unwrap().0, 40_000_000_000);
    }

    #[test]
    fn it_is_when_it_is_from_now_on() {
        let now = 1_795_611_600;
        assert_eq!(By::At(7).from(now), 7);
        assert_eq!(By::Within(60).from(now), now + 60);
        let daily = By::Daily { hour: 6, minute: 0 }.from(now);
        assert!((now + 1..=now + DAY_S).contains(&daily));
    }
}
