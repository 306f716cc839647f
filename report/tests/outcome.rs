// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables and figures of scenarios that the simulator ran.
use std::path::Path;

use ebb_experiments::Runner;
use ebb_report::{image, outcome};
use ebb_scenario::{Results, Scenario};

const UDP: &str = r#"
title = "a wave beside a stream"
duration = "10s"
[measure]
all = ["0s", "end"]
second-half = ["5s", "end"]
[bottleneck]
rate = "10mbit"
rtt = "100ms"
queue = 40
[[flow]]
name = "steady-with-a-name-that-is-long"
kind = "udp"
rate = "6mbit"
start_spread = "50ms"
[[flow]]
name = "wave"
kind = "udp-square-wave"
rate = "8mbit"
period = "2s"
class = "lbe"
"#;

fn results(text: &str) -> Results {
    let scenario = Scenario::parse("try.toml", text, Path::new("")).unwrap();
    let simulated = Runner::default().simulate(&[scenario], None);
    simulated.unwrap().remove(0)
}

#[test]
fn tables_fit_80_columns_and_have_every_flow_and_link() {
    for runs in [1, 5] {
        let text = outcome::text(&results(&format!("runs = {runs}\n{UDP}")));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for part in [
            "steady-with-a-n…",
            "wave",
            "bottleneck",
            "all, 0 to 10 s",
            "UDP (LBE)",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert_eq!(text.contains('±'), runs > 1, "{text}");
    }
}

#[test]
fn many_flows_are_one_line_with_their_fairness() {
    let text = r#"
duration = "10s"
[bottleneck]
rate = "10mbit"
queue = 40
[[flow]]
name = "swarm"
kind = "udp"
rate = "200kbit"
count = 40
stagger = "1ms"
"#;
    let text = outcome::text(&results(text));
    assert!(text.contains("swarm ×40"), "{text}");
    assert!(text.contains("swarm: Jain's index 1.000"), "{text}");
}

#[test]
fn the_figure_has_a_row_for_each_quantity_and_a_colour_for_each_flow() {
    let results = results(UDP);
    let figure = outcome::figure(&results, 0).unwrap();
    let titles: Vec<_> = figure.rows.iter().map(|row| row.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Goodput", "Waiting in the queue: bottleneck (black)"]
    );
    let svg = image::svg(&figure).unwrap();
    for part in [
        "a wave beside a stream",
        "steady-with-a-…",
        "wave",
        "seconds",
    ] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn a_result_file_reads_back_and_has_the_same_bytes_again() {
    let first = results(UDP);
    let text = first.to_json();
    assert!(text == results(UDP).to_json(), "two runs differ");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    std::fs::write(&path, &text).unwrap();
    assert!(
        Results::read(&path).unwrap() == first,
        "read back it differs"
    );
}
