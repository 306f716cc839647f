// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of what the papers could not have says what the files of values say.
use std::path::Path;

#[path = "../examples/beside/tables.rs"]
mod tables;

#[test]
fn the_tables_beside_the_papers_are_those_of_the_values_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../docs/beside-papers.md")).unwrap();
    let tables = tables::tables(&root.join("results"));
    assert!(tables.lines().count() > 50, "{tables}");
    assert!(
        page.contains(&tables),
        "write them again: cargo run -p ebb-experiments --example beside_papers"
    );
}
