// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::{lines_of, time_in_ms};
use crate::{LinkError, Nanos, Rate};

/// A rate that changes at given times, repeated for ever.
///
/// The text form has one change per line: a time in milliseconds, and the rate from then on
/// (`12.5mbit`), or `0` for a link that does not send. The first time is 0. The last line has a
/// time and `end`: that is the period. Times may have fractions, lines may be empty, and `#`
/// starts a comment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct RateSteps {
    steps: Arc<[RateStep]>,
    period: Nanos,
}

/// A rate, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateStep {
    pub(crate) from: Nanos,
    pub(crate) bits_per_s: u64,
}

impl RateSteps {
    /// Reads the text form; `file` is only for messages.
    ///
    /// *Errors:* [`LinkError::TraceLine`] for a line that is no change, or out of order,
    /// [`LinkError::Trace`] for steps without a beginning, an end or any rate.
    pub fn parse(file: &str, text: &str) -> Result<Self, LinkError> {
        let mut steps = Vec::new();
        let mut period = None;
        for (line, content) in lines_of(text) {
            let wrong = LinkError::in_line(file, line);
            if period.is_some() {
                return Err(wrong(format!("`{content}` comes after the end")));
            }
            let (from, what) = read_line(content).map_err(&wrong)?;
            let last = steps.last().map(|step: &RateStep| step.from);
            if last.is_some_and(|last| from <= last) {
                return Err(wrong(format!("`{content}` is not after the line above it")));
            }
            match what {
                Some(bits_per_s) => steps.push(RateStep { from, bits_per_s }),
                None => period = Some(from),
            }
        }
        Self::from_steps(file, steps, period)
    }

    /// The length after which the steps start again.
    pub fn period(&self) -> Nanos {
        self.period
    }

    /// The mean rate. *Units:* bits per second.
    pub fn mean_bits_per_s(&self) -> f64 {
        self.bit_ns_of_period() as f64 / self.period.0 as f64
    }

    /// What a period carries. *Units:* 10^-9 bits.
    pub(crate) fn bit_ns_of_period(&self) -> u128 {
        let bit_ns = |index: usize| {
            let (step, until) = self.step(index);
            u128::from(until.since(step.from).0) * u128::from(step.bits_per_s)
        };
        (0..self.steps.len()).map(bit_ns).sum()
    }

    /// The step that holds at a time within the period, and until when.
    pub(crate) fn at(&self, offset: Nanos) -> (RateStep, Nanos) {
        let after = self.steps.partition_point(|step| step.from <= offset);
        self.step(after.saturating_sub(1))
    }

    fn step(&self, index: usize) -> (RateStep, Nanos) {
        let until = self.steps.get(index + 1);
        (
            self.steps[index],
            until.map_or(self.period, |next| next.from),
        )
    }

    fn from_steps(
        file: &str,
        steps: Vec<RateStep>,
        period: Option<Nanos>,
    ) -> Result<Self, LinkError> {
        let error = |problem| {
            let file = file.to_owned();
            Err(LinkError::Trace { file, problem })
        };
        let Some(period) = period else {
            return error("the last line must be the period, like `60000 end`");
        };
        if steps.first().is_none_or(|first| first.from > Nanos::ZERO) {
            return error("the first line must be the rate from 0 on, like `0 12mbit`");
        }
        if steps.iter().all(|step| step.bits_per_s == 0) {
            return error("the rate is never above 0: nothing would ever arrive");
        }
        Ok(Self {
            steps: steps.into(),
            period,
        })
    }
}

/// The time of a line, and the rate from then on; none at the end.
fn read_line(content: &str) -> Result<(Nanos, Option<u64>), String> {
    let (time, rate) = content
        .split_once(char::is_whitespace)
        .ok_or_else(|| format!("`{content}` is no time and rate, like `100 12.5mbit`"))?;
    let from = time_in_ms(time)?;
    let bits_per_s = match rate.trim() {
        "end" => None,
        "0" => Some(0),
        rate => Some(
            rate.parse::<Rate>()
                .map_err(|error| error.to_string())?
                .bits_per_s(),
        ),
    };
    Ok((from, bits_per_s))
}

impl TryFrom<Vec<(u64, u64)>> for RateSteps {
    type Error = LinkError;

    /// From times (ns) and rates (bit/s); the rate of the last one, the period, does not matter.
    fn try_from(mut pairs: Vec<(u64, u64)>) -> Result<Self, LinkError> {
        let period = pairs.pop().map(|(time, _)| Nanos(time));
        let times = || pairs.iter().map(|(time, _)| Nanos(*time)).chain(period);
        if !times().is_sorted_by(|one, next| one < next) {
            return Err(LinkError::Trace {
                file: "rates".to_owned(),
                problem: "the times must be in order, each later than the one before it",
            });
        }
        let step = |(from, bits_per_s)| RateStep {
            from: Nanos(from),
            bits_per_s,
        };
        Self::from_steps("rates", pairs.into_iter().map(step).collect(), period)
    }
}

impl From<RateSteps> for Vec<(u64, u64)> {
    fn from(rates: RateSteps) -> Self {
        let steps = rates.steps.iter();
        let pairs = steps.map(|step| (step.from.0, step.bits_per_s));
        pairs.chain([(rates.period.0, 0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_changes_and_their_period() {
        let text = "# a cell\n0 10mbit\n\n100.5 0  # out of reach\n200 40mbit\n400 end\n";
        let rates = RateSteps::parse("cell.rates", text).unwrap();
        assert_eq!(rates.period(), Nanos::from_millis(400));
        let at = |us| {
            let (step, until) = rates.at(Nanos::from_micros(us));
            (step.bits_per_s, until.0 / 1_000)
        };
        assert_eq!(at(0), (10_000_000, 100_500));
        assert_eq!(at(100_499), (10_000_000, 100_500));
        assert_eq!(at(100_500), (0, 200_000));
        assert_eq!(at(399_999), (40_000_000, 400_000));
        // (10 * 100.5 + 40 * 200) / 400.
        assert_eq!(rates.mean_bits_per_s(), 22_512_500.0);
        let pairs: Vec<(u64, u64)> = rates.clone().into();
        assert_eq!(RateSteps::try_from(pairs).unwrap(), rates);
    }

    #[test]
    fn names_file_and_line_of_what_it_cannot_read() {
        let told = |text| {
            RateSteps::parse("cell.rates", text)
                .unwrap_err()
                .to_string()
        };
        for (text, expected) in [
            ("0 10mbit\nsoon 1mbit\n", "cell.rates:2: `soon` is no time"),
            ("0\n", "cell.rates:1: `0` is no time and rate"),
            ("0 10\n", "cell.rates:1: rate `10`"),
            ("0 1mbit\n0 2mbit\n", "cell.rates:2: `0 2mbit` is not after"),
            (
                "0 1mbit\n9 end\n10 1mbit\n",
                "cell.rates:3: `10 1mbit` comes after",
            ),
            ("0 1mbit\n", "cell.rates: the last line must be the period"),
            ("1 1mbit\n2 end\n", "cell.rates: the first line must be"),
            ("0 0\n2 end\n", "never above 0"),
        ] {
            let told = told(text);
            assert!(told.contains(expected), "{text:?}: {told}");
        }
        let unordered = RateSteps::try_from(vec![(0, 1), (5, 1), (5, 0)]);
        assert!(unordered.unwrap_err().to_string().contains("in order"));
    }
}
