// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When those that yield had yielded, and when they had taken what became free.
use ebb_link::Nanos;
use ebb_scenario::Outcome;
use ebb_scenario::stats::mean;

use super::matrix::{BINS, ScoreScenario, yields};

/// Of the link's goodput, how near to the ideal has arrived.
const NEAR: f64 = 0.1;

/// The goodput over time of all that yield, and of all flows.
pub(super) struct Course {
    bin_s: f64,
    yielding: Vec<f64>,
    all: Vec<f64>,
}

impl Course {
    pub fn of(outcome: &Outcome) -> Self {
        let bins = |series: &&ebb_scenario::FlowSeries| series.goodput_bits_per_s.len();
        let length = outcome.series.flows.iter().map(|flow| bins(&flow)).max();
        let mut course = Self {
            bin_s: outcome.series.bin_s,
            yielding: vec![0.0; length.unwrap_or(0)],
            all: vec![0.0; length.unwrap_or(0)],
        };
        for series in &outcome.series.flows {
            let flow = outcome.flows.iter().find(|flow| flow.name == series.name);
            let is_yielding = flow.is_some_and(|flow| yields(flow.class));
            for (bin, rate) in series.goodput_bits_per_s.iter().enumerate() {
                course.all[bin] += rate;
                if is_yielding {
                    course.yielding[bin] += rate;
                }
            }
        }
        course
    }

    fn place(&self, time: Nanos) -> usize {
        (time.as_secs_f64() / self.bin_s).round() as usize
    }

    /// From an instant until a mean fulfils the condition, up to an end. *Units:* s.
    fn until(&self, from: Nanos, to: Nanos, is_there: impl Fn(f64) -> bool) -> f64 {
        let (from, to) = (self.place(from), self.place(to).min(self.yielding.len()));
        let bins = BINS as usize;
        let first = (from..to.saturating_sub(bins - 1))
            .find(|bin| mean(&self.yielding[*bin..bin + bins]).is_some_and(&is_there));
        (first.unwrap_or(to) - from.min(to)) as f64 * self.bin_s
    }
}

/// Means over all times that others came, and that they went. *Units:* s.
pub(super) struct Delays {
    pub yield_s: f64,
    pub reap_s: Option<f64>,
}

/// How long the law took for both, beyond the ideal's own time.
pub(super) fn delays(scenario: &ScoreScenario, law: &Outcome, ideal: &Outcome) -> Option<Delays> {
    let (law, ideal) = (Course::of(law), Course::of(ideal));
    let full = ideal.all.iter().copied().fold(0.0, f64::max);
    let near = NEAR * full;
    let (mut yields, mut reaps) = (Vec::new(), Vec::new());
    for (place, (from, to)) in scenario.busy.iter().enumerate() {
        let end = scenario
            .busy
            .get(place + 1)
            .map_or(scenario.scenario.duration, |next| next.0);
        let goal = ideal.settled(*from, *to);
        let time = |course: &Course| course.until(*from, *to, |rate| rate <= goal + near);
        yields.push((time(&law) - time(&ideal)).max(0.0));
        if end > *to {
            let goal = ideal.settled(*to, end);
            let time = |course: &Course| course.until(*to, end, |rate| rate >= goal - near);
            reaps.push((time(&law) - time(&ideal)).max(0.0));
        }
    }
    mean(&yields).map(|yield_s| Delays {
        yield_s,
        reap_s: mean(&reaps),
    })
}

impl Course {
    /// What is had in the second half of a time.
    fn settled(&self, from: Nanos, to: Nanos) -> f64 {
        let (from, to) = (self.place(from), self.place(to).min(self.yielding.len()));
        let middle = (from + to) / 2;
        mean(&self.yielding[middle.min(to)..to]).unwrap_or(0.0)
    }
}
