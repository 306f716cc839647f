// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far the lab and the simulator are apart.
use std::collections::BTreeMap;

use ebb_lab::stats::Summary;
use ebb_scenario::{Outcome, Results};

/// Goodput of each group of flows.
type Goodputs<'r> = BTreeMap<&'r str, f64>;

/// The part of goodput that is elsewhere: the differences of all groups of flows by the
/// simulator's sum, in the mean over cases and intervals.
pub(crate) fn apart(lab: &[Results], simulated: &[Results]) -> Option<f64> {
    let mut parts = Vec::new();
    for (lab, simulated) in lab.iter().zip(simulated) {
        for interval in 0..lab.scenario.intervals.len() {
            let [lab, simulated] = [lab, simulated].map(|it| mean(it.runs.iter(), interval));
            parts.extend(elsewhere(&lab, &simulated));
        }
    }
    Summary::of(&parts).map(|summary| summary.mean)
}

/// The same between two sets of runs of the simulator, each of as many as there are: from how
/// far each run is from the mean of the others.
pub(crate) fn by_chance(simulated: &[Results]) -> Option<f64> {
    let mut parts = Vec::new();
    for results in simulated.iter().filter(|results| results.runs.len() > 1) {
        let count = results.runs.len() as f64;
        // One and the mean of n - 1 differ with the variance n / (n - 1), two means of n with
        // 2 / n.
        let scale = (2.0 * (count - 1.0)).sqrt() / count;
        for (place, run) in results.runs.iter().enumerate() {
            let others = || results.runs.iter().enumerate();
            let others = || others().filter(|(other, _)| *other != place);
            for interval in 0..results.scenario.intervals.len() {
                let one = mean([run].into_iter(), interval);
                let others = mean(others().map(|(_, run)| run), interval);
                parts.extend(elsewhere(&one, &others).map(|part| part * scale));
            }
        }
    }
    Summary::of(&parts).map(|summary| summary.mean)
}

fn elsewhere(ours: &Goodputs<'_>, theirs: &Goodputs<'_>) -> Option<f64> {
    let total: f64 = theirs.values().sum();
    let differences = theirs
        .iter()
        .map(|(group, rate)| (ours.get(group).unwrap_or(&0.0) - rate).abs());
    (total > 0.0 && !ours.is_empty()).then(|| differences.sum::<f64>() / total)
}

/// Over these runs.
fn mean<'r>(runs: impl Iterator<Item = &'r Outcome> + Clone, interval: usize) -> Goodputs<'r> {
    let count = runs.clone().count() as f64;
    let mut goodputs = Goodputs::new();
    for flow in runs.flat_map(|run| &run.flows) {
        let rate = flow.measures[interval].goodput_bits_per_s / count;
        *goodputs.entry(flow.group.as_str()).or_insert(0.0) += rate;
    }
    goodputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_link::Class;
    use ebb_scenario::{FlowMeasure, FlowOutcome, OUTCOME_FORMAT, Scenario, Series};
    use std::path::Path;

    /// Two flows over a link of 10 Mbit/s, of which the first has these rates.
    fn results(rates: &[f64]) -> Results {
        let text = "duration = \"1s\"\n[bottleneck]\nrate = \"10mbit\"\nqueue = 86\n\
                    [[flow]]\nname = \"a\"\n";
        let scenario = Scenario::parse("s.toml", text, Path::new("")).unwrap();
        let flow = |name: &str, rate: f64| FlowOutcome {
            name: name.into(),
            group: name.into(),
            class: Class::BestEffort,
            sender: "reno".into(),
            receiver: None,
            start_s: 0.0,
            completion_s: None,
            measures: vec![FlowMeasure {
                goodput_bits_per_s: rate,
                ..FlowMeasure::default()
            }],
        };
        let run = |rate: &f64| Outcome {
            format: OUTCOME_FORMAT,
            scenario: "s".into(),
            engine: "lab".into(),
            version: String::new(),
            run: 0,
            seed: 0,
            duration_s: 1.0,
            intervals: Vec::new(),
            flows: vec![flow("a", *rate), flow("b", 1.0 - rate)],
            links: Vec::new(),
            series: Series::default(),
        };
        let runs = rates.iter().map(run).collect();
        Results { scenario, runs }
    }

    #[test]
    fn what_one_flow_lacks_and_another_has_counts_twice() {
        let lab = [results(&[0.4, 0.6])];
        assert!((apart(&lab, &[results(&[0.3])]).unwrap() - 0.4).abs() < 1e-9);
        assert!(apart(&lab, &[results(&[0.5])]).unwrap() < 1e-9);
    }

    #[test]
    fn chance_is_what_the_simulator_differs_from_itself() {
        // Each of two runs is 0.2 from the other, in both flows: 0.4, and two means of two are
        // 0.4 sqrt(2) / 2 apart.
        let chance = by_chance(&[results(&[0.4, 0.6])]).unwrap();
        assert!((chance - 0.4 / 2.0_f64.sqrt()).abs() < 1e-9, "{chance}");
        assert_eq!(by_chance(&[results(&[0.4, 0.4, 0.4])]), Some(0.0));
        assert_eq!(by_chance(&[results(&[0.4])]), None);
    }
}
