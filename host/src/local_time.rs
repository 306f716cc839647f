// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moments as clocks on the wall show them here, by TZ or /etc/localtime.

use std::fmt;
use std::mem::MaybeUninit;

/// What calendar and clock show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalTime {
    /// As people count it.
    pub year: i32,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
    /// Up to 23.
    pub hour: u8,
    /// Up to 59.
    pub minute: u8,
}

impl LocalTime {
    /// What they show at a moment. *Units:* seconds since 1970.
    pub fn at(unix_s: u64) -> Self {
        let fields = fields_at(unix_s);
        let small = |value: libc::c_int| u8::try_from(value).unwrap_or(0);
        Self {
            year: fields.tm_year + 1900,
            month: small(fields.tm_mon + 1),
            day: small(fields.tm_mday),
            hour: small(fields.tm_hour),
            minute: small(fields.tm_min),
        }
    }

    /// When they show it; none where the calendar has no such day, or before 1970. What a change to
    /// summer time leaves out is an hour later or earlier. *Units:* seconds since 1970.
    pub fn unix_s(self) -> Option<u64> {
        let mut fields = fields_at(0);
        fields.tm_year = self.year.checked_sub(1900)?;
        fields.tm_mon = libc::c_int::from(self.month) - 1;
        fields.tm_mday = self.day.into();
        fields.tm_hour = self.hour.into();
        fields.tm_min = self.minute.into();
        fields.tm_sec = 0;
        let moment = moment_of(&mut fields)?;
        let is_there = self.hour < 24 && self.minute < 60 && Self::at(moment).day == self.day;
        (is_there && (1..=12).contains(&self.month)).then_some(moment)
    }

    /// The next moment after this one at which clocks show this hour and minute. *Units:* seconds
    /// since 1970.
    pub fn next(hour: u8, minute: u8, after_unix_s: u64) -> u64 {
        let on_day = |day| {
            let mut fields = fields_at(after_unix_s);
            fields.tm_mday += day;
            fields.tm_hour = hour.into();
            fields.tm_min = minute.into();
            fields.tm_sec = 0;
            moment_of(&mut fields)
        };
        let mut days = (0..3).filter_map(on_day);
        days.find(|moment| *moment > after_unix_s)
            .unwrap_or(after_unix_s)
    }
}

impl fmt::Display for LocalTime {
    /// Writes `2026-11-26 06:00`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
        } = self;
        write!(
            formatter,
            "{year}-{month:02}-{day:02} {hour:02}:{minute:02}"
        )
    }
}

fn fields_at(unix_s: u64) -> libc::tm {
    let moment = libc::time_t::try_from(unix_s).unwrap_or(0);
    let mut fields = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both are valid, and zero bytes are a `tm`, should it leave them so.
    unsafe {
        libc::localtime_r(&raw const moment, fields.as_mut_ptr());
        fields.assume_init()
    }
}

/// Days and hours beyond a month's or a day's are counted on.
fn moment_of(fields: &mut libc::tm) -> Option<u64> {
    // Whether it is summer then is not known here.
    fields.tm_isdst = -1;
    // SAFETY: it is a valid `tm`.
    let moment = unsafe { libc::mktime(fields) };
    u64::try_from(moment).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25 13:00:00 UTC.
    const MOMENT: u64 = 1_795_611_600;

    #[test]
    fn a_moment_is_shown_and_found_again() {
        let shown = LocalTime::at(MOMENT);
        assert_eq!(shown.unix_s(), Some(MOMENT));
        let text = shown.to_string();
        assert!(text.starts_with("2026-11-2") && text.len() == 16, "{text}");
        assert_eq!(LocalTime { day: 31, ..shown }.unix_s(), None);
        assert_eq!(LocalTime { month: 13, ..shown }.unix_s(), None);
        assert_eq!(LocalTime { hour: 24, ..shown }.unix_s(), None);
    }

    #[test]
    fn the_next_time_of_day_is_within_a_day_and_shows_it() {
        for hour in [0, 6, 13, 23] {
            let next = LocalTime::next(hour, 30, MOMENT);
            let shown = LocalTime::at(next);
            assert_eq!((shown.hour, shown.minute), (hour, 30));
            assert!(next > MOMENT && next <= MOMENT + 86_400, "{shown}");
        }
        let shown = LocalTime::at(MOMENT);
        let again = LocalTime::next(shown.hour, shown.minute, MOMENT);
        assert_eq!(LocalTime::at(again).day, LocalTime::at(MOMENT + 86_400).day);
    }
}
