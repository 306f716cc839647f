// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::{lines_of, time_in_ms};
use crate::{LinkError, Nanos};

/// What one opportunity of a trace can carry. *Units:* bytes.
pub const TRACE_MTU_BYTES: u32 = 1_500;

/// The times at which a link can send, repeated for ever.
///
/// The text form is Mahimahi's: one time in milliseconds per line, in order, each an
/// opportunity to send [`TRACE_MTU_BYTES`]; the last time is also the period. Here
/// times may have fractions, lines may be empty, and `#` starts a comment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Trace {
    opportunities: Arc<[Nanos]>,
}

impl Trace {
    /// Reads the text form; `file` is only for messages.
    ///
    /// *Errors:* [`LinkError::TraceLine`] for a line that is no time or goes back in
    /// time, [`LinkError::Trace`] for a trace without a period.
    pub fn parse(file: &str, text: &str) -> Result<Self, LinkError> {
        let mut opportunities = Vec::new();
        for (line, content) in lines_of(text) {
            let wrong = LinkError::in_line(file, line);
            let time = time_in_ms(content).map_err(&wrong)?;
            if opportunities.last().is_some_and(|last| *last > time) {
                return Err(wrong(format!("`{content}` is before the line above it")));
            }
            opportunities.push(time);
        }
        Self::from_times(file, opportunities)
    }

    /// The length after which the trace starts again.
    pub fn period(&self) -> Nanos {
        *self
            .opportunities
            .last()
            .expect("a trace has at least one opportunity")
    }

    /// How many opportunities one period has.
    pub fn opportunities(&self) -> usize {
        self.opportunities.len()
    }

    /// The mean rate of the trace. *Units:* bits per second.
    pub fn mean_bits_per_s(&self) -> f64 {
        let bits = self.opportunities.len() as f64 * f64::from(TRACE_MTU_BYTES) * 8.0;
        bits / self.period().as_secs_f64()
    }

    /// The time of an opportunity, counted on through the repetitions.
    pub(crate) fn time(&self, number: u64) -> Nanos {
        let length = self.opportunities.len() as u64;
        let repetitions = Nanos((number / length).saturating_mul(self.period().0));
        repetitions + self.opportunities[(number % length) as usize]
    }

    /// The first opportunity strictly after `time`.
    pub(crate) fn first_after(&self, time: Nanos) -> u64 {
        let period = self.period().0;
        // At the end of a period its last opportunities have just passed, and those at
        // time zero of the next one, if any, pass in the same instant.
        let (repetition, offset) = (time.0 / period, time.0 % period);
        let index = self
            .opportunities
            .partition_point(|opportunity| opportunity.0 <= offset);
        repetition * self.opportunities.len() as u64 + index as u64
    }

    fn from_times(file: &str, opportunities: Vec<Nanos>) -> Result<Self, LinkError> {
        let error = |problem| LinkError::Trace {
            file: file.to_owned(),
            problem,
        };
        match opportunities.last() {
            None => Err(error(
                "no delivery time in it; write one time in milliseconds per line",
            )),
            Some(&Nanos::ZERO) => Err(error(
                "the last time is the period of the trace and must be above 0",
            )),
            Some(_) => Ok(Self {
                opportunities: opportunities.into(),
            }),
        }
    }
}

impl TryFrom<Vec<u64>> for Trace {
    type Error = LinkError;

    fn try_from(nanoseconds: Vec<u64>) -> Result<Self, LinkError> {
        if !nanoseconds.is_sorted() {
            return Err(LinkError::Trace {
                file: "trace".to_owned(),
                problem: "the times must be in order",
            });
        }
        Self::from_times("trace", nanoseconds.into_iter().map(Nanos).collect())
    }
}

impl From<Trace> for Vec<u64> {
    fn from(trace: Trace) -> Self {
        trace.opportunities.iter().map(|time| time.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_its_times_after_the_last_one() {
        let trace = Trace::parse("t", "0\n2.5\n# quiet\n\n10\n").unwrap();
        let times: Vec<u64> = (0..7).map(|number| trace.time(number).0).collect();
        let ms = 1_000_000;
        assert_eq!(
            times,
            [
                0,
                5 * ms / 2,
                10 * ms,
                10 * ms,
                25 * ms / 2,
                20 * ms,
                20 * ms
            ]
        );
        assert_eq!(trace.period(), Nanos::from_millis(10));
        // 3 opportunities * 1500 bytes * 8 in 10 ms: 3.6 Mbit/s.
        assert_eq!(trace.mean_bits_per_s(), 3_600_000.0);
    }

    #[test]
    fn finds_the_first_opportunity_after_a_time() {
        let trace = Trace::parse("t", "1\n2\n10\n").unwrap();
        let first_after = |ms| trace.first_after(Nanos::from_millis(ms));
        assert_eq!(first_after(0), 0);
        assert_eq!(first_after(1), 1);
        assert_eq!(first_after(2), 2);
        assert_eq!(first_after(10), 3);
        assert_eq!(first_after(11), 4);
        assert_eq!(trace.time(first_after(12)), Nanos::from_millis(20));
    }

    #[test]
    fn names_file_and_line_of_what_it_cannot_read() {
        let message = |text| Trace::parse("cell.trace", text).unwrap_err().to_string();
        assert!(message("1\nsoon\n").starts_with("cell.trace:2: `soon`"));
        assert!(message("5\n\n3\n").starts_with("cell.trace:3: `3` is before"));
        assert!(message("# nothing\n").starts_with("cell.trace: no delivery time"));
        assert!(message("0\n0\n").contains("must be above 0"));
    }
}
