// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the documentation shows must be right, and so must the examples.
use std::path::{Path, PathBuf};

use ebb_scenario::Scenario;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_example_of_the_documentation_is_read() {
    let path = repository().join("docs/scenarios.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<&str> = text
        .split("\n```toml\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap())
        .collect();
    assert!(
        blocks.len() >= 9,
        "only {} examples were found",
        blocks.len()
    );
    for block in blocks {
        let whole = completed(block);
        if let Err(error) = Scenario::parse("example.toml", &whole, Path::new("")) {
            panic!("{error}\nin\n{whole}");
        }
    }
}

/// Examples may leave out what is not their matter.
fn completed(block: &str) -> String {
    let mut whole = block.to_owned();
    if !block.contains("duration =") {
        whole = format!("duration = \"180s\"\n{whole}");
    }
    if !block.contains("[bottleneck]") && !block.contains("[[link]]") {
        whole += "\n[bottleneck]\nrate = \"10mbit\"\nqueue = 100\n";
    }
    if !block.contains("[[flow]]") {
        whole += "\n[[flow]]\nname = \"greedy\"\n";
    }
    whole
}

#[test]
fn every_example_file_is_read_and_has_a_title() {
    let files = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
        let scenario = Scenario::read(&file).unwrap_or_else(|error| panic!("{error}"));
        assert!(!scenario.title.is_empty(), "{}", file.display());
        count += 1;
    }
    assert!(count >= 7, "only {count} examples were found");
}

#[test]
fn every_key_that_is_read_is_documented() {
    let documentation = std::fs::read_to_string(repository().join("docs/scenarios.md")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/file");
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
