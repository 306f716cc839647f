// SPDX-License-Identifier: Apache-2.0 OR MIT
//! docs/scenarios.md is complete.
use std::path::Path;

use ebb_scenario::{Scenario, TcpOptions};

#[test]
fn every_key_that_is_read_is_documented() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documentation = std::fs::read_to_string(here.join("../docs/scenarios.md")).unwrap();
    let folder = here.join("src/file");
    let mut keys = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        keys.extend(keys_of(
            &std::fs::read_to_string(file.unwrap().path()).unwrap(),
        ));
    }
    assert!(keys.len() > 80, "only {} keys were found", keys.len());
    for key in keys {
        assert!(
            documentation.contains(&format!("`{key}`"))
                || documentation.contains(&format!("[{key}]")),
            "docs/scenarios.md does not have `{key}`"
        );
    }
}

/// Keys that the source asks its sections for: `….get("key"` and the like.
fn keys_of(source: &str) -> Vec<String> {
    const CALLS: [&str; 11] = [
        "get(",
        "get_or(",
        "required(",
        "number_or(",
        "choice(",
        "section(",
        "sections(",
        "limit(",
        "time(",
        "size(",
        "positive(section, ",
    ];
    let mut keys = Vec::new();
    for call in CALLS {
        for rest in source.split(call).skip(1) {
            let arguments = rest.trim_start_matches(['\n', ' ']);
            let arguments = arguments
                .trim_start_matches("queue, ")
                .trim_start_matches("&curve, ");
            let Some(quoted) = arguments.strip_prefix('"') else {
                continue;
            };
            let key: String = quoted.chars().take_while(|letter| *letter != '"').collect();
            let is_key = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            if !key.is_empty() && key.chars().all(is_key) {
                keys.push(key);
            }
        }
    }
    keys.sort();
    keys.dedup();
    keys
}

#[test]
fn defaults_of_tcp_are_documented_as_they_are() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documentation = std::fs::read_to_string(here.join("../docs/scenarios.md")).unwrap();
    let (_, table) = documentation
        .split_once("| key | linux | paper | what |\n")
        .unwrap();
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let key = cells[1].trim_matches('`');
        for (profile, value) in [("linux", cells[2]), ("paper", cells[3])] {
            let value = value.trim_matches('`');
            if value.is_empty() {
                continue;
            }
            count += 1;
            assert!(
                tcp(profile, &format!("{key} = {value}")) == tcp(profile, ""),
                "{key} = {value} is not the default of {profile}"
            );
        }
    }
    assert!(count > 40, "only {count} values were found");
}

/// TCP with this profile and this line besides.
fn tcp(profile: &str, line: &str) -> TcpOptions {
    let text = format!(
        "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\nqueue = 5\n\
         [tcp]\nprofile = \"{profile}\"\n{line}\n[[flow]]\nname = \"one\"\n"
    );
    let scenario = Scenario::parse("try.toml", &text, Path::new(""));
    scenario.unwrap_or_else(|error| panic!("{error}")).flows[0].tcp
}
