// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How measures are taken from runs.
use ebb_link::Class;
use ebb_scenario::stats::jain_index;
use ebb_scenario::{FlowMeasure, FlowOutcome, LinkMeasure, Outcome, Results, Scenario};

use crate::{Figure, Measure};

impl Measure {
    /// The value in the dimension's own unit; none: it is not known, as the time of a
    /// transfer that did not end. *Shape:* `results` has one for each case; a case may have fewer
    /// runs, or none.
    pub fn take(&self, results: &[Results], case: usize, run: usize) -> Option<f64> {
        let case = self.case.unwrap_or(case);
        match &self.figure {
            Figure::Ratio { over, under } => {
                let under = under
                    .take(results, case, run)
                    .filter(|value| *value != 0.0)?;
                over.take(results, case, run).map(|over| over / under)
            }
            Figure::Difference { of, less } => {
                let less = less.take(results, case, run)?;
                of.take(results, case, run).map(|of| of - less)
            }
            Figure::InferenceBound {
                pkts_per_s,
                threshold,
            } => Some((5.0 * pkts_per_s).sqrt() * (1.0 - threshold.sqrt())),
            Figure::Rate { rate } => Some(*rate),
            _ => {
                let of_case = results.get(case)?;
                self.take_from(&of_case.scenario, of_case.runs.get(run)?)
            }
        }
    }

    fn take_from(&self, scenario: &Scenario, outcome: &Outcome) -> Option<f64> {
        let place = match &self.interval {
            None => 0,
            Some(name) => outcome.intervals.iter().position(|one| one.name == *name)?,
        };
        let view = View {
            scenario,
            outcome,
            place,
        };
        match &self.figure {
            Figure::Goodput {
                flows,
                of,
                phase,
                beside,
            } => {
                let rate = match (phase, beside) {
                    (Some(phase), _) => view.goodput_in(flows, *phase)?,
                    (None, Some(beside)) => view.goodput_beside(flows, beside)?,
                    (None, None) => view.goodput(flows),
                };
                Some(rate / of.unwrap_or(1.0))
            }
            Figure::Share {
                flows,
                others,
                beside,
            } => view.share(flows, others, beside.as_ref()),
            Figure::TimeTo { flows, .. } => view.time_to_s(flows, &self.figure),
            Figure::Window {
                flows,
                window,
                part,
                ..
            } => view.window_bytes(flows, *window, *part),
            Figure::Variations { flows, part } => view.variations(flows, *part),
            Figure::SpareShare {
                flows,
                others,
                rate,
            } => {
                let spare = rate - view.goodput(others);
                (spare > 0.0).then(|| view.goodput(flows) / spare)
            }
            Figure::Utilisation { link } => view.link(link)?.utilisation,
            Figure::QueueMean { link, class } => {
                let link = view.link(link)?;
                let mean_ms = match class {
                    None => link.queue_delay_ms.mean,
                    Some(Class::BestEffort) => link.best_effort.mean_queue_delay_ms,
                    Some(Class::LessThanBestEffort) => {
                        link.less_than_best_effort.mean_queue_delay_ms
                    }
                };
                Some(mean_ms / 1e3)
            }
            Figure::QueueP95 { link } => Some(view.link(link)?.queue_delay_ms.p95 / 1e3),
            Figure::Drops { link } => Some(drops(view.link(link)?)[0]),
            Figure::DropShare { link } => match drops(view.link(link)?) {
                [_, 0.0] => None,
                [dropped, offered] => Some(dropped / offered),
            },
            Figure::LossShare { flows } => view.loss_share(flows),
            Figure::Timeouts { flows, per_object } => view.timeouts(flows, *per_object),
            Figure::RttMean { flows } => view.rtt_mean_s(flows),
            Figure::Jain { flows } => jain_index(&view.goodputs(flows)),
            Figure::Completion { flows } => view.completion_s(flows),
            Figure::ObjectTime { flows, size_bytes } => view.object_s(flows, *size_bytes),
            Figure::PageTime { flows } => view.page_s(flows),
            Figure::PreBuffer { flows } => view.pre_buffer_s(flows),
            Figure::LateShare { flows, pre_buffer } => view.late_share(flows, *pre_buffer),
            Figure::Difference { .. }
            | Figure::Ratio { .. }
            | Figure::Rate { .. }
            | Figure::InferenceBound { .. } => None,
        }
    }
}

/// Whether a flow is meant by this name, or by the beginning of one: `web*`.
pub(crate) fn is_of(name: &str, group: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => group.starts_with(beginning),
        None => wanted.is_empty() || name == wanted || group == wanted,
    }
}

/// An interval of a run.
pub(crate) struct View<'o> {
    pub(crate) scenario: &'o Scenario,
    pub(crate) outcome: &'o Outcome,
    pub(crate) place: usize,
}

impl View<'_> {
    pub(crate) fn flows<'v>(&'v self, flows: &'v str) -> impl Iterator<Item = &'v FlowOutcome> {
        let is_meant = move |flow: &&FlowOutcome| is_of(&flow.name, &flow.group, flows);
        self.outcome.flows.iter().filter(is_meant)
    }

    pub(crate) fn measures<'v>(&'v self, flows: &'v str) -> impl Iterator<Item = &'v FlowMeasure> {
        self.flows(flows).map(|flow| &flow.measures[self.place])
    }

    fn goodputs(&self, flows: &str) -> Vec<f64> {
        self.measures(flows)
            .map(|flow| flow.goodput_bits_per_s)
            .collect()
    }

    pub(crate) fn goodput(&self, flows: &str) -> f64 {
        self.goodputs(flows).iter().sum()
    }

    fn link(&self, name: &str) -> Option<&LinkMeasure> {
        let link = self.outcome.links.iter().find(|link| link.name == name)?;
        link.measures.get(self.place)
    }

    fn loss_share(&self, flows: &str) -> Option<f64> {
        let (mut lost, mut sent) = (0, 0);
        for flow in self.measures(flows) {
            lost += flow.lost_pkts?;
            sent += flow.sent_pkts;
        }
        (sent > 0).then(|| lost as f64 / sent as f64)
    }

    fn rtt_mean_s(&self, flows: &str) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0);
        for flow in self.measures(flows) {
            sum += flow.rtt_ms.mean * flow.rtt_ms.count as f64;
            count += flow.rtt_ms.count;
        }
        (count > 0).then(|| sum / count as f64 / 1e3)
    }

    fn completion_s(&self, flows: &str) -> Option<f64> {
        let times: Option<Vec<f64>> = self.flows(flows).map(|flow| flow.completion_s).collect();
        mean(&times?)
    }
}

/// Dropped and offered.
fn drops(link: &LinkMeasure) -> [f64; 2] {
    let classes = [&link.best_effort, &link.less_than_best_effort];
    [
        classes.iter().map(|class| class.dropped_pkts as f64).sum(),
        classes.iter().map(|class| class.offered_pkts as f64).sum(),
    ]
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
