// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a transfer needs to be done by its deadline: nothing while it is on time. Sans-I/O.
//!
//! What is to be there grows evenly from the beginning to the deadline, a little inside of both.
//! Who is ahead of that by as much as that little yields as ever; who is not has a floor, of what
//! is left in the time that is left. `docs/floor.md`, §deadline, has the rest.

use std::fmt;

use ebb_algorithms::FLOOR_UNBOUND_BYTES_PER_S;
use ebb_host::LocalTime;
use ebb_link::Rate;
use serde::{Deserialize, Serialize};

use crate::deadline::{By, Deadline};

/// What is kept free at the beginning and at the end: this part of the time, so long at the most.
const SLACK_DIVISOR: f64 = 20.0;
const SLACK_MOST_S: f64 = 600.0;

/// What is late and has been silent for so long is taken to have ended.
const SILENT_S: f64 = 300.0;

/// How a transfer stands to its deadline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pursuit {
    deadline: Deadline,
    /// Until when this one is to be done, once that is known. *Units:* seconds since 1970.
    by_unix_s: Option<u64>,
    /// When its first bytes came. *Units:* seconds since 1970.
    begun_s: Option<f64>,
    done_bytes: u64,
    /// When it was done, past its deadline. *Units:* seconds since 1970.
    done_late_s: Option<f64>,
    /// What had come when that was looked at last.
    seen_bytes: u64,
    /// When something was seen to have come last. *Units:* seconds since 1970.
    moved_s: f64,
    /// When that was. *Units:* seconds since 1970.
    now_s: f64,
    is_over: bool,
}

/// What there is to say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pursued {
    /// Until when, as it was asked for.
    pub by: String,
    /// When that is, since 1970; none while what has a time from its beginning on has not begun.
    pub by_unix_s: Option<u64>,
    /// How much is to be transferred, both ways together.
    pub size_bytes: u64,
    /// How much of it has been.
    pub done_bytes: u64,
    /// How it stands.
    pub standing: Standing,
    /// What it has at the least for that, each way.
    pub minimum: Option<String>,
    /// How long past its time it was done, or is now.
    pub late_s: u64,
}

/// How a transfer stands to its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing has come yet.
    Waiting,
    /// It yields as ever.
    OnTime,
    /// It has what it needs, up to a fair share.
    Behind,
    /// The time is over: as any other transfer.
    Late,
    /// All has come: it yields as ever.
    Done,
    /// The time is over, and nothing comes: it yields as ever.
    Over,
}

impl Pursuit {
    /// One that begins with what comes from now on. *Units:* seconds since 1970; bytes.
    pub(crate) fn new(deadline: Deadline, now_s: f64, seen_bytes: u64) -> Self {
        let mut pursuit = Self {
            deadline,
            by_unix_s: None,
            begun_s: None,
            done_bytes: 0,
            done_late_s: None,
            seen_bytes,
            moved_s: now_s,
            now_s,
            is_over: false,
        };
        if let By::At(moment) = deadline.by {
            pursuit.by_unix_s = Some(moment);
            pursuit.is_over = now_s >= moment as f64;
        }
        pursuit
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Takes note of what has come until now, of all that ever did, and answers what it is to have
    /// at the least: 0 is nothing. *Units:* seconds since 1970; bytes; bytes per second.
    pub(crate) fn look(&mut self, now_s: f64, seen_bytes: u64) -> u64 {
        let news = seen_bytes.saturating_sub(self.seen_bytes);
        self.seen_bytes = seen_bytes;
        self.now_s = now_s;
        // What comes once all had come and the time was over is something else.
        let is_silent = now_s - self.moved_s > SILENT_S;
        let has_ended = is_silent || self.is_done() && news > 0;
        if self.begun_s.is_some() && self.is_past() && has_ended {
            self.end();
        }
        if news > 0 && !self.is_over {
            self.moved_s = now_s;
            self.begin(now_s);
            self.take(news);
        }
        self.bytes_per_s()
    }

    pub(crate) fn pursued(&self) -> Pursued {
        let late_s = match (self.by_unix_s, self.done_late_s) {
            (Some(by), Some(done)) => done - by as f64,
            (Some(by), None) if self.standing() == Standing::Late => self.now_s - by as f64,
            _ => 0.0,
        };
        let minimum = Rate::from_bits_per_s(self.bytes_per_s() / 125 * 1_000);
        let is_rate = self.standing() == Standing::Behind && !self.is_unbound();
        Pursued {
            by: self.deadline.by.to_string(),
            by_unix_s: self.by_unix_s,
            size_bytes: self.deadline.size_bytes,
            done_bytes: self.done_bytes,
            standing: self.standing(),
            minimum: minimum.filter(|_| is_rate).map(|rate| rate.to_string()),
            late_s: late_s.max(0.0) as u64,
        }
    }

    fn begin(&mut self, now_s: f64) {
        if self.begun_s.is_none() {
            self.begun_s = Some(now_s);
            self.by_unix_s = Some(self.deadline.by.from(now_s as u64));
        }
    }

    fn take(&mut self, news: u64) {
        let was_done = self.is_done();
        self.done_bytes = self.done_bytes.saturating_add(news);
        if self.is_done() && !was_done && self.is_past() {
            self.done_late_s = Some(self.now_s);
        }
    }

    /// What has a time of its own each time begins anew with what comes next.
    fn end(&mut self) {
        if let By::At(_) = self.deadline.by {
            self.is_over = true;
            return;
        }
        self.by_unix_s = None;
        self.begun_s = None;
        self.done_bytes = 0;
        self.done_late_s = None;
    }

    fn is_done(&self) -> bool {
        self.done_bytes >= self.deadline.size_bytes
    }

    fn is_past(&self) -> bool {
        self.by_unix_s.is_some_and(|by| self.now_s >= by as f64)
    }

    fn is_unbound(&self) -> bool {
        self.bytes_per_s() >= FLOOR_UNBOUND_BYTES_PER_S
    }

    fn standing(&self) -> Standing {
        match self.begun_s {
            _ if self.is_done() => Standing::Done,
            _ if self.is_over => Standing::Over,
            _ if self.is_past() => Standing::Late,
            None => Standing::Waiting,
            Some(_) if self.bytes_per_s() > 0 => Standing::Behind,
            Some(_) => Standing::OnTime,
        }
    }

    fn bytes_per_s(&self) -> u64 {
        if self.is_over || self.is_done() {
            return 0;
        }
        if self.is_past() {
            return FLOOR_UNBOUND_BYTES_PER_S;
        }
        let (Some(begun_s), Some(by)) = (self.begun_s, self.by_unix_s) else {
            return 0;
        };
        let span_s = by as f64 - begun_s;
        let slack_s = (span_s / SLACK_DIVISOR).min(SLACK_MOST_S);
        let (size, done) = (self.deadline.size_bytes as f64, self.done_bytes as f64);
        let plan_s = span_s - 2.0 * slack_s;
        let left_s = by as f64 - slack_s - self.now_s;
        if left_s <= 0.0 {
            return FLOOR_UNBOUND_BYTES_PER_S;
        }
        // By how much of the planned time it is ahead, in slacks.
        let ahead_s = done / size * plan_s - (self.now_s - begun_s - slack_s);
        let part = (1.0 - ahead_s / slack_s).clamp(0.0, 1.0);
        let bytes_per_s = (size - done) / left_s * part;
        (bytes_per_s as u64).min(FLOOR_UNBOUND_BYTES_PER_S)
    }
}

impl fmt::Display for Pursued {
    /// Writes `12.3 of 40.0 GB by 06:00: on time`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match (self.standing, self.by_unix_s) {
            (Standing::Waiting, _) | (_, None) => self.by.clone(),
            (_, Some(moment)) => LocalTime::at(moment).to_string(),
        };
        let (unit_bytes, unit) = match self.size_bytes {
            1_000_000_000.. => (1e9, "GB"),
            _ => (1e6, "MB"),
        };
        let [done, size] = [self.done_bytes, self.size_bytes].map(|it| it as f64 / unit_bytes);
        write!(formatter, "{done:.1} of {size:.1} {unit} by {by}: ")?;
        let late_s = self.late_s;
        match (self.standing, &self.minimum) {
            (Standing::Waiting, _) => formatter.write_str("not begun"),
            (Standing::OnTime, _) => formatter.write_str("on time"),
            (Standing::Behind, Some(minimum)) => {
                write!(formatter, "behind, {minimum} at the least")
            }
            (Standing::Behind, None) => formatter.write_str("behind, as any other transfer"),
            (Standing::Late, _) => {
                write!(formatter, "late by {late_s} s, as any other transfer")
            }
            (Standing::Done, _) if late_s > 0 => write!(formatter, "done, {late_s} s late"),
            (Standing::Done, _) => formatter.write_str("done"),
            (Standing::Over, _) => formatter.write_str("over"),
        }
    }
}

#[cfg(test)]
mod tests;
