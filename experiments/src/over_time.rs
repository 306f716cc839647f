// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is taken from the time series of a run.
use ebb_link::Nanos;
use ebb_scenario::FlowSeries;
use ebb_scenario::stats::mean;

use crate::take::View;
use crate::{Beside, MeasureKind, Part, Phase, Times, VariationPart, Window};

impl View<'_> {
    /// Only bins in the phase and, as a whole, in the interval.
    pub(crate) fn goodput_in(&self, flows: &str, phase: Phase) -> Option<f64> {
        let bin_s = self.outcome.series.bin_s;
        let is_in = |bin: usize| {
            // The middle is safe from rounding: bins begin and end where the phase does.
            let middle_s = (bin as f64 + 0.5) * bin_s % phase.period.as_secs_f64();
            (phase.from.as_secs_f64()..phase.to.as_secs_f64()).contains(&middle_s)
        };
        let bins: Vec<usize> = self.bins().filter(|bin| is_in(*bin)).collect();
        self.rate_in(flows, &bins)
    }

    /// Only at the times that others' sending tells apart.
    pub(crate) fn goodput_beside(&self, flows: &str, beside: &Beside) -> Option<f64> {
        let is_active = match beside.times {
            Times::Active => true,
            Times::Silent => false,
            Times::InBursts | Times::BetweenBursts => {
                let rates = self.rates(flows)?;
                let spans = self.spans(beside)?.into_iter();
                let each: Vec<f64> = spans.map(|span| self.rate_within(&rates, span)).collect();
                return mean(&each);
            }
        };
        let bins = self.bins_beside(beside, is_active);
        self.rate_in(flows, &bins)
    }

    /// The part that flows have of what they and others have together.
    pub(crate) fn share(&self, flows: &str, others: &str, beside: Option<&Beside>) -> Option<f64> {
        let [ours, theirs] = match beside {
            Some(beside) => [
                self.goodput_beside(flows, beside)?,
                self.goodput_beside(others, beside)?,
            ],
            None => [self.goodput(flows), self.goodput(others)],
        };
        (ours + theirs > 0.0).then(|| ours / (ours + theirs))
    }

    /// From an instant to the end of the first bin with that goodput.
    pub(crate) fn time_to_s(&self, flows: &str, time_to: &MeasureKind) -> Option<f64> {
        let MeasureKind::TimeTo {
            rate,
            from,
            after_below,
            until,
            bin,
            ..
        } = time_to
        else {
            return None;
        };
        let bin_s = self.outcome.series.bin_s;
        let per_look = per_look(*bin, bin_s);
        let place = |time: Nanos| (time.as_secs_f64() / bin_s).round() as usize;
        let rates = self.rates(flows)?;
        let end = until.map_or(rates.len(), |until| place(until).min(rates.len()));
        let looks: Vec<f64> = rates
            .get(place(*from)..end)?
            .chunks_exact(per_look)
            .filter_map(mean)
            .collect();
        let first = match after_below {
            None => 0,
            Some(low) => match looks.iter().position(|look| look < low) {
                None => return Some(0.0),
                Some(first) => first,
            },
        };
        let after = looks[first..].iter().position(|look| look >= rate);
        match after {
            Some(after) => Some(((first + after + 1) * per_look) as f64 * bin_s),
            None => until.map(|until| until.since(*from).as_secs_f64()),
        }
    }

    /// *Returns:* bytes, of flows together.
    pub(crate) fn window_bytes(&self, flows: &str, window: Window, part: Part) -> Option<f64> {
        let bins: Vec<usize> = self.bins().collect();
        let of_series = |series: &FlowSeries| {
            let list = match window {
                Window::Congestion => &series.cwnd_bytes,
                Window::Advertised => &series.rwnd_bytes,
                Window::Estimate => &series.estimate_bytes,
            };
            let values = bins
                .iter()
                .filter_map(|bin| list.get(*bin).copied().flatten());
            let values: Vec<f64> = values.map(|bytes| bytes as f64).collect();
            match part {
                Part::Mean => mean(&values),
                Part::Max => values.iter().copied().reduce(f64::max),
                Part::Min => values.iter().copied().reduce(f64::min),
                Part::First => values.first().copied(),
                Part::Last => values.last().copied(),
            }
        };
        let series: Vec<&FlowSeries> = self.series(flows).collect();
        if series.is_empty() {
            return None;
        }
        series.into_iter().map(of_series).sum()
    }

    pub(crate) fn variations(&self, flows: &str, part: VariationPart) -> Option<f64> {
        let rounds = self
            .measures(flows)
            .filter_map(|flow| flow.variations.as_ref());
        let values = rounds.map(|rounds| match part {
            VariationPart::MaxPositiveShare => rounds.max_positive_share,
            VariationPart::MaxSum => rounds.max_sum_jiffies as f64,
        });
        values.reduce(f64::max)
    }

    /// Bins that lie in the interval as a whole.
    fn bins(&self) -> impl Iterator<Item = usize> {
        let interval = &self.outcome.intervals[self.place];
        let bin_s = self.outcome.series.bin_s;
        let last = (self.outcome.duration_s / bin_s).round() as usize;
        (0..last).filter(move |bin| {
            let (from_s, to_s) = (*bin as f64 * bin_s, (*bin + 1) as f64 * bin_s);
            from_s >= interval.from_s - 1e-9 && to_s <= interval.to_s + 1e-9
        })
    }

    fn bins_beside(&self, beside: &Beside, is_active: bool) -> Vec<usize> {
        let Some(rates) = self.rates(&beside.flows) else {
            return Vec::new();
        };
        let per_look = per_look(beside.bin, self.outcome.series.bin_s);
        let is_meant = |bin: &usize| {
            let look = bin / per_look * per_look;
            let end = (look + per_look).min(rates.len());
            rates[look..end].iter().any(|rate| *rate > 0.0) == is_active
        };
        self.bins().filter(is_meant).collect()
    }

    fn series<'v>(&'v self, flows: &'v str) -> impl Iterator<Item = &'v FlowSeries> {
        let is_meant =
            |series: &&FlowSeries| self.flows(flows).any(|flow| flow.name == series.name);
        self.outcome.series.flows.iter().filter(is_meant)
    }

    /// Goodput of flows together, bin by bin. *Units:* bit/s.
    pub(crate) fn rates(&self, flows: &str) -> Option<Vec<f64>> {
        let mut total: Option<Vec<f64>> = None;
        for series in self.series(flows) {
            let total = total.get_or_insert_with(|| vec![0.0; series.goodput_bits_per_s.len()]);
            for (sum, rate) in total.iter_mut().zip(&series.goodput_bits_per_s) {
                *sum += rate;
            }
        }
        total
    }

    /// Mean goodput of flows together in these bins; none without a bin. *Units:* bit/s.
    fn rate_in(&self, flows: &str, bins: &[usize]) -> Option<f64> {
        let rates = self.rates(flows)?;
        let values: Option<Vec<f64>> = bins.iter().map(|bin| rates.get(*bin).copied()).collect();
        mean(&values?)
    }
}

/// Bins that are looked at together.
pub(crate) fn per_look(bin: Nanos, bin_s: f64) -> usize {
    ((bin.as_secs_f64() / bin_s).round() as usize).max(1)
}
