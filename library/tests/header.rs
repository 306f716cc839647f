// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The header for C is what cbindgen makes of the source; with EBB_WRITE_HEADER=1 it is written.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_what_the_source_says() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new()
        .with_src(package.join("src/c.rs"))
        .with_config(config)
        .generate()
        .unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = without_safety(&String::from_utf8(text).unwrap());
    let file = package.join("include/ebb.h");
    if std::env::var_os("EBB_WRITE_HEADER").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let told = "include/ebb.h is of another source: run this test with EBB_WRITE_HEADER=1";
    assert!(
        fs::read_to_string(&file).is_ok_and(|it| it == text),
        "{told}"
    );
}

/// Drops the sections on what Rust calls safety: C has no other way.
fn without_safety(text: &str) -> String {
    let mut kept = Vec::new();
    let mut is_safety = false;
    for line in text.lines() {
        is_safety |= line.trim_start().starts_with("* # Safety");
        if line.trim() == "*/" {
            is_safety = false;
            // The empty line above the section.
            while kept.last().is_some_and(|it: &&str| it.trim() == "*") {
                kept.pop();
            }
        }
        if !is_safety {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}
