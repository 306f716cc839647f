// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `docs/library.md` says is so: its C is compiled, its table of errors is the header's. Its
//! Rust is a doctest of the crate.

#[path = "support/c.rs"]
mod c;

use std::fs;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/library.md");
const HEADER: &str = include_str!("../include/ebb.h");
const MAP: &str = include_str!("../ebb.map");

#[test]
fn the_c_of_the_page_is_right() {
    let block = PAGE.split("```c\n").nth(1).unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.c");
    fs::write(&file, block).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut cc = Command::new("cc");
    let cc = cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    c::run(cc.arg("-I").arg(include).arg(file));
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
fn what_the_header_has_is_exported_and_nothing_else() {
    let is_function = |line: &&str| !line.starts_with(" *") && line.ends_with(");");
    let functions = HEADER.lines().filter(is_function);
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
