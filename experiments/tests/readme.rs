// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each paper's page says why values differ from the paper.
use std::collections::BTreeSet;
use std::path::Path;

const VERDICTS: &str = include_str!("../verdicts.csv");

/// Folder and name of each experiment with a red value.
fn red_experiments() -> BTreeSet<(String, String)> {
    let mut reader = csv::Reader::from_reader(VERDICTS.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name| heads.iter().position(|head| head == name).unwrap();
    let (id, verdict) = (column("id"), column("verdict"));
    let lines = reader.records().map(Result::unwrap);
    let red = lines.filter(|line| &line[verdict] == "red");
    red.map(|line| {
        let (folder, name) = line[id].split_once('/').unwrap();
        (folder.to_owned(), name.to_owned())
    })
    .collect()
}

/// What a page has below its lines "Where it differs", up to the next heading.
fn differences(page: &str) -> String {
    let mut is_part = false;
    let mut text = String::new();
    for line in page.lines() {
        is_part = line.starts_with("Where it differs") || (is_part && !line.starts_with("## "));
        if is_part {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn names(text: &str, name: &str) -> bool {
    let is_part_of_word = |it: &char| it.is_alphanumeric() || *it == '-';
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].chars().next();
        let before = text[..at].chars().next_back();
        !after.as_ref().is_some_and(is_part_of_word)
            && !before.as_ref().is_some_and(is_part_of_word)
    })
}

#[test]
fn each_experiment_with_a_red_value_is_named_among_the_differences_of_its_paper() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let red = red_experiments();
    assert!(
        !red.is_empty(),
        "verdicts.csv has nothing red, or was not read"
    );
    let is_missing = |(folder, name): &&(String, String)| {
        let page = root.join(folder).join("README.md");
        let text = std::fs::read_to_string(&page).unwrap();
        !names(&differences(&text), name)
    };
    let missing: Vec<_> = red.iter().filter(is_missing).collect();
    assert!(
        missing.is_empty(),
        "have red values, but their README.md does not name them below \"Where it differs\": {missing:?}"
    );
}

#[test]
fn names_are_whole_words_below_the_line_that_begins_the_differences() {
    let page = "## What\n`fig-1`\nWhere it differs:\n- **`fig-22`**: so\n- table-3, fig-4\n## Lab\nfig-5\n";
    let text = differences(page);
    assert!(names(&text, "fig-22") && names(&text, "table-3") && names(&text, "fig-4"));
    assert!(!names(&text, "fig-2") && !names(&text, "fig-1") && !names(&text, "fig-5"));
}
