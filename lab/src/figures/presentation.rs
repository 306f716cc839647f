// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figures as text.

use super::catalogue::{Entry, Target};
use super::figure::Figure;
use super::table;

/// One block per scenario, one row per policy.
pub(super) fn comparison(figures: &[Figure]) -> String {
    let mut text = String::new();
    for scenario in distinct(figures.iter().map(|it| it.scenario.as_str())) {
        let own = || figures.iter().filter(move |it| it.scenario == scenario);
        let metrics = distinct(own().map(|it| it.metric));
        let mut header = vec![scenario.to_owned()];
        header.extend(metrics.iter().map(|metric| metric.to_string()));
        let mut rows = vec![header];
        for policy in distinct(own().map(|it| it.policy.as_str())) {
            let mut row = vec![policy.to_owned()];
            row.extend(metrics.iter().map(|metric| {
                let figure = own().find(|it| it.policy == policy && it.metric == *metric);
                figure.map_or_else(|| "-".into(), with_spread)
            }));
            rows.push(row);
        }
        text += &table::render(&rows);
        text.push('\n');
    }
    text
}

/// One row per figure and policy: what is expected, mean, spread, verdict.
pub(super) fn figure_table(entries: &[(Entry, String)], figures: &[Figure]) -> String {
    let header = [
        "figure",
        "",
        "policy",
        "expected",
        "mean",
        "± 95 %",
        "min–max",
        "verdict",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for (entry, policy) in entries {
        rows.extend(entry.find(figures, policy).map(|it| figure_row(entry, it)));
    }
    table::render_with_text(&rows, 3)
}

/// 1 if the figure misses its bound or could not be measured, else 0.
pub(super) fn misses(entry: &Entry, figures: &[Figure], policy: &str) -> usize {
    let holds = entry
        .find(figures, policy)
        .map(|figure| entry.target.holds(figure.summary.mean));
    match (holds, entry.target) {
        (Some(Some(false)), _) | (None, Target::AtLeast(_) | Target::AtMost(_)) => 1,
        _ => 0,
    }
}

fn figure_row(entry: &Entry, figure: &Figure) -> Vec<String> {
    let number = |value| table::number(figure.metric, value);
    let summary = &figure.summary;
    let (expected, mut verdict) = match entry.target {
        Target::AtLeast(bound) => (format!("≥ {}", number(bound)), String::new()),
        Target::AtMost(bound) => (format!("≤ {}", number(bound)), String::new()),
        Target::Paper(value) => {
            let sign = if summary.mean >= value { "+" } else { "" };
            let difference = format!("{sign}{}", number(summary.mean - value));
            (format!("paper {}", number(value)), difference)
        }
    };
    if let Some(holds) = entry.target.holds(summary.mean) {
        verdict = if holds { "holds" } else { "MISSED" }.into();
    }
    if figure.disturbed_runs > 0 {
        verdict += &format!(
            ", {} of {} runs disturbed",
            figure.disturbed_runs, summary.runs
        );
    }
    vec![
        entry.name.into(),
        entry.meaning.into(),
        figure.policy.clone(),
        expected,
        number(summary.mean),
        summary.half_width_95.map_or("-".into(), number),
        format!("{}–{}", number(summary.min), number(summary.max)),
        verdict,
    ]
}

fn with_spread(figure: &Figure) -> String {
    let number = |value| table::number(figure.metric, value);
    let summary = &figure.summary;
    let mark = if figure.disturbed_runs > 0 { "!" } else { "" };
    if summary.runs == 1 {
        return format!("{}{mark}", number(summary.mean));
    }
    let (min, max) = (number(summary.min), number(summary.max));
    format!("{}{mark} [{min}–{max}]", number(summary.mean))
}

/// Each once, in the order of first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::catalogue::CATALOGUE;
    use ebb_scenario::stats::Summary;

    fn figure(entry: &Entry, values: &[f64]) -> Figure {
        Figure {
            scenario: entry.scenario.into(),
            policy: "ebb".into(),
            metric: entry.metric,
            summary: Summary::of(values).unwrap(),
            values: values.to_vec(),
            disturbed_runs: 1,
        }
    }

    #[test]
    fn a_bound_is_missed_when_the_mean_is_beyond_or_nothing_was_measured() {
        let entry = CATALOGUE
            .iter()
            .find(|it| it.target == Target::AtMost(10.0))
            .unwrap();
        assert_eq!(misses(entry, &[figure(entry, &[9.0, 10.5])], "ebb"), 0);
        assert_eq!(misses(entry, &[figure(entry, &[9.9, 10.5])], "ebb"), 1);
        assert_eq!(misses(entry, &[], "ebb"), 1);
    }

    #[test]
    fn the_table_tells_bound_spread_verdict_and_disturbance() {
        let entry = CATALOGUE
            .iter()
            .find(|it| it.target == Target::AtMost(10.0))
            .unwrap();
        let text = figure_table(&[(*entry, "ebb".into())], &[figure(entry, &[9.0, 13.0])]);
        for part in [
            "≤ 10.0",
            "11.0",
            "9.0–13.0",
            "MISSED, 1 of 2 runs disturbed",
        ] {
            assert!(text.contains(part), "`{part}` in\n{text}");
        }
    }
}
