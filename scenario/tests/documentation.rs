// SPDX-License-Identifier: Apache-2.0 OR MIT
//! docs/scenarios.md is complete.
use std::path::Path;

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
