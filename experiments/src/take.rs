// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How measures are taken from runs.
use ebb_link::Class;
use ebb_scenario::stats::{jain_index, mean};
use ebb_scenario::{FlowMeasure, FlowOutcome, LinkMeasure, Outcome, Results, Scenario};

use crate::{Beside, Measure, MeasureKind, Phase};

impl Measure {
    /// The value in the dimension's own unit; none: it is not known, as the time of a
    /// transfer that did not end. *Shape:* `results` has one for each case; a case may have fewer
    /// runs, or none.
    pub fn take(&self, results: &[Results], case: usize, run: usize) -> Option<f64> {
        let case = self.case.unwrap_or(case);
        match &self.kind {
            MeasureKind::Ratio { over, under } => {
                let under = under
                    .take(results, case, run)
                    .filter(|value| *value != 0.0)?;
                over.take(results, case, run).map(|over| over / under)
            }
            MeasureKind::Difference { of, less } => {
                let less = less.take(results, case, run)?;
                of.take(results, case, run).map(|of| of - less)
            }
            MeasureKind::InferenceBound {
                pkts_per_s,
                threshold,
            } => Some((5.0 * pkts_per_s).sqrt() * (1.0 - threshold.sqrt())),
            MeasureKind::Rate { rate } => Some(*rate),
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
        view.take(&self.kind)
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
    /// Long because each kind of measure has a line in it, and the compiler misses none.
    fn take(&self, kind: &MeasureKind) -> Option<f64> {
        use MeasureKind as Kind;
        match kind {
            Kind::Goodput {
                flows,
                of,
                phase,
                beside,
            } => {
                let rate = self.goodput_at(flows, *phase, beside.as_ref())?;
                Some(rate / of.unwrap_or(1.0))
            }
            Kind::Share {
                flows,
                others,
                beside,
            } => self.share(flows, others, beside.as_ref()),
            Kind::SpareShare {
                flows,
                others,
                rate,
            } => self.spare_share(flows, others, *rate),
            Kind::Utilisation { link } => self.link(link)?.utilisation,
            Kind::QueueMean { link, class } => self.queue_mean_s(link, *class),
            Kind::QueueP95 { link } => Some(self.link(link)?.queue_delay_ms.p95 / 1e3),
            Kind::Drops { link } => Some(drops(self.link(link)?)[0]),
            Kind::DropShare { link } => self.drop_share(link),
            Kind::LossShare { flows } => self.loss_share(flows),
            Kind::Timeouts { flows, per_object } => self.timeouts(flows, *per_object),
            Kind::RttMean { flows } => self.rtt_mean_s(flows),
            Kind::Jain { flows } => jain_index(&self.goodputs(flows)),
            Kind::Completion { flows } => self.completion_s(flows),
            Kind::ObjectTime { flows, size_bytes } => self.object_s(flows, *size_bytes),
            Kind::PageTime { flows } => self.page_s(flows),
            Kind::PreBuffer { flows } => self.pre_buffer_s(flows),
            Kind::LateShare { flows, pre_buffer } => self.late_share(flows, *pre_buffer),
            Kind::TimeTo { flows, .. } => self.time_to_s(flows, kind),
            Kind::Window {
                flows,
                window,
                part,
                ..
            } => self.window_bytes(flows, *window, *part),
            Kind::Variations { flows, part } => self.variations(flows, *part),
            Kind::Difference { .. }
            | Kind::Ratio { .. }
            | Kind::Rate { .. }
            | Kind::InferenceBound { .. } => None,
        }
    }

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

    fn goodput_at(
        &self,
        flows: &str,
        phase: Option<Phase>,
        beside: Option<&Beside>,
    ) -> Option<f64> {
        match (phase, beside) {
            (Some(phase), _) => self.goodput_in(flows, phase),
            (None, Some(beside)) => self.goodput_beside(flows, beside),
            (None, None) => Some(self.goodput(flows)),
        }
    }

    fn spare_share(&self, flows: &str, others: &str, rate: f64) -> Option<f64> {
        let spare = rate - self.goodput(others);
        (spare > 0.0).then(|| self.goodput(flows) / spare)
    }

    fn link(&self, name: &str) -> Option<&LinkMeasure> {
        let link = self.outcome.links.iter().find(|link| link.name == name)?;
        link.measures.get(self.place)
    }

    fn queue_mean_s(&self, link: &str, class: Option<Class>) -> Option<f64> {
        let link = self.link(link)?;
        let mean_ms = match class {
            None => link.queue_delay_ms.mean,
            Some(Class::BestEffort) => link.best_effort.mean_queue_delay_ms,
            Some(Class::LessThanBestEffort) => link.less_than_best_effort.mean_queue_delay_ms,
        };
        Some(mean_ms / 1e3)
    }

    fn drop_share(&self, link: &str) -> Option<f64> {
        match drops(self.link(link)?) {
            [_, 0.0] => None,
            [dropped, offered] => Some(dropped / offered),
        }
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
