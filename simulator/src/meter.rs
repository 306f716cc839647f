// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is measured while a run goes on.
//!
//! Counters only grow; they are read at the borders of intervals and bins, and a figure
//! is the difference of two readings. Distributions are counted by interval at once.

use ebb_link::Nanos;
use ebb_scenario::{Interval, Scenario};

use crate::Histogram;

/// The times at which meters are read, and the intervals that are open in between.
pub(crate) struct Clock {
    /// Borders of intervals and ends of bins, in order, each once.
    readings: Vec<Nanos>,
    next: usize,
    intervals: Vec<Interval>,
    /// Places of the intervals that `now` belongs to.
    open: Vec<usize>,
}

impl Clock {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let ends_of_bins =
            (1..=scenario.bins() as u64).map(|bin| Nanos(scenario.bin.0.saturating_mul(bin)));
        let borders = scenario
            .intervals
            .iter()
            .flat_map(|interval| [interval.from, interval.to]);
        let mut readings: Vec<Nanos> = ends_of_bins
            .chain(borders)
            .map(|time| time.min(scenario.duration))
            .collect();
        readings.sort_unstable();
        readings.dedup();
        let mut clock = Self {
            readings,
            next: 0,
            intervals: scenario.intervals.clone(),
            open: Vec::new(),
        };
        clock.open_at(Nanos::ZERO);
        clock
    }

    /// The next time at which meters are to be read.
    pub(crate) fn next_reading(&self) -> Option<Nanos> {
        self.readings.get(self.next).copied()
    }

    /// Whether intervals open or close with the reading that is next.
    pub(crate) fn is_at_border(&self) -> bool {
        let now = self.readings[self.next];
        let borders = |interval: &Interval| interval.from == now || interval.to == now;
        self.intervals.iter().any(borders)
    }

    /// Goes on to the following reading; intervals open and close with this one.
    pub(crate) fn advance(&mut self) {
        let now = self.readings[self.next];
        self.next += 1;
        self.open_at(now);
    }

    /// All intervals.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Places of the intervals that are open.
    #[inline]
    pub(crate) fn open(&self) -> &[usize] {
        &self.open
    }

    fn open_at(&mut self, now: Nanos) {
        self.open.clear();
        let places = self.intervals.iter().enumerate();
        self.open.extend(
            places
                .filter(|(_, interval)| interval.contains(now))
                .map(|(place, _)| place),
        );
    }
}

/// A distribution for each interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByInterval(Vec<Histogram>);

impl ByInterval {
    pub(crate) fn new(intervals: usize) -> Self {
        Self(vec![Histogram::default(); intervals])
    }

    /// Counts the value in each of these intervals.
    #[inline]
    pub(crate) fn add(&mut self, open: &[usize], value: Nanos) {
        for place in open {
            self.0[*place].add(value);
        }
    }

    pub(crate) fn get(&self, interval: usize) -> &Histogram {
        &self.0[interval]
    }
}
