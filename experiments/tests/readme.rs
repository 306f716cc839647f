// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is red has a cause that was searched for: below its table and on its paper's page.
use std::collections::BTreeSet;
use std::path::Path;

use ebb_experiments::Catalogue;

mod support;

use support::{VALUES, judged};

/// Experiment and row of each value that counts and is red with few runs or with all.
fn red_rows() -> BTreeSet<(String, String)> {
    let all = VALUES.iter().flat_map(|(_, text)| judged(text));
    let red = all.filter(|it| it.verdict == "red" && it.counts);
    let red: BTreeSet<_> = red.map(|it| (it.id, it.row)).collect();
    assert!(!red.is_empty(), "nothing is red, or nothing was read");
    red
}

/// What a page has below its lines "Where it differs", up to the next heading, and below the
/// heading of what is reversed.
fn differences(page: &str) -> String {
    let mut is_part = false;
    let mut text = String::new();
    for line in page.lines() {
        let begins = ["Where it differs", "## What is the other way round"]
            .iter()
            .any(|it| line.starts_with(it));
        is_part = begins || (is_part && !line.starts_with("## "));
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
    let red: BTreeSet<String> = red_rows().into_iter().map(|(id, _)| id).collect();
    let is_missing = |id: &&String| {
        let (folder, name) = id.split_once('/').unwrap();
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
fn each_red_row_says_why() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = Catalogue::open(root).unwrap().read(&[]).unwrap();
    let says_why = |(id, name): &(String, String)| {
        let mut experiments = all.iter().filter(|it| it.id == *id);
        let rows = experiments.next().into_iter().flat_map(|it| &it.rows);
        let mut of_name = rows.filter(|row| row.name == *name);
        of_name.any(|row| row.why.is_some())
    };
    let silent: Vec<_> = red_rows().into_iter().filter(|it| !says_why(it)).collect();
    assert!(silent.is_empty(), "red, and no `why`: {silent:?}");
}

#[test]
fn names_are_whole_words_below_the_line_that_begins_the_differences() {
    let page = "## What\n`fig-1`\nWhere it differs:\n- **`fig-22`**: so\n- table-3, fig-4\n## Lab\nfig-5\n## What is the other way round, and why\nfig-6\n## Files\nfig-7\n";
    let text = differences(page);
    assert!(names(&text, "fig-22") && names(&text, "table-3") && names(&text, "fig-4"));
    assert!(!names(&text, "fig-2") && !names(&text, "fig-1") && !names(&text, "fig-5"));
    assert!(names(&text, "fig-6") && !names(&text, "fig-7"));
}
