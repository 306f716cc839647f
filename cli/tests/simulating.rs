// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb sim`: what is printed, what is written, what is said about mistakes.

mod support;

use std::path::Path;

use support::{Ebb, stderr, stdout};

const SCENARIO: &str = r#"
title = "a stream beside a wave"
duration = "5s"
runs = 5
[bottleneck]
rate = "10mbit"
rtt = "40ms"
queue = { kind = "red", limit = 60 }
loss = "1%"
[[flow]]
name = "stream"
kind = "udp"
rate = "7mbit"
start_spread = "1s"
[[flow]]
name = "wave"
kind = "udp-square-wave"
rate = "8mbit"
period = "1s"
class = "lbe"
"#;

/// A folder with `link.toml` in it.
fn folder(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("link.toml"), scenario).unwrap();
    folder
}

fn sim(folder: &Path, arguments: &[&str]) -> std::process::Output {
    Ebb::new()
        .command(["sim", "run", "link.toml"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn tables_go_to_the_terminal_and_the_result_beside_them() {
    let folder = folder(SCENARIO);
    let output = sim(folder.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "progress is for terminals");
    let printed = stdout(&output);
    for part in [
        "a stream beside a wave",
        "5 runs, seeds 1 to 5",
        "wave",
        "Result: link.json",
    ] {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 80),
        "{printed}"
    );
    assert!(folder.path().join("link.json").exists());
}

#[test]
fn the_result_does_not_depend_on_how_many_runs_go_side_by_side() {
    let folder = folder(SCENARIO);
    let json = |jobs| {
        let output = sim(folder.path(), &["--json", "--jobs", jobs]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let alone = json("1");
    assert!(
        alone == json("4"),
        "four at a time give other bytes than one"
    );
    let results: serde_json::Value = serde_json::from_str(&alone).unwrap();
    let seeds: Vec<_> = results["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5]);
    let delivered =
        |run: usize| results["runs"][run]["flows"][0]["measures"][0]["delivered_bytes"].clone();
    assert_ne!(delivered(0), delivered(1), "seeds make a difference");
    assert!(
        !folder.path().join("link.json").exists(),
        "--json alone writes no file"
    );
}

#[test]
fn seed_and_runs_of_the_command_line_come_before_those_of_the_file() {
    let folder = folder(SCENARIO);
    let output = sim(
        folder.path(),
        &["--seed", "77", "--runs", "2", "--out", "results/"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("2 runs, seeds 77 to 78"),
        "{}",
        stdout(&output)
    );
    assert!(folder.path().join("results/link.json").exists());
}

#[test]
fn pictures_and_packets_are_written_where_they_are_wanted() {
    let folder = folder(SCENARIO);
    let arguments = ["--plot", "plots", "--trace", "out.pcapng", "--runs", "1"];
    let output = sim(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let svg = std::fs::read_to_string(folder.path().join("plots/link.svg")).unwrap();
    assert!(svg.contains("Goodput") && svg.contains("Waiting in the queue"));
    assert!(folder.path().join("plots/link.png").exists());
    let packets = std::fs::read(folder.path().join("out.pcapng")).unwrap();
    // The magic numbers of a section header and of the byte order.
    assert_eq!(packets[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(packets.len() > 100_000, "{} bytes", packets.len());
}

#[test]
fn what_is_told_in_the_form_of_iperf3_are_the_measures_of_the_result() {
    let folder = folder(SCENARIO);
    let output = sim(folder.path(), &["--iperf3", "told.json", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = std::fs::read(folder.path().join("told.json")).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["start"]["test_start"]["protocol"], "UDP");
    let bins = &result["runs"][0]["series"]["flows"][0]["goodput_bits_per_s"];
    let intervals = told["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), bins.as_array().unwrap().len());
    let mut delivered_bytes = 0;
    for place in 0..2 {
        let measure = &result["runs"][0]["flows"][place]["measures"][0];
        let stream = &told["end"]["streams"][place]["udp"];
        assert_eq!(stream["packets"], measure["sent_pkts"]);
        assert_eq!(stream["bytes"], measure["sent_bytes"]);
        assert_eq!(stream["lost_packets"], measure["application"]["lost_pkts"]);
        delivered_bytes += measure["delivered_bytes"].as_u64().unwrap();
    }
    assert_eq!(told["end"]["sum_received"]["bytes"], delivered_bytes);
}

#[test]
fn mistakes_of_a_file_are_told_with_their_places() {
    let folder = folder(&SCENARIO.replace("rate = \"10mbit\"", "rate = 10"));
    let output = sim(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    assert!(
        complaint.starts_with("ebb: link.toml:6:8: [bottleneck]: `rate`: the unit is missing"),
        "{complaint}"
    );
    let output = sim(folder.path(), &["--runs", "0"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_run() {
    let folder = folder(SCENARIO);
    for option in ["--out", "--iperf3"] {
        let output = sim(folder.path(), &[option, "nowhere/result.json"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            stderr(&output),
            "ebb: nowhere: there is no such directory\n"
        );
    }
    let output = sim(folder.path(), &["--trace", "nowhere/out.pcapng"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("ebb: nowhere/out.pcapng: No such file"));
}

#[test]
fn check_reads_many_files_and_names_the_wrong_ones() {
    let folder = folder(SCENARIO);
    std::fs::write(folder.path().join("wrong.toml"), "duration = 5").unwrap();
    let output = Ebb::new()
        .command(["sim", "check", "link.toml", "wrong.toml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "link.toml: 2 flows, 5s\n");
    let complaint = stderr(&output);
    assert!(
        complaint.contains("wrong.toml:1:12: `duration`: the unit is missing"),
        "{complaint}"
    );
    assert!(
        complaint.ends_with("ebb: 1 of 2 files cannot be run\n"),
        "{complaint}"
    );
}

#[test]
fn a_sweep_has_a_line_for_each_combination_and_all_of_it_as_csv() {
    let folder = folder(SCENARIO);
    let output = Ebb::new()
        .command([
            "sim",
            "sweep",
            "link.toml",
            "--out",
            "sweep.csv",
            "--runs",
            "2",
        ])
        .args([
            "--over",
            "bottleneck.queue.limit=10,60",
            "--over",
            "flow.wave.count=1,3",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .skip(3)
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(
        lines[..4],
        [["10", "1"], ["10", "3"], ["60", "1"], ["60", "3"]],
        "{printed}"
    );
    assert!(printed.contains("Jain wave"), "{printed}");
    assert!(
        printed.lines().all(|line| line.chars().count() <= 80),
        "{printed}"
    );
    let table = std::fs::read_to_string(folder.path().join("sweep.csv")).unwrap();
    let columns = table.lines().next().unwrap().split(',').count();
    assert!(
        table.lines().all(|line| line.split(',').count() == columns),
        "{table}"
    );
    // Two limits, two runs: 2 flows and 2 links, then 4 flows and 2 links.
    assert_eq!(table.lines().count(), 1 + 2 * 2 * (4 + 6));
}

#[test]
fn a_result_is_shown_again_as_it_was_printed() {
    let folder = folder(SCENARIO);
    let printed = stdout(&sim(folder.path(), &["--runs", "3"]));
    let show = |arguments: &[&str]| {
        Ebb::new()
            .command(["sim", "show", "link.json"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let shown = show(&[]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert_eq!(printed, format!("{}\nResult: link.json\n", stdout(&shown)));
    assert!(show(&["--plot", "plots", "--run", "3"]).status.success());
    assert!(folder.path().join("plots/link.svg").exists());
    let beyond = show(&["--plot", "plots", "--run", "4"]);
    assert_eq!(stderr(&beyond), "ebb: there is no run 4; there are 3\n");
    std::fs::write(folder.path().join("link.json"), "{}").unwrap();
    assert!(stderr(&show(&[])).contains("link.json: not a result of this version of Ebb"));
}
