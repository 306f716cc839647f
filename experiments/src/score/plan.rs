// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_algorithms::Policy;
use ebb_scenario::{Outcome, Results, Scenario};

use super::{Distances, Reference, Score, ScoreScenario};

/// What is run to hold laws against strict priority.
pub struct ScorePlan<'s> {
    laws: &'s [Policy],
    runs: u32,
    scenarios: Vec<Planned<'s>>,
}

/// What is run for a scenario.
struct Planned<'s> {
    scenario: &'s ScoreScenario,
    ideal: Scenario,
    undisturbed: Option<Scenario>,
    with_laws: Vec<Scenario>,
}

impl<'s> ScorePlan<'s> {
    /// Each scenario under each law, as strict priority has it, and without the law's flows.
    pub fn new(scenarios: &[&'s ScoreScenario], laws: &'s [Policy], runs: u32) -> Self {
        let planned = scenarios
            .iter()
            .map(|scenario| Planned::new(scenario, laws, runs));
        Self {
            laws,
            runs,
            scenarios: planned.collect(),
        }
    }

    /// What has to be run.
    pub fn scenarios(&self) -> Vec<Scenario> {
        self.scenarios
            .iter()
            .flat_map(Planned::scenarios)
            .cloned()
            .collect()
    }

    /// What came out. *Shape:* `results` are those of [`Self::scenarios`], in their order; scores
    /// are law by law, scenario by scenario.
    pub fn scores(&self, results: Vec<Results>) -> Vec<Score> {
        let mut results = results.into_iter().map(|results| results.runs);
        let by_scenario: Vec<Vec<Score>> = self
            .scenarios
            .iter()
            .map(|planned| planned.scores(&mut results, self.laws, self.runs))
            .collect();
        let of_law = |law: usize| by_scenario.iter().map(move |scores| scores[law].clone());
        (0..self.laws.len()).flat_map(of_law).collect()
    }
}

impl<'s> Planned<'s> {
    fn new(scenario: &'s ScoreScenario, laws: &[Policy], runs: u32) -> Self {
        Self {
            scenario,
            ideal: scenario.ideal(runs),
            undisturbed: scenario.undisturbed(runs),
            with_laws: laws
                .iter()
                .map(|law| scenario.with_law(law, runs))
                .collect(),
        }
    }

    fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        let references = [Some(&self.ideal), self.undisturbed.as_ref()];
        references.into_iter().flatten().chain(&self.with_laws)
    }

    /// Takes the results of [`Self::scenarios`].
    fn scores(
        &self,
        results: &mut impl Iterator<Item = Vec<Outcome>>,
        laws: &[Policy],
        runs: u32,
    ) -> Vec<Score> {
        let mut next = || results.next().unwrap_or_default();
        let ideal = next();
        let undisturbed = self.undisturbed.as_ref().map(|_| next());
        let score = |law: &Policy| {
            let distances: Vec<Distances> = next()
                .iter()
                .enumerate()
                .map(|(run, outcome)| {
                    let undisturbed = undisturbed.as_ref().map(|runs| &runs[run]);
                    let reference = Reference {
                        ideal: &ideal[run],
                        undisturbed,
                    };
                    Distances::of(self.scenario, outcome, reference)
                })
                .collect();
            Score {
                law: law.to_string(),
                side: law.law().side().to_string(),
                scenario: self.scenario.name.clone(),
                runs,
                distances: Distances::mean(distances.iter()),
                command: self.scenario.command(law),
            }
        };
        laws.iter().map(score).collect()
    }
}
