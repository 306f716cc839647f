// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::Serialize;

use super::RunResult;
use super::measure::measure;
use ebb_scenario::stats::Summary;

/// One measured value of one scenario under one policy, over all repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The scenario's name.
    pub scenario: String,
    /// The policy.
    pub policy: String,
    /// What is measured; see [`measure`] for names and units.
    pub metric: &'static str,
    /// Mean and spread over the runs.
    pub summary: Summary,
    /// The runs' values, in order of repetition.
    pub values: Vec<f64>,
    /// Runs that stayed disturbed.
    pub disturbed_runs: usize,
}

/// All figures of results; runs named `…-alone` are what the others are compared with,
/// repetition by repetition.
pub(super) fn figures(results: &[RunResult]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for run in results.iter().filter(|run| !is_alone(run)) {
        let alone = results.iter().find(|other| is_alone_of(other, run));
        for (metric, value) in measure(run, alone) {
            let same = figures.iter_mut().find(|figure| {
                figure.scenario == run.scenario.name
                    && figure.policy == run.policy
                    && figure.metric == metric
            });
            let disturbed_runs = usize::from(run.is_disturbed);
            match same {
                Some(figure) => {
                    figure.values.push(value);
                    figure.disturbed_runs += disturbed_runs;
                }
                None => figures.push(Figure {
                    scenario: run.scenario.name.clone(),
                    policy: run.policy.clone(),
                    metric,
                    summary: Summary::of(&[value]).expect("one value is enough"),
                    values: vec![value],
                    disturbed_runs,
                }),
            }
        }
    }
    for figure in &mut figures {
        figure.summary = Summary::of(&figure.values).expect("each figure has a value");
    }
    figures
}

fn is_alone(run: &RunResult) -> bool {
    run.scenario.name.ends_with("-alone")
}

fn is_alone_of(other: &RunResult, run: &RunResult) -> bool {
    other.repetition == run.repetition
        && other.scenario.name.strip_suffix("-alone") == Some(&run.scenario.name)
}
