// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever the text is, it is read or refused: nothing panics, and what is read makes sense.
use std::path::Path;

use ebb_scenario::{LinkId, NodeId, Scenario, ScenarioError};
use proptest::prelude::*;

const EXAMPLES: [&str; 4] = [
    include_str!("../../scenarios/person-and-download.toml"),
    include_str!("../../scenarios/parking-lot.toml"),
    include_str!("../../scenarios/switching.toml"),
    include_str!("../../scenarios/many.toml"),
];

/// Values that somebody may put where another belongs.
const VALUES: [&str; 16] = [
    "0",
    "-1",
    "1.5",
    "nan",
    "true",
    "\"\"",
    "\"0s\"",
    "\"99999999s\"",
    "\"1bit\"",
    "\"1000000bdp\"",
    "[]",
    "[\"5s\", \"1s\"]",
    "{}",
    "18446744073709551615",
    "\"µ\"",
    "[[\"a\"]]",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    match Scenario::parse("try.toml", text, Path::new("/nowhere")) {
        Ok(scenario) => check_scenario(&scenario),
        Err(ScenarioError::Problems(problems)) => {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                prop_assert!(problem.line <= text.lines().count() + 1, "{problem}");
                prop_assert!(!problem.to_string().is_empty());
            }
            Ok(())
        }
        Err(other) => Err(TestCaseError::fail(other.to_string())),
    }
}

fn check_scenario(scenario: &Scenario) -> Result<(), TestCaseError> {
    prop_assert!(!scenario.intervals.is_empty() && !scenario.flows.is_empty());
    for interval in &scenario.intervals {
        prop_assert!(interval.from < interval.to && interval.to <= scenario.duration);
    }
    for flow in &scenario.flows {
        check_way(scenario, flow.from, &flow.path, flow.to)?;
        check_way(scenario, flow.to, &flow.return_path, flow.from)?;
    }
    for link in &scenario.links {
        prop_assert!(link.spec.validate().is_ok(), "{}", link.name);
    }
    Ok(())
}

fn check_way(
    scenario: &Scenario,
    from: NodeId,
    way: &[LinkId],
    to: NodeId,
) -> Result<(), TestCaseError> {
    let mut at = from;
    for link in way {
        let link = &scenario.links[link.index()];
        prop_assert_eq!(link.from, at);
        at = link.to;
    }
    prop_assert!(!way.is_empty());
    prop_assert_eq!(at, to);
    Ok(())
}

/// The example with the value of one line replaced.
fn with_value(example: usize, line: usize, value: &str) -> String {
    let text = EXAMPLES[example];
    let lines: Vec<&str> = text.lines().collect();
    let settings: Vec<usize> = (0..lines.len())
        .filter(|&line| lines[line].contains(" = "))
        .collect();
    let chosen = settings[line % settings.len()];
    let (key, _) = lines[chosen].split_once(" = ").unwrap();
    let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    changed[chosen] = format!("{key} = {value}");
    changed.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_value_in_any_place_is_read_or_refused(
        example in 0..EXAMPLES.len(),
        line in 0..200_usize,
        value in prop::sample::select(VALUES.to_vec()),
    ) {
        check(&with_value(example, line, value))?;
    }

    #[test]
    fn text_with_a_hole_is_read_or_refused(
        example in 0..EXAMPLES.len(),
        start in 0..2_000_usize,
        length in 0..60_usize,
        inserted in "[\\[\\]{}=\"a-z0-9.,# \n]{0,6}",
    ) {
        let text = EXAMPLES[example];
        let start = start % text.len();
        let end = (start + length).min(text.len());
        let (Some(before), Some(after)) = (text.get(..start), text.get(end..)) else {
            return Ok(());
        };
        check(&format!("{before}{inserted}{after}"))?;
    }

    #[test]
    fn any_text_is_refused(text in "\\PC{0,200}") {
        check(&text)?;
    }
}
