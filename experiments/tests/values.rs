// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The values that are kept are all those of the papers, and no others.
use std::path::Path;

use ebb_experiments::{Catalogue, Engine};

mod support;

use support::{VALUES, judged};

/// Experiment, row and case of every value that the simulator or a formula gives; without those of
/// second columns unless it is all.
fn values(is_all: bool) -> Vec<[String; 3]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = Catalogue::open(root).unwrap().read(&[]).unwrap();
    let mut values = Vec::new();
    for experiment in all.iter().filter(|it| it.engines != [Engine::Lab]) {
        for row in &experiment.rows {
            let is_second = |case: usize| experiment.cases.get(case).is_some_and(|it| it.is_second);
            for paper in row.paper.iter().filter(|it| is_all || !is_second(it.case)) {
                let case = experiment.cases.get(paper.case);
                let case = case.map_or(String::new(), |case| case.name.clone());
                values.push([experiment.id.clone(), row.name.clone(), case]);
            }
        }
    }
    values.sort();
    values
}

/// Those of a file.
fn kept(text: &str) -> Vec<[String; 3]> {
    let lines = judged(text).into_iter();
    let mut named: Vec<_> = lines.map(|it| [it.id, it.row, it.case]).collect();
    named.sort();
    named
}

#[test]
fn each_value_is_kept_as_few_runs_have_it() {
    let [(file, text), _] = VALUES;
    assert_eq!(kept(text), values(false), "{file}");
}

#[test]
fn what_is_kept_of_all_runs_is_of_whole_experiments() {
    let [_, (file, text)] = VALUES;
    let kept = kept(text);
    let of_kept = |value: &[String; 3]| kept.iter().any(|it| it[0] == value[0]);
    let wanted: Vec<_> = values(true).into_iter().filter(of_kept).collect();
    assert_eq!(kept, wanted, "{file}");
    assert!(!kept.is_empty(), "{file} is empty");
}
