// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far the lab and the simulator are apart.
use std::collections::BTreeMap;
use std::fmt;

use ebb_link::Nanos;
use ebb_scenario::stats::mean;
use ebb_scenario::{Interval, Outcome, Results, Scenario};
use serde::{Deserialize, Serialize};

use crate::{Case, Ran};

/// What is held against each other of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DistanceOf {
    /// Goodput of flows. *Units:* Mbit/s.
    Goodput,
    /// Mean waiting in the queues of links. *Units:* ms.
    Queueing,
}

/// How far the lab is from the simulator in an interval of a case. *Units:* of the quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// Name of the case.
    pub case: String,
    /// What it was put under in place of the laws of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Name of the interval.
    pub interval: String,
    /// What is held against each other.
    pub what: DistanceOf,
    /// All of the lab together.
    pub lab: f64,
    /// All of the simulator together.
    pub simulated: f64,
    /// The part that is elsewhere: all differences together, by the simulator's sum.
    pub apart: f64,
    /// What two sets of so many runs of the simulator would be apart: these differ by their seeds
    /// alone. None with a single run.
    pub by_chance: Option<f64>,
    /// Runs of the lab that the machine disturbed, and that stayed so when they were repeated.
    #[serde(default)]
    pub disturbed_runs: u32,
}

impl DistanceOf {
    const ALL: [Self; 2] = [Self::Goodput, Self::Queueing];

    /// How far both engines may be apart, as a part of the simulator's.
    pub fn most_apart(self) -> f64 {
        match self {
            Self::Goodput => 0.05,
            Self::Queueing => 0.1,
        }
    }

    /// What less is taken for. An emulator that is late by 1 ms is not disturbed, so the lab tells
    /// no less of a queue.
    fn least(self) -> f64 {
        match self {
            Self::Goodput => 0.0,
            Self::Queueing => 10.0,
        }
    }

    /// In the mean over these runs of a scenario, whose outcomes have its flows in their order.
    fn amounts<'r>(
        self,
        scenario: &'r Scenario,
        runs: impl Iterator<Item = &'r Outcome> + Clone,
        interval: usize,
    ) -> Amounts<'r> {
        let count = runs.clone().count() as f64;
        let mut amounts = Amounts::new();
        for run in runs {
            for (whose, amount) in self.of_run(scenario, run, interval) {
                *amounts.entry(whose).or_insert(0.0) += amount / count;
            }
        }
        amounts
    }

    fn of_run<'r>(
        self,
        scenario: &'r Scenario,
        run: &'r Outcome,
        interval: usize,
    ) -> Vec<(Whose<'r>, f64)> {
        match self {
            Self::Goodput => {
                let flows = scenario.flows.iter().zip(&run.flows);
                let goodput = flows.map(|(flow, outcome)| {
                    let bits_per_s = outcome.measures[interval].goodput_bits_per_s;
                    ((flow.group.as_str(), flow.start), bits_per_s / 1e6)
                });
                goodput.collect()
            }
            Self::Queueing => {
                let waiting = run.links.iter().map(|link| {
                    let wait_ms = link.measures[interval].queue_delay_ms.mean;
                    ((link.name.as_str(), Nanos::ZERO), wait_ms)
                });
                waiting.collect()
            }
        }
    }

    /// The differences of all together, by their sum. None: there is nothing of it.
    fn elsewhere(self, ours: &Amounts<'_>, theirs: &Amounts<'_>) -> Option<f64> {
        let total = theirs.values().sum::<f64>().max(self.least());
        let differences = theirs
            .iter()
            .map(|(whose, amount)| (ours.get(whose).unwrap_or(&0.0) - amount).abs());
        (total > 0.0 && !ours.is_empty()).then(|| differences.sum::<f64>() / total)
    }

    /// [`Distance::by_chance`] of an interval: from how far each run is from the mean of the
    /// others.
    fn by_chance(self, simulated: &Results, interval: usize) -> Option<f64> {
        let (scenario, runs) = (&simulated.scenario, &simulated.runs);
        if runs.len() < 2 {
            return None;
        }
        let count = runs.len() as f64;
        // One and the mean of n - 1 differ with the variance n / (n - 1), two means of n with
        // 2 / n.
        let scale = (2.0 * (count - 1.0)).sqrt() / count;
        let of_one = |(place, run): (usize, &Outcome)| {
            let others = runs.iter().enumerate();
            let others = others.filter(|(other, _)| *other != place);
            let one = self.amounts(scenario, [run].into_iter(), interval);
            let others = self.amounts(scenario, others.map(|(_, run)| run), interval);
            self.elsewhere(&one, &others).map(|part| part * scale)
        };
        mean(
            &runs
                .iter()
                .enumerate()
                .filter_map(of_one)
                .collect::<Vec<_>>(),
        )
    }
}

impl fmt::Display for DistanceOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Goodput => "goodput",
            Self::Queueing => "queueing",
        })
    }
}

/// Flows of a group that start together, which nothing but chance tells apart; or a link.
type Whose<'r> = (&'r str, Nanos);
type Amounts<'r> = BTreeMap<Whose<'r>, f64>;

/// Of all cases, interval by interval.
pub(crate) fn distances(cases: &[Case], ran: &Ran<'_>) -> Vec<Distance> {
    let Some(simulated) = ran.simulated else {
        return Vec::new();
    };
    let both = ran.results.iter().zip(simulated);
    let of_cases = cases.iter().zip(both).enumerate();
    let of_cases = of_cases.map(|(place, (case, (lab, simulated)))| {
        let disturbed = ran.disturbed.iter().filter(|(of, _)| *of == place);
        let disturbed_runs = disturbed.count() as u32;
        let distances = of_case(case, lab, simulated).into_iter();
        distances.map(move |distance| Distance {
            disturbed_runs,
            ..distance
        })
    });
    of_cases.flatten().collect()
}

fn of_case(case: &Case, lab: &Results, simulated: &Results) -> Vec<Distance> {
    let intervals = lab.scenario.intervals.iter().enumerate();
    let all = intervals.flat_map(|it| DistanceOf::ALL.map(|what| (what, it)));
    let distance = |(what, (place, interval)): (DistanceOf, (usize, &Interval))| {
        let means = [lab, simulated].map(|it| what.amounts(&it.scenario, it.runs.iter(), place));
        let [ours, theirs] = means;
        Some(Distance {
            case: case.name.clone(),
            policy: case.policy.clone(),
            interval: interval.name.clone(),
            what,
            lab: ours.values().sum(),
            simulated: theirs.values().sum(),
            apart: what.elsewhere(&ours, &theirs)?,
            by_chance: what.by_chance(simulated, place),
            disturbed_runs: 0,
        })
    };
    all.filter_map(distance).collect()
}

/// The mean of what is elsewhere of all goodput, and of that by chance.
pub(crate) fn goodput_apart(distances: &[Distance]) -> [Option<f64>; 2] {
    let goodputs = || distances.iter().filter(|it| it.what == DistanceOf::Goodput);
    let apart: Vec<f64> = goodputs().map(|it| it.apart).collect();
    let by_chance: Vec<f64> = goodputs().filter_map(|it| it.by_chance).collect();
    [mean(&apart), mean(&by_chance)]
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

    fn apart(lab: &Results, simulated: &Results) -> f64 {
        let means = [lab, simulated];
        let means = means.map(|it| DistanceOf::Goodput.amounts(&it.scenario, it.runs.iter(), 0));
        let [lab, simulated] = means;
        DistanceOf::Goodput.elsewhere(&lab, &simulated).unwrap()
    }

    fn by_chance(simulated: &Results) -> Option<f64> {
        DistanceOf::Goodput.by_chance(simulated, 0)
    }

    #[test]
    fn what_one_flow_lacks_and_another_has_counts_twice() {
        let lab = results(&[0.4, 0.6]);
        assert!((apart(&lab, &results(&[0.3])) - 0.4).abs() < 1e-9);
        assert!(apart(&lab, &results(&[0.5])) < 1e-9);
    }

    #[test]
    fn flows_of_a_group_count_alone_if_they_start_apart() {
        let together = "[[flow]]\nname = \"a\"\ncount = 2\n";
        let staggered = format!("{together}stagger = \"100ms\"\n");
        let far = |flows| apart(&results_of(flows, &[0.4]), &results_of(flows, &[0.6]));
        assert!(far(together) < 1e-9);
        assert!((far(&staggered) - 0.4).abs() < 1e-9);
    }

    #[test]
    fn chance_is_what_the_simulator_differs_from_itself() {
        // Each of two runs is 0.2 from the other, in both flows: 0.4, and two means of two are
        // 0.4 sqrt(2) / 2 apart.
        let chance = by_chance(&results(&[0.4, 0.6])).unwrap();
        assert!((chance - 0.4 / 2.0_f64.sqrt()).abs() < 1e-9, "{chance}");
        assert!(by_chance(&results(&[0.4, 0.4, 0.4])).unwrap() < 1e-9);
        assert_eq!(by_chance(&results(&[0.4])), None);
    }

    #[test]
    fn a_queue_of_less_than_ten_milliseconds_is_held_to_one() {
        let queue = |wait_ms: f64| Amounts::from([(("link", Nanos::ZERO), wait_ms)]);
        let apart = |lab, simulated| {
            DistanceOf::Queueing
                .elsewhere(&queue(lab), &queue(simulated))
                .unwrap()
        };
        assert!((apart(22.0, 20.0) - 0.1).abs() < 1e-9);
        assert!((apart(1.5, 0.5) - 0.1).abs() < 1e-9);
        assert!((apart(1.0, 0.0) - 0.1).abs() < 1e-9);
    }
}
