// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdicts that are kept are of every value of the papers, and four fifths of them are green.
use std::path::Path;

use ebb_experiments::{Catalogue, Engine};

mod support;

use support::{VERDICTS, judged};

/// Experiment, row and case of every value that the simulator or a formula gives.
fn values() -> Vec<[String; 3]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = Catalogue::open(root).unwrap().read(&[]).unwrap();
    let mut values = Vec::new();
    for experiment in all.iter().filter(|it| it.engines != [Engine::Lab]) {
        for row in &experiment.rows {
            for paper in &row.paper {
                let case = experiment.cases.get(paper.case);
                let case = case.map_or(String::new(), |case| case.name.clone());
                values.push([experiment.id.clone(), row.name.clone(), case]);
            }
        }
    }
    values.sort();
    values
}

#[test]
fn each_value_has_its_verdict() {
    for (file, text) in VERDICTS {
        let judged = judged(text).into_iter();
        let mut named: Vec<_> = judged.map(|it| [it.id, it.row, it.case]).collect();
        named.sort();
        assert_eq!(named, values(), "{file}");
    }
}

#[test]
fn four_fifths_are_green() {
    for (file, text) in VERDICTS {
        let judged = judged(text);
        let green = judged.iter().filter(|it| it.verdict == "green").count();
        let all = judged.len();
        assert!(green * 5 >= all * 4, "{file}: {green} of {all} are green");
    }
}
