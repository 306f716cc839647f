// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every file in scenarios/ runs, and what it gives can be printed and drawn.
use std::path::{Path, PathBuf};

use ebb_report::{image, outcome};
use ebb_scenario::{Results, Scenario};
use ebb_simulator::{Options, run};

#[test]
fn every_example_runs_and_every_flow_of_it_delivers_something() {
    std::thread::scope(|scope| {
        for file in examples() {
            scope.spawn(move || check(&file));
        }
    });
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect()
}

fn check(file: &Path) {
    let scenario = Scenario::read(file).unwrap();
    let outcome = run(&scenario, Options::default()).unwrap();
    for flow in &outcome.flows {
        let delivered_bytes: u64 = flow.measures.iter().map(|one| one.delivered_bytes).sum();
        assert!(delivered_bytes > 0, "{}: {}", file.display(), flow.name);
    }
    for link in &outcome.links {
        for measure in &link.measures {
            let used = measure.utilisation.unwrap_or(0.0);
            // A packet that was being sent when the interval began counts whole.
            assert!((0.0..=1.001).contains(&used), "{}: {used}", link.name);
        }
    }
    let results = Results {
        scenario,
        runs: vec![outcome],
    };
    let text = outcome::text(&results);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    image::svg(&outcome::figure(&results, 0).unwrap()).unwrap();
}
