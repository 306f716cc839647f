// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far the lab and the simulator are apart.
use std::collections::BTreeMap;

use ebb_link::Nanos;
use ebb_scenario::stats::mean;
use ebb_scenario::{Outcome, Results, Scenario};

/// Goodput of flows that nothing but chance tells apart: those of a group that start together.
type Goodputs<'r> = BTreeMap<(&'r str, Nanos), f64>;

/// The part of goodput that is elsewhere: the differences of all [`Goodputs`] by the simulator's
/// sum, in the mean over cases and intervals.
pub(crate) fn apart(lab: &[Results], simulated: &[Results]) -> Option<f64> {
    let mut parts = Vec::new();
    for (lab, simulated) in lab.iter().zip(simulated) {
        for interval in 0..lab.scenario.intervals.len() {
            let means =
                [lab, simulated].map(|it| mean_goodputs(&it.scenario, it.runs.iter(), interval));
            let [lab, simulated] = means;
            parts.extend(elsewhere(&lab, &simulated));
        }
    }
    mean(&parts)
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
                let scenario = &results.scenario;
                let one = mean_goodputs(scenario, [run].into_iter(), interval);
                let others = mean_goodputs(scenario, others().map(|(_, run)| run), interval);
                parts.extend(elsewhere(&one, &others).map(|part| part * scale));
            }
        }
    }
    mean(&parts)
}

fn elsewhere(ours: &Goodputs<'_>, theirs: &Goodputs<'_>) -> Option<f64> {
    let total: f64 = theirs.values().sum();
    let differences = theirs
        .iter()
        .map(|(flows, rate)| (ours.get(flows).unwrap_or(&0.0) - rate).abs());
    (total > 0.0 && !ours.is_empty()).then(|| differences.sum::<f64>() / total)
}

/// Over these runs of a scenario, whose outcomes have its flows in their order.
fn mean_goodputs<'r>(
    scenario: &'r Scenario,
    runs: impl Iterator<Item = &'r Outcome> + Clone,
    interval: usize,
) -> Goodputs<'r> {
    let count = runs.clone().count() as f64;
    let mut goodputs = Goodputs::new();
    for run in runs {
        for (flow, outcome) in scenario.flows.iter().zip(&run.flows) {
            let rate = outcome.measures[interval].goodput_bits_per_s / count;
            let flows = (flow.group.as_str(), flow.start);
            *goodputs.entry(flows).or_insert(0.0) += rate;
        }
    }
    goodputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_link::Class;
    use ebb_scenario::{FlowMeasure, FlowOutcome, OUTCOME_FORMAT, Scenario, Series};
    use std::path::Path;

    const TWO: &str = "[[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\n";

    /// Two flows over a link of 10 Mbit/s, of which the first has these rates.
    fn results(rates: &[f64]) -> Results {
        results_of(TWO, rates)
    }

    fn results_of(flows: &str, rates: &[f64]) -> Results {
        let text =
            format!("duration = \"1s\"\n[bottleneck]\nrate = \"10mbit\"\nqueue = 86\n{flows}");
        let scenario = Scenario::parse("s.toml", &text, Path::new("")).unwrap();
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
    fn flows_of_a_group_count_alone_if_they_start_apart() {
        let together = "[[flow]]\nname = \"a\"\ncount = 2\n";
        let staggered = format!("{together}stagger = \"100ms\"\n");
        let far = |flows| apart(&[results_of(flows, &[0.4])], &[results_of(flows, &[0.6])]);
        assert!(far(together).unwrap() < 1e-9);
        assert!((far(&staggered).unwrap() - 0.4).abs() < 1e-9);
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
