// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bursts of an on-off flow as they arrive, and the pauses between them.
use ebb_scenario::Traffic;

use crate::take::View;
use crate::{Beside, Times};

/// A part of a run. *Units:* s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    from_s: f64,
    to_s: f64,
}

impl View<'_> {
    /// Bursts, or pauses between them, within the interval; none if the flow is not on and off.
    pub(crate) fn spans(&self, beside: &Beside) -> Option<Vec<Span>> {
        let bursts = self.bursts(&beside.flows)?;
        match beside.times {
            Times::BetweenBursts => Some(self.pauses(&bursts)),
            _ => Some(bursts),
        }
    }

    /// From the first to the last bin of each burst in which something arrives; those that begin
    /// before the interval, or that the end of the run cuts off, are left out.
    fn bursts(&self, wanted: &str) -> Option<Vec<Span>> {
        let interval = &self.outcome.intervals[self.place];
        let outcome = self.flows(wanted).next()?;
        let mut flows = self.scenario.flows.iter();
        let flow = flows.find(|flow| flow.name == outcome.name)?;
        let Traffic::OnOff { on, off, .. } = &flow.traffic else {
            return None;
        };
        let (on_s, period_s) = (on.as_secs_f64(), (*on + *off).as_secs_f64());
        let rates = self.rates(wanted)?;
        let bin_s = self.outcome.series.bin_s;
        let place = |time_s: f64| ((time_s / bin_s + 1e-6) as usize).min(rates.len());
        let mut bursts = Vec::new();
        for number in 0_u32.. {
            // What a period's burst is made of arrives within the period: the next one is a pause
            // and a way through the network later.
            let begin_s = outcome.start_s + f64::from(number) * period_s;
            if begin_s + on_s > interval.to_s + 1e-9 {
                break;
            }
            let (first, end) = (place(begin_s), place(begin_s + period_s));
            let has_some = |bin: &usize| rates[*bin] > 0.0;
            let first = (first..end).find(has_some);
            let last = (first.unwrap_or(end)..end).rfind(has_some);
            let span = first.zip(last).map(|(first, last)| Span {
                from_s: first as f64 * bin_s,
                to_s: (last + 1) as f64 * bin_s,
            });
            bursts.extend(span.filter(|span| span.from_s >= interval.from_s));
        }
        Some(bursts)
    }

    fn pauses(&self, bursts: &[Span]) -> Vec<Span> {
        let end_s = self.outcome.intervals[self.place].to_s;
        let nexts = bursts.iter().skip(1).map(|next| next.from_s);
        let pauses = bursts.iter().zip(nexts.chain([end_s]));
        let pauses = pauses.map(|(burst, next_s)| Span {
            from_s: burst.to_s,
            to_s: next_s,
        });
        pauses.filter(|span| span.from_s < span.to_s).collect()
    }

    /// Mean of rates in a span, bins counted by the part that is inside.
    pub(crate) fn rate_within(&self, rates: &[f64], span: Span) -> f64 {
        let bin_s = self.outcome.series.bin_s;
        let first = (span.from_s / bin_s).floor().max(0.0) as usize;
        let last = ((span.to_s / bin_s).ceil().max(0.0) as usize).min(rates.len());
        let within = |bin: usize| {
            let from_s = bin as f64 * bin_s;
            let inside_s = (from_s + bin_s).min(span.to_s) - from_s.max(span.from_s);
            rates[bin] * inside_s.max(0.0)
        };
        let sum: f64 = (first..last).map(within).sum();
        sum / (span.to_s - span.from_s)
    }
}
