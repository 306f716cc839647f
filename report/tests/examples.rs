// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every file in scenarios/ and every example of docs/scenarios.md runs, and what it gives
//! can be printed and drawn.
use std::path::{Path, PathBuf};

use ebb_experiments::Runner;
use ebb_report::{image, outcome};
use ebb_scenario::Scenario;

#[test]
fn every_example_file_runs() {
    let files = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    assert!(files.len() >= 7, "only {} examples were found", files.len());
    std::thread::scope(|scope| {
        for file in files {
            scope.spawn(move || {
                let scenario = Scenario::read(&file).unwrap_or_else(|error| panic!("{error}"));
                assert!(!scenario.title.is_empty(), "{}", file.display());
                check(scenario);
            });
        }
    });
}

#[test]
fn every_example_of_the_documentation_runs() {
    let text = std::fs::read_to_string(repository().join("docs/scenarios.md")).unwrap();
    let blocks = text.split("\n```toml\n").skip(1);
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split("\n```").next().unwrap())
        .collect();
    assert!(
        blocks.len() >= 9,
        "only {} examples were found",
        blocks.len()
    );
    std::thread::scope(|scope| {
        for block in blocks {
            scope.spawn(move || {
                let whole = completed(block);
                let scenario = Scenario::parse("example.toml", &whole, Path::new(""));
                check(scenario.unwrap_or_else(|error| panic!("{error}\nin\n{whole}")));
            });
        }
    });
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Examples may leave out what is not their matter.
fn completed(block: &str) -> String {
    let mut whole = block.to_owned();
    if !block.contains("duration =") {
        let times = [("135s", 140), ("45s", 50), ("30s", 40), ("", 10)];
        let (_, duration) = times
            .into_iter()
            .find(|(time, _)| block.contains(time))
            .unwrap();
        whole = format!("duration = \"{duration}s\"\n{whole}");
    }
    if !block.contains("[bottleneck]") && !block.contains("[[link]]") {
        whole += "\n[bottleneck]\nrate = \"10mbit\"\nrtt = \"20ms\"\nqueue = 100\n";
    }
    if !block.contains("[[flow]]") {
        whole += "\n[[flow]]\nname = \"greedy\"\n";
    }
    whole
}

fn check(scenario: Scenario) {
    let scenario = Scenario {
        runs: 1,
        ..scenario
    };
    let simulated = Runner::default().simulate(&[scenario], None);
    let results = simulated.unwrap().remove(0);
    let (scenario, outcome) = (&results.scenario, &results.runs[0]);
    for flow in &outcome.flows {
        let delivered_bytes: u64 = flow.measures.iter().map(|one| one.delivered_bytes).sum();
        assert!(delivered_bytes > 0, "{}: {}", scenario.name, flow.name);
    }
    for link in &outcome.links {
        for measure in &link.measures {
            let used = measure.utilisation.unwrap_or(0.0);
            // A packet that was being sent when the interval began counts whole.
            assert!((0.0..=1.001).contains(&used), "{}: {used}", link.name);
        }
    }
    let text = outcome::text(&results);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    image::svg(&outcome::figure(&results, 0).unwrap()).unwrap();
}
