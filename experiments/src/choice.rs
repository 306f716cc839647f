// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of an experiment, and the same under other policies.
use ebb_algorithms::nearest;
use ebb_scenario::Setting;

use crate::{
    Case, Experiment, ExperimentError, Measure, MeasureKind, PaperValue, PolicyChoice, Row,
};

impl Experiment {
    /// What of it is measured in these cases; none if it has none of them.
    pub fn only(&self, cases: &[String]) -> Option<Self> {
        let mut chosen = self.part();
        let is_chosen = |value: &PaperValue| {
            let name = self.cases.get(value.case).map(|case| &case.name);
            name.is_some_and(|name| cases.contains(name))
        };
        for row in &mut chosen.rows {
            row.paper.retain(is_chosen);
        }
        chosen.rows.retain(|row| !row.paper.is_empty());
        let needed: Vec<usize> = chosen.rows.iter().flat_map(Row::cases).collect();
        for (place, case) in chosen.cases.iter_mut().enumerate() {
            case.is_needed = needed.contains(&place);
        }
        (!chosen.rows.is_empty()).then_some(chosen)
    }

    /// The same with each row once under each of these policies, which take the place of those of
    /// the flows that yield.
    ///
    /// *Errors:* [`ExperimentError::NobodyYields`].
    pub fn under(&self, policies: &[PolicyChoice]) -> Result<Self, ExperimentError> {
        let concerned = self.cases.iter();
        let concerned = concerned.map(|case| PolicyChoice::concerns(&case.scenario));
        let places = Places(concerned.collect());
        if !places.0.contains(&true) {
            return Err(ExperimentError::NobodyYields(self.id.clone()));
        }
        let mut chosen = self.part();
        // A policy takes the place of what was fitted: the first column is enough.
        for (place, case) in chosen.cases.iter_mut().enumerate() {
            case.is_needed &= !places.is_concerned(place) && !case.is_second;
        }
        for policy in policies {
            let under = |case: &Case| case.under(policy);
            chosen.cases.extend(self.cases.iter().map(under));
        }
        let is_second = |case: usize| self.cases.get(case).is_some_and(|it| it.is_second);
        let first = self.rows.iter().filter(|row| !row.cases().any(is_second));
        let of_row = |row: &Row| row.under(policies, &places);
        chosen.rows = first.flat_map(of_row).collect();
        Ok(chosen)
    }

    /// The same with these values set in all of its cases, after all others.
    ///
    /// *Errors:* [`ExperimentError::Wrong`].
    pub fn with_settings(&self, settings: &[Setting]) -> Result<Self, ExperimentError> {
        let mut chosen = self.part();
        for case in &mut chosen.cases {
            *case = case.with_settings(settings)?;
        }
        Ok(chosen)
    }

    /// The same with so many runs.
    pub fn with_runs(self, runs: u32) -> Self {
        Self {
            chosen_runs: Some(runs),
            ..self
        }
    }

    /// A copy of which rows and cases can be taken away: pictures and sweeps are of the whole.
    fn part(&self) -> Self {
        Self {
            is_whole: false,
            plots: Vec::new(),
            sweeps: Vec::new(),
            ..self.clone()
        }
    }
}

/// Which of these experiments have cases of these names, and only those.
///
/// *Errors:* [`ExperimentError::UnknownCase`] for a name that none has.
pub fn only_cases(
    experiments: &[Experiment],
    cases: &[String],
) -> Result<Vec<Experiment>, ExperimentError> {
    let known = || {
        let cases = experiments.iter().flat_map(|experiment| &experiment.cases);
        cases.map(|case| case.name.as_str())
    };
    for name in cases {
        if !known().any(|known| known == name) {
            let hint = match nearest(name, known()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    let mut names: Vec<&str> = Vec::new();
                    for name in known() {
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                    format!("there are: {}", names.join("; "))
                }
            };
            let name = name.clone();
            return Err(ExperimentError::UnknownCase { name, hint });
        }
    }
    let chosen = experiments.iter().filter_map(|one| one.only(cases));
    Ok(chosen.collect())
}

/// Where cases stand that are under several policies: after all as they are, policy by policy.
/// *Shape:* whether a policy concerns it, for each case as it is.
struct Places(Vec<bool>);

impl Places {
    fn is_concerned(&self, case: usize) -> bool {
        self.0.get(case).is_some_and(|it| *it)
    }

    /// Where a case is under the policy of this number.
    fn under(&self, policy: usize, case: usize) -> usize {
        match self.is_concerned(case) {
            true => self.0.len() * (policy + 1) + case,
            false => case,
        }
    }
}

impl Case {
    fn under(&self, policy: &PolicyChoice) -> Self {
        let mut case = self.clone();
        case.policy = Some(policy.to_string());
        case.is_needed &= PolicyChoice::concerns(&case.scenario) && !case.is_second;
        case.scenarios_mut()
            .for_each(|scenario| policy.apply(scenario));
        case
    }
}

impl Row {
    /// Its values that no policy concerns, and the others under each.
    fn under(&self, policies: &[PolicyChoice], places: &Places) -> Vec<Self> {
        let names_concerned = self.measure.cases().any(|case| places.is_concerned(case));
        let is_of_policy = |value: &PaperValue| names_concerned || places.is_concerned(value.case);
        let paper = self.paper.iter().copied();
        let (of_policy, others): (Vec<_>, Vec<_>) = paper.partition(is_of_policy);
        let with = |paper: &[PaperValue]| Self {
            paper: paper.to_vec(),
            ..self.clone()
        };
        let under = |(number, policy): (usize, &PolicyChoice)| Self {
            policy: Some(policy.to_string()),
            ..with(&of_policy).moved(&|case| places.under(number, case))
        };
        let mut rows = vec![with(&others)];
        rows.extend(policies.iter().enumerate().map(under));
        rows.retain(|row| !row.paper.is_empty());
        rows
    }

    /// Places of the cases that it is measured in, those that its measure names too.
    pub(crate) fn cases(&self) -> impl Iterator<Item = usize> {
        let own = self.paper.iter().map(|value| value.case);
        self.measure.cases().chain(own)
    }

    /// The same with its cases at other places.
    pub(crate) fn moved(&self, place: &dyn Fn(usize) -> usize) -> Self {
        let mut row = self.clone();
        row.measure.move_cases(place);
        for value in &mut row.paper {
            value.case = place(value.case);
        }
        row
    }
}

impl Measure {
    /// Places of the cases that it names.
    pub(crate) fn cases(&self) -> impl Iterator<Item = usize> {
        let parts = self.parts().into_iter();
        parts.filter_map(|part| part.case)
    }

    fn move_cases(&mut self, place: &dyn Fn(usize) -> usize) {
        self.case = self.case.map(place);
        match &mut self.kind {
            MeasureKind::Difference { of, less } => {
                of.move_cases(place);
                less.move_cases(place);
            }
            MeasureKind::Ratio { over, under } => {
                over.move_cases(place);
                under.move_cases(place);
            }
            _ => {}
        }
    }
}
