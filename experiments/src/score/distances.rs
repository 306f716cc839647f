// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::stats::{jain_index, mean};
use ebb_scenario::{ApplicationMeasure, Distribution, FlowMeasure, FlowOutcome, Outcome};
use serde::{Deserialize, Serialize};

use super::events::delays;
use super::matrix::{ScoreScenario, yields};

/// How far a law is from strict priority. A value is none where there is no such thing:
/// nobody to take from, nothing to spare, one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distances {
    /// Part of the others' goodput that they lose; below 0: they have more.
    pub goodput_taken: Option<f64>,
    /// What is added to the others' mean delay. *Units:* ms.
    pub delay_added_mean_ms: Option<f64>,
    /// The same of what 95 % of their packets do not exceed. *Units:* ms.
    pub delay_added_p95_ms: Option<f64>,
    /// Part of what the others leave that is used, at most 1.
    pub spare_used: Option<f64>,
    /// From the others' coming until it is within 10 % of the link of what strict priority
    /// leaves it, beyond the time that strict priority takes. *Units:* s.
    pub time_to_yield_s: Option<f64>,
    /// From their going until it has, within 10 % of the link, what is free, likewise.
    /// *Units:* s.
    pub time_to_reap_s: Option<f64>,
    /// Jain's index between flows of the law.
    pub jain: Option<f64>,
}

/// What strict priority gives in a run.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'o> {
    /// Those that yield.
    pub ideal: &'o Outcome,
    /// The others; none if there are none.
    pub undisturbed: Option<&'o Outcome>,
}

/// What is less than this part of the link is nothing to spare.
const LEAST_SPARE: f64 = 0.03;

impl Distances {
    /// Of one run, in the scenario's first interval; Jain's index in its last.
    pub fn of(scenario: &ScoreScenario, law: &Outcome, reference: Reference<'_>) -> Self {
        let others = others(law);
        let alone = reference.undisturbed.and_then(self::others);
        let alone = alone.filter(|alone| alone.goodput > 0.0);
        let mut distances = Self {
            jain: jain(law),
            spare_used: spare_used(law, reference),
            ..Self::default()
        };
        if let (Some(others), Some(alone)) = (others, alone) {
            distances.goodput_taken = Some(1.0 - others.goodput / alone.goodput);
            let added = |with: Option<f64>, without: Option<f64>| Some(with? - without?);
            distances.delay_added_mean_ms = added(others.mean_ms, alone.mean_ms);
            distances.delay_added_p95_ms = added(others.p95_ms, alone.p95_ms);
        }
        if let Some(delays) = delays(scenario, law, reference.ideal) {
            distances.time_to_yield_s = Some(delays.yield_s);
            distances.time_to_reap_s = delays.reap_s;
        }
        distances
    }

    /// Name, unit and value of each.
    pub fn values(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("goodput_taken_share", self.goodput_taken),
            ("delay_added_mean_ms", self.delay_added_mean_ms),
            ("delay_added_p95_ms", self.delay_added_p95_ms),
            ("spare_used_share", self.spare_used),
            ("time_to_yield_s", self.time_to_yield_s),
            ("time_to_reap_s", self.time_to_reap_s),
            ("jain_index", self.jain),
        ]
    }

    /// The mean of each over those that have it.
    pub fn mean<'d>(all: impl Iterator<Item = &'d Self> + Clone) -> Self {
        let mean = |of: fn(&Self) -> Option<f64>| {
            let values: Vec<f64> = all.clone().filter_map(of).collect();
            mean(&values)
        };
        Self {
            goodput_taken: mean(|one| one.goodput_taken),
            delay_added_mean_ms: mean(|one| one.delay_added_mean_ms),
            delay_added_p95_ms: mean(|one| one.delay_added_p95_ms),
            spare_used: mean(|one| one.spare_used),
            time_to_yield_s: mean(|one| one.time_to_yield_s),
            time_to_reap_s: mean(|one| one.time_to_reap_s),
            jain: mean(|one| one.jain),
        }
    }
}

/// All that do not yield, together.
struct Others {
    goodput: f64,
    mean_ms: Option<f64>,
    p95_ms: Option<f64>,
}

fn others(outcome: &Outcome) -> Option<Others> {
    let flows: Vec<&FlowOutcome> = outcome
        .flows
        .iter()
        .filter(|flow| !yields(flow.class))
        .collect();
    let measures = || flows.iter().filter_map(|flow| flow.measures.first());
    let goodput = measures().map(|one| one.goodput_bits_per_s).sum();
    let weighted = |of: fn(&Distribution) -> f64| {
        let delays: Vec<Distribution> = measures()
            .map(delay_ms)
            .filter(|one| one.count > 0)
            .collect();
        let count: u64 = delays.iter().map(|one| one.count).sum();
        let sum: f64 = delays.iter().map(|one| of(one) * one.count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    };
    (!flows.is_empty()).then(|| Others {
        goodput,
        mean_ms: weighted(|one| one.mean),
        p95_ms: weighted(|one| one.p95),
    })
}

/// Round trips of TCP, ways of UDP.
fn delay_ms(measure: &FlowMeasure) -> Distribution {
    match &measure.application {
        Some(
            ApplicationMeasure::Call { delay_ms, .. } | ApplicationMeasure::Udp { delay_ms, .. },
        ) => *delay_ms,
        _ => measure.rtt_ms,
    }
}

fn goodput(outcome: &Outcome, is_wanted: impl Fn(&FlowOutcome) -> bool) -> f64 {
    let wanted = outcome.flows.iter().filter(|flow| is_wanted(flow));
    let measures = wanted.filter_map(|flow| flow.measures.first());
    measures.map(|one| one.goodput_bits_per_s).sum()
}

fn spare_used(law: &Outcome, reference: Reference<'_>) -> Option<f64> {
    let full = goodput(reference.ideal, |_| true);
    let taken = reference
        .undisturbed
        .map_or(0.0, |outcome| goodput(outcome, |_| true));
    let spare = full - taken;
    let used = goodput(law, |flow| yields(flow.class));
    (spare > LEAST_SPARE * full).then(|| (used / spare).min(1.0))
}

fn jain(outcome: &Outcome) -> Option<f64> {
    let ours = outcome.flows.iter().filter(|flow| yields(flow.class));
    let goodputs: Vec<f64> = ours
        .filter_map(|flow| flow.measures.last())
        .map(|one| one.goodput_bits_per_s)
        .collect();
    (goodputs.len() > 1)
        .then(|| jain_index(&goodputs))
        .flatten()
}
