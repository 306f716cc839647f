// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `docs/library.md` and `docs/quic.md` say is so: their C is compiled, the table of errors is
//! the header's. The Rust of the first is a doctest of the crate.

#[path = "support/c.rs"]
mod c;

use std::fs;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/library.md");
const OTHER_PAGE: &str = include_str!("../../docs/quic.md");
const HEADER: &str = include_str!("../include/ebb.h");
const LAWS: &str = include_str!("../include/ebb_laws.h");
const MAP: &str = include_str!("../ebb.map");

#[test]
fn the_c_of_the_pages_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for page in [PAGE, OTHER_PAGE] {
        let block = page.split("```c\n").nth(1).unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let file = folder.path().join("page.c");
        fs::write(&file, block).unwrap();
        let mut cc = Command::new("cc");
        let cc = cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
        c::run(cc.arg("-I").arg(&include).arg(file));
    }
}

#[test]
fn the_errors_of_the_page_are_those_of_the_header() {
    let rows = PAGE.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let number = cells.next()?.parse::<u32>().ok()?;
        Some((number, cells.next()?.trim_matches('`').to_owned()))
    });
    let (_, values) = HEADER.split_once("enum ebb_error {").unwrap();
    let (values, _) = values.split_once("};").unwrap();
    let values = values.lines().filter_map(|line| {
        let (name, number) = line.trim().trim_end_matches(',').split_once(" = ")?;
        Some((number.parse::<u32>().ok()?, name.to_owned()))
    });
    // That nothing is wrong is no error.
    let values: Vec<_> = values.filter(|(number, _)| *number > 0).collect();
    assert_eq!(rows.collect::<Vec<_>>(), values);
}

#[test]
fn what_the_headers_have_is_exported_and_nothing_else() {
    let begins = |line: &str| line.starts_with(|it: char| it.is_ascii_alphabetic());
    let is_function = |line: &&str| begins(line) && line.contains('(');
    let functions = HEADER.lines().chain(LAWS.lines()).filter(is_function);
    let functions = functions.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        Some(before.rsplit([' ', '*']).next()?.to_owned())
    });
    let mut functions: Vec<String> = functions.collect();
    functions.sort();
    let exported = MAP.lines().filter_map(|line| {
        let name = line.trim().strip_suffix(';')?;
        name.starts_with("ebb_").then(|| name.to_owned())
    });
    assert_eq!(exported.collect::<Vec<_>>(), functions);
}
