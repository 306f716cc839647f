// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes the tables of docs/beside-papers.md again, from experiments/results/:
//! `cargo run -p ebb-experiments --example beside_papers`
use std::path::Path;

#[path = "beside/tables.rs"]
mod tables;

/// What is between these is written by this program.
const MARKS: [&str; 2] = ["<!-- tables -->\n", "<!-- end of tables -->\n"];

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = root.join("../docs/beside-papers.md");
    let text = std::fs::read_to_string(&page)?;
    let [begin, end] = MARKS;
    let (before, rest) = text.split_once(begin).expect("the page has its marks");
    let (_, after) = rest.split_once(end).expect("the page has its marks");
    let tables = tables::tables(&root.join("results"));
    std::fs::write(page, format!("{before}{begin}\n{tables}{end}{after}"))
}
