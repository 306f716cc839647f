// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The headers for C are what cbindgen makes of the sources; with EBB_WRITE_HEADER=1 they are written.

use std::fs;
use std::path::{Path, PathBuf};

const CONTRACTS: [&str; 2] = ["receiver_contract.rs", "sender_contract.rs"];

#[test]
fn the_header_is_what_the_source_says() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = vec![package.join("src/c.rs")];
    compare(package, "cbindgen.toml", sources, "include/ebb.h");
}

#[test]
fn the_header_of_the_laws_is_what_the_sources_say() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contracts = package.join("../algorithms/src");
    let mut sources = vec![package.join("src/c/laws.rs")];
    sources.extend(CONTRACTS.map(|file| contracts.join(file)));
    compare(package, "cbindgen-laws.toml", sources, "include/ebb_laws.h");
}

fn compare(package: &Path, config: &str, sources: Vec<PathBuf>, header: &str) {
    let config = cbindgen::Config::from_file(package.join(config)).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(source);
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = in_words_of_c(&without_safety(&String::from_utf8(text).unwrap()));
    let file = package.join(header);
    if std::env::var_os("EBB_WRITE_HEADER").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|it| it == text),
        "{header} is of another source: run this test with EBB_WRITE_HEADER=1"
    );
}

/// The contracts' comments name what Rust has.
fn in_words_of_c(text: &str) -> String {
    let text = text.replace("A [`Phase`]", "One of enum ebb_phase");
    text.replace(
        "[`crate::ReceiverFlow::ack_delay_us`]",
        "ebb_receiver_ack_delay_us()",
    )
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
